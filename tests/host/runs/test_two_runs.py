"""Whole commands side by side: two runs of one kernel, and signals to a run that compiles."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from host.runs.run_log import read_progress
from tests.children import *

ROOT = Path(__file__).parents[3]
SMALL = dict(capacity=256, learning_starts=64, batch_size=16, evaluation_episodes=1)
SMALL |= dict(log_interval_steps=24, evaluation_interval_steps=8000)


@pytest.fixture
def command(tmp_path, children):
    """``command(card, seed)`` starts a short training in ``tmp_path``, with a cache of its own."""

    def start(card, seed):
        words = ["-m", "rlfabric", "train", "dqn", "--learner", "cpu", "--board", "ulx3s"]
        words += ["--card", card, "--steps", "240", "--seed", str(seed), "--set", "kernel.fanout=2"]
        for name, value in SMALL.items():
            words += ["--set", f"{name}={value}"]
        environment = {"RLFABRIC_BUILD": str(tmp_path / "build"), "PYTHONPATH": str(ROOT)}
        return children(*words, **os.environ | environment)

    return start


def ended_well(*processes):
    for process in processes:
        _, err = process.communicate(timeout=500)
        assert process.returncode == 0, err


def of(path):
    """Rows and summary of a run, but for seconds and the seed."""
    rows = [{k: v for k, v in row.items() if "seconds" not in k} for row in read_progress(path)]
    summary = json.loads((path / "summary.json").read_text())
    for name in ("seconds", "phases", "seed"):
        del summary[name]
    del summary["config"]["seed"]
    return rows, summary


@pytest.mark.long
@pytest.mark.parametrize("card", ["model", "sim"])
def test_a_two_runs_of_one_kernel_in_an_empty_cache(command, tmp_path, card):
    ended_well(command(card, 0), command(card, 1), command(card, 0))
    base = tmp_path / "runs" / f"dqn-CartPole-v1-cpu-{card}-0"
    one, other = of(base), of(base.with_name(f"{base.name[:-1]}1"))
    assert one == of(base.with_name(f"{base.name}-2")), "the same seed, and the next number"
    assert one[0] != other[0] and len(one[0]) > 9
    for name in ("kernel", "config", "versions", "env", "steps", "launches"):
        assert one[1][name] == other[1][name]
    (kernel,) = (tmp_path / "build/train/ulx3s/replay").glob("[!.]*")
    assert kernel.name.startswith(one[1]["kernel"]["config_hash"].removeprefix("0x"))
    for folder in (tmp_path / "build").rglob("*"):
        assert not folder.name.endswith(".partial"), "no litter"


def compilers(folder):
    """Process ids of what works below ``folder``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in os.readlink(process / "cwd"):
                found.append(int(process.name))
        except OSError:
            continue  # it has ended, or is not ours
    return found


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)]
)
def test_o_a_signal_while_a_kernel_is_compiled_leaves_nothing(command, tmp_path, number):
    process, deadline = command("sim", 0), time.monotonic() + 300
    while not (found := compilers(tmp_path / "build")):
        assert process.poll() is None and time.monotonic() < deadline, "a compiler must be at work"
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "compiling kernel replay with Verilator" in err and "rlfabric: interrupted" in err
    deadline = time.monotonic() + 10
    while compilers(tmp_path / "build"):
        assert time.monotonic() < deadline, f"{found} must have ended"
        time.sleep(0.05)
    assert not list((tmp_path / "build").rglob("*.partial"))
    assert not list((tmp_path / "runs").iterdir())
