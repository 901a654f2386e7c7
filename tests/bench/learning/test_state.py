"""bench.learning.state: an unfinished run goes on in another clone, to the same bits."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from bench.learning.job import jobs_of
from bench.learning.run import perform
from bench.learning.state import put, take
from host.interrupt import INTERRUPTED
from tests.bench.learning.tiny import *


@pytest.fixture(autouse=True)
def built(tmp_path, monkeypatch):
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")


def job_in(clone, **changes):
    (job,) = jobs_of(claim(**changes), clone / "runs" / "learning").values()
    return job


def arrays(job):
    """All that the run ends with but its times: best weights, memory, generators, moments."""
    found = {}
    for name in ("best", "checkpoint"):
        with np.load(Path(job.folder) / f"{name}.npz") as file:
            found |= {f"{name}/{each}": file[each] for each in file.files if each != "tree"}
    return found


def test_a_run_goes_on_in_another_clone_to_the_same_bits(tmp_path):
    """papers N1: what was cut here and is put into a named folder ends there as it does here."""
    here, there = (job_in(tmp_path / name) for name in ("here", "there"))
    assert perform(here, Signalling(file=open(os.devnull, "w"))) == INTERRUPTED
    assert put([here], tmp_path / "state") == ["tiny/cpu-0"] == take([there], tmp_path / "state")
    assert there.cut and perform(here, quiet()) == perform(there, quiet()) == 0
    same = ("mean_return", "steps", "updates", "curve", "asked")
    assert [here.result[name] for name in same] == [there.result[name] for name in same]
    assert here.result["steps"] == 800 and len(here.result["curve"]) == 2
    ours, theirs = arrays(here), arrays(there)
    assert ours.keys() == theirs.keys() and len(ours) > 10
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    put([there], tmp_path / "state")
    assert not (tmp_path / "state" / "tiny" / "cpu-0").exists(), "it is finished"


@pytest.fixture
def cut(tmp_path):
    """``cut(clone, steps)``: a job whose run was cut there behind so many steps."""

    def make(clone, steps, **changes):
        job = job_in(tmp_path / clone, **changes)
        job.begin()
        (Path(job.folder) / "checkpoint.npz").write_text(f"{clone} {steps}")
        (Path(job.folder) / "progress.csv").write_text(f"steps\n{steps}\n")
        return job

    return make


def content(job):
    return (Path(job.folder) / "checkpoint.npz").read_text()


@pytest.mark.parametrize("here, taken", [(100, True), (300, False), (500, False)])
def test_what_is_further_stays(cut, tmp_path, here, taken):
    put([cut("there", 300)], tmp_path / "state")
    job = cut("here", here)
    assert take([job], tmp_path / "state") == (["tiny/cpu-0"] if taken else [])
    assert content(job) == ("there 300" if taken else f"here {here}")


def test_a_run_that_was_asked_for_something_else_is_not_taken(cut, tmp_path):
    put([cut("there", 300)], tmp_path / "state")
    job = job_in(tmp_path / "here", fields=SHORT | {"gamma": 0.5})
    assert take([job], tmp_path / "state") == [] and not job.cut


@pytest.mark.parametrize("changes", [{}, dict(fields=SHORT | {"gamma": 0.5})])
def test_a_run_that_was_not_begun_here_keeps_its_state(cut, tmp_path, changes):
    put([cut("there", 300)], tmp_path / "state")
    assert put([job_in(tmp_path / "here", **changes)], tmp_path / "state") == []
    assert (tmp_path / "state/tiny/cpu-0/checkpoint.npz").read_text() == "there 300"


def test_a_run_that_is_finished_takes_nothing(cut, tmp_path):
    put([cut("there", 300)], tmp_path / "state")
    job = cut("here", 100)
    job.end({"mean_return": 1.0})
    assert take([job], tmp_path / "state") == [] and content(job) == "here 100"


def test_a_checkpoint_is_further_than_none(cut, tmp_path):
    """Although there is no row of it yet."""
    job = cut("there", 300)
    (Path(job.folder) / "progress.csv").write_text("steps\n")
    put([job], tmp_path / "state")
    assert take([job_in(tmp_path / "here")], tmp_path / "state") == ["tiny/cpu-0"]


def test_a_folder_that_is_not_there_has_nothing(cut, tmp_path):
    job = cut("here", 100)
    assert take([job], tmp_path / "none") == [] and content(job) == "here 100"


def test_a_peers_state_counts_its_steps(cut, tmp_path):
    job = cut("there", 0)
    (Path(job.folder) / "state.json").write_text(json.dumps({"steps": 400}))
    litter = {".lock", "partial-3", ".best.npz.0a1b.partial"}
    for name in litter:
        (Path(job.folder) / name).touch()
    put([job], tmp_path / "state")
    there = {path.name for path in (tmp_path / "state/tiny/cpu-0").iterdir()}
    assert "state.json" in there and not there & litter, "they are this process's"
    assert take([cut("here", 300)], tmp_path / "state") == ["tiny/cpu-0"]


def test_a_copy_that_is_cut_leaves_the_state(cut, tmp_path, monkeypatch):
    put([cut("there", 300)], tmp_path / "state")

    def full(*arguments, **options):
        raise OSError("no space")

    monkeypatch.setattr(shutil, "copytree", full)
    with pytest.raises(OSError, match="no space"):
        put([cut("here", 500)], tmp_path / "state")
    assert (tmp_path / "state/tiny/cpu-0/checkpoint.npz").read_text() == "there 300"
