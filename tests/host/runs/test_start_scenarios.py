"""Runs side by side, in used folders, with files that are damaged or half written."""

import json
import os
import pkgutil
import shutil
import signal
import time
from pathlib import Path

import pytest

from host.cards import Card
from host.kernels import Unwritable
from hw.designs import DESIGNS
from hw.shell.description import KernelDescription
from tests.host.short_runs import *


def test_l_half_written_files_of_a_built_kernel(options, seen, built):
    path = built / "replay/kernel.json"
    whole = path.read_text()
    options["card"] = "xrt"
    for content in ("", whole[:100]):
        path.write_text(content)
        with pytest.raises(ValueError, match=f"^{path} must be a whole file that rlfabric wrote"):
            start(**options)
    path.write_text(whole.replace('"capacity": 256', '"capacity": 512'))
    with pytest.raises(ValueError, match=f"^{path} must be as in .*manifest.json, not another"):
        start(**options)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=f"^{path} must be built first"):
        start(**options)
    path.write_text(whole)
    start(**options)
    (built / "replay/manifest.json").write_text("{")
    with pytest.raises(ValueError, match="must be a whole file that rlfabric wrote"):
        start(**options)


def test_a_each_kernel_has_a_folder(options, seen, tmp_path):
    """Runs with other kernels at the same time: none comes where another is loaded from."""
    folders = {}
    for lanes, capacity in (("2", "256"), ("4", "256"), ("2", "512"), ("2", "256")):
        settings = CARD | {"kernel.lanes": lanes, "capacity": capacity}
        start(**{**options, "learner": "card", "board": "u200", "settings": settings})
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        config = json.loads(seen.description.read_text())["config"]
        assert seen.kernel.config["learner"]["lanes"] == int(lanes) == config["learner"]["lanes"]
        assert config["replay"]["capacity"] == int(capacity)
        folders.setdefault((lanes, capacity), set()).add(seen.description.parent)
    assert [len(found) for found in folders.values()] == [1, 1, 1]
    assert len(set.union(*folders.values())) == 3


def test_a_the_kernel_that_is_loaded_is_the_runs(options, monkeypatch):
    """All of its config, not only what a learner needs to know."""
    load = Card.load

    def swapped(self, path):
        config = KernelDescription.from_json(path.read_text()).config
        config["replay"]["capacity"] *= 2
        other = DESIGNS["replay"]
        description = other.describe(other.config_type.from_dict(config))
        path.write_text(description.to_json())
        return load(self, path)

    monkeypatch.setattr(Card, "load", swapped)
    with pytest.raises(RuntimeError, match="kernel.json must be the kernel of this run, not anoth"):
        start(**options)


@pytest.mark.parametrize(
    "full, path",
    [
        ("host.runs.start_run.run_folder", "run/.lock"),
        ("system.cache._fill", "build/train/u50/replay/[0-9a-f]{16}-"),
        ("host.runs.loop.Rows.begin", "run/progress.csv"),
        ("host.runs.run_log.EventFile", "run/tensorboard"),
    ],
)
def test_d_a_disk_that_is_full_before_the_run(options, tmp_path, monkeypatch, disk, full, path):
    """From a certain point on: the error says what could not be written."""
    whole = pkgutil.resolve_name(full)

    def strike(*arguments, **options):
        disk(True)
        return whole(*arguments, **options)

    monkeypatch.setattr(full, strike)
    with pytest.raises(OSError, match=f"^.Errno 27. File too large: '{tmp_path}/{path}"):
        start(**options)
    disk(False)
    assert not list(tmp_path.rglob("*.partial"))


def test_q_a_build_folder_that_cannot_be_written(options, tmp_path):
    (tmp_path / "build").write_text("")
    with pytest.raises(Unwritable, match="build/train/u50/replay must be a folder that can be wr"):
        start(**options)
    assert not (tmp_path / "run").exists()


def test_c_default_folders(options, seen, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    options["out"] = None
    start(**options)
    assert seen.out == Path("runs/dqn-CartPole-v1-cpu-model-1")
    assert not seen.out.exists()  # it has left nothing
    seen.out.mkdir(parents=True)
    (seen.out / "progress.csv").touch()
    start(**{**options, "settings": SMALL | {"gamma": "0.9"}})  # a variant has no other name
    assert seen.out == Path("runs/dqn-CartPole-v1-cpu-model-1-2")
    start(**{**options, **PPO, "settings": PPO_SETTINGS})
    assert seen.out == Path("runs/ppo-Pendulum-v1-heppo1-cpu-model-1")
    Path("runs/dqn-CartPole-v1-cpu-model-1/checkpoint.npz").touch()
    start(**{**options, "resume": True})
    assert seen.out == Path("runs/dqn-CartPole-v1-cpu-model-1") and seen.resume
    start(**options, overwrite=True)
    assert seen.out == Path("runs/dqn-CartPole-v1-cpu-model-1") and not seen.resume


def test_c_an_earlier_run_in_out(options, seen, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "best.npz").touch()
    with pytest.raises(ValueError, match="^out must be a folder without a run"):
        start(**options)
    assert not (tmp_path / "build").exists()  # said before anything is made
    assert start(**options, overwrite=True) == 0


def test_o_sigterm_before_the_loop_ends_a_run_as_ctrl_c_does(options, monkeypatch, capsys):
    """While a kernel is compiled, say; and afterwards it is as it was before."""

    def load(self, path):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(Card, "load", load)
    assert start(**options) == 130
    assert capsys.readouterr().err == "rlfabric: interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is before
    assert not options["out"].exists()
