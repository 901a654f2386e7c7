"""bench.learning.run: a finished run is not repeated, a cut one goes on, a damaged one is new."""

import json
import os
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from bench.learning import run as module
from bench.learning.job import JUDGING_SEED, jobs_of
from bench.learning.run import perform
from host.cli.episodes import play
from host.interrupt import INTERRUPTED
from host.runs.run_log import read_progress
from hw.config import check_range
from hw.errors import MissingTool
from system.lock import locked
from tests.bench.learning.tiny import *


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The one job of ``claim(**changes)``, with what is built in a folder of the test."""
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")

    def make(**changes):
        (job,) = jobs_of(claim(**changes), tmp_path / "runs").values()
        return job

    return make


@pytest.fixture
def asked(monkeypatch):
    """How trainings were begun: ``resume`` or ``overwrite``."""
    seen, train = [], module.train

    def spied(config, **options):
        seen.append({name for name in ("resume", "overwrite") if options.get(name)})
        return train(config, **options)

    monkeypatch.setattr(module, "train", spied)
    return seen


def test_a_run_that_was_cut_goes_on_and_is_not_repeated(tiny, asked, monkeypatch):
    job, names = tiny(episodes=3), iter(["1111111", "2222222"])
    monkeypatch.setattr("bench.learning.job.commit_for", lambda folder: next(names))
    assert job.result is None and not job.cut
    assert perform(job, Signalling(file=open(os.devnull, "w"))) == INTERRUPTED
    assert job.cut and job.result is None
    before = read_progress(job.folder)[-1]["steps"]
    assert 0 < before < 800
    assert perform(job, quiet()) == 0
    result, summary = job.result, json.loads(Path(job.folder, "summary.json").read_text())
    assert not job.cut and summary["steps"] == result["steps"] == 800
    assert result["commits"] == ["1111111", "2222222"]
    assert result["updates"] == summary["updates"] > 0 and result["seconds"] > 0
    rows = read_progress(job.folder)
    assert rows[0]["steps"] <= before and [p[0] for p in result["curve"]] == [400, 800]
    # Judged by the best policy, on episodes of seeds that no run takes.
    again = play(job.folder, episodes=3, seed=JUDGING_SEED).returns
    assert result["mean_return"] == pytest.approx(np.mean(again)) != summary["mean_return"]
    assert perform(job, quiet()) == 0
    assert asked == [{"overwrite"}, {"resume"}]


def test_training_judges_by_the_actors_episodes(tiny):
    job = tiny(training=True, falls="loss")
    assert perform(job, quiet()) == 0
    rows = read_progress(job.folder)
    assert job.result["mean_return"] == rows[-1]["return_mean"] is not None
    wanted = [[row["steps"], row["return_mean"]] for row in rows if row["return_mean"]]
    assert job.result["curve"] == wanted
    losses = [row["loss"] for row in rows if row["loss"] is not None]
    assert len(losses) < 10 and job.result["falls"] == [losses[0], losses[-1]]


def test_what_is_known_of_a_run_that_was_cut(tiny):
    """As much as it has logged; nothing before it begins, and once it is finished."""
    job = tiny(training=True)
    assert job.so_far is None
    assert perform(job, quiet()) == 0
    assert job.so_far is None and job.result is not None
    result = job.result
    (Path(job.folder) / "result.json").unlink()
    rows = read_progress(job.folder)
    so_far = job.so_far
    assert so_far["unfinished"] and so_far["steps"] == rows[-1]["steps"]
    assert so_far["mean_return"] == result["mean_return"]
    assert [list(point) for point in so_far["curve"]] == result["curve"]


def test_a_fifth_of_the_rows_and_numbers_that_are_not_finite():
    rows = [{"steps": n, "loss": float(n), "kl": None} for n in range(11)]
    rows += [{"loss": None, "kl": None}]
    job = SimpleNamespace(falls="loss")
    assert module._falls(job, rows) == (0.5, 9.5)
    with pytest.raises(ValueError, match="^kl must be in some row of the run's progress, not in n"):
        module._falls(SimpleNamespace(falls="kl"), rows)
    rows[3]["loss"] = float("nan")
    with pytest.raises(ValueError, match=r"^loss must be finite, not nan \(step 3\)$"):
        module._falls(job, rows)


def test_without_judges_the_runs_own_evaluation_counts(tiny):
    job = tiny()
    assert perform(job, quiet()) == 0
    summary = json.loads(Path(job.folder, "summary.json").read_text())
    assert job.result["mean_return"] == summary["mean_return"]


def test_a_run_that_was_cut_while_it_was_judged_is_not_trained_again(tiny, monkeypatch):
    job = tiny(episodes=3)

    def cut(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("host.cli.episodes.play", cut)
        with pytest.raises(KeyboardInterrupt):
            perform(job, quiet())
    rows = read_progress(job.folder)
    assert job.cut and perform(job, quiet()) == 0
    assert job.result["steps"] == 800 and read_progress(job.folder)[: len(rows)] == rows


def test_a_damaged_checkpoint_begins_anew(tiny, asked):
    job = tiny()
    perform(job, Signalling(file=open(os.devnull, "w")))
    Path(job.folder, "checkpoint.npz").write_bytes(b"PK")
    with (Path(job.folder) / "words").open("w") as file:
        assert perform(job, Console(file=file)) == 0
    assert "begun anew: checkpoint must be a whole file" in (Path(job.folder) / "words").read_text()
    assert asked == [{"overwrite"}, {"resume"}, {"overwrite"}] and job.result["steps"] == 800


def test_a_peer_that_is_not_installed(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.delitem(sys.modules, "bench.learning.library", raising=False)
    with pytest.raises(MissingTool, match="^stable-baselines3 must be installed for a peer .pip "):
        perform(replace(tiny(), peer="zoo"), quiet())


@pytest.mark.parametrize(
    "ends, code, said",
    [
        (lambda: 0, 0, ""),
        (lambda: 1, 1, ""),
        (lambda: signal.raise_signal(signal.SIGTERM), INTERRUPTED, "rlfabric: interrupted"),
        (lambda: check_range("steps", 0, 1, 2), 2, "rlfabric: steps must be "),
    ],
)
def test_what_the_process_of_a_run_ends_with(tiny, monkeypatch, capsys, ends, code, said):
    """The job is the one that was sent; ``make learning`` goes by the exit code."""
    job, performed = tiny(), []

    def perform(given, console):
        performed.append(given)
        return ends()

    monkeypatch.setattr(module, "perform", perform)
    monkeypatch.setattr(module, "leave", sys.exit)
    monkeypatch.setattr(sys, "argv", ["run", json.dumps(asdict(job))])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == code and capsys.readouterr().err.startswith(said)
    assert [each.asked for each in performed] == [job.asked]


def test_one_process_at_a_run(tiny):
    job = tiny()
    Path(job.folder).parent.mkdir(parents=True)
    with locked(Path(f"{job.folder}.lock")):
        with pytest.raises(RuntimeError, match=f"^the lock must be free.+process {os.getpid()}"):
            perform(job, quiet())
    assert not Path(job.folder).exists()
