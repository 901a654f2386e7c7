"""bench.learning.job: what a folder has is this job or another, finished or cut."""

import json
from pathlib import Path

import pytest

from bench.learning.job import jobs_of
from hw.errors import UsageError
from tests.bench.learning.tiny import *


@pytest.fixture
def tiny(tmp_path):
    """The one job of ``claim(**changes)``."""

    def make(**changes):
        (job,) = jobs_of(claim(**changes), tmp_path / "runs").values()
        return job

    return make


@pytest.mark.parametrize(
    "changes",
    [
        dict(fields={**SHORT, "gamma": 0.5}),
        dict(fields={**SHORT, "steps": 801}),
        dict(kinds=(kind(kernel={"fanout": 2}),)),
        dict(kinds=(kind(board="u50"),)),
        dict(episodes=4),
        dict(training=True),
        dict(falls="loss"),
        dict(until_solved=True),
    ],
    ids=str,
)
def test_what_was_asked_for_something_else_begins_anew(tiny, changes):
    """Of a finished run and of one that was cut."""
    job, other = tiny(), tiny(**changes)
    assert job.folder == other.folder
    job.begin()
    assert job.cut and not other.cut
    job.end({"mean_return": 1.0})
    assert job.result and other.result is None and not other.cut
    other.begin()
    assert other.cut and job.result is None and not job.cut


def test_how_many_are_needed_from_where_on_is_nothing_to_a_run(tiny):
    job = tiny()
    job.begin()
    job.end({"mean_return": 1.0})
    assert tiny(threshold=99.0, needed=0, source="another").result
    assert tiny(until_solved=True).asked != tiny(until_solved=True, threshold=99.0).asked


def test_a_field_that_there_was_not_yet_is_no_other_run(tiny):
    """Of a run that is finished, and of one that was cut; it is as it is by default."""

    def forget(name, field):
        path = Path(job.folder, name)
        values = json.loads(path.read_text())
        del values["asked"]["config"]["agent"][field]
        path.write_text(json.dumps(values))

    job, other = tiny(), tiny(fields={**SHORT, "reward_clip": 2.0})
    job.begin()
    forget("asked.json", "reward_clip")
    assert job.cut and not other.cut
    job.end({"mean_return": 1.0})
    assert job.result and other.result is None


@pytest.mark.parametrize("before", [None, 100_000, "absent"])
def test_no_limit_of_an_evaluation_is_its_number(tiny, before):
    """A run that was recorded with either, or without the field, is the same run."""
    job, other = tiny(), tiny(fields={**SHORT, "evaluation_steps": 3000})
    job.begin()
    path = Path(job.folder, "asked.json")
    values = json.loads(path.read_text())
    assert values["asked"]["config"].pop("evaluation_steps") == 100_000
    if before != "absent":
        values["asked"]["config"]["evaluation_steps"] = before
    path.write_text(json.dumps(values))
    assert job.cut and not other.cut


def test_a_damaged_result_is_none(tiny):
    job = tiny()
    job.begin()
    job.end({"mean_return": 1.0})
    Path(job.folder, "result.json").write_text('{"asked": ')
    assert job.result is None and job.cut


def test_where_sources_differ_from_the_commit_no_run_begins(tiny, monkeypatch, tmp_path):
    """And none goes on: what was known stays."""
    job = tiny()
    job.begin()
    before = Path(job.folder, "asked.json").read_text()
    monkeypatch.setattr("bench.provenance._ROOT", tmp_path)
    monkeypatch.setattr("bench.provenance.changed", lambda: ["hw/config.py"])
    for step in (job.begin, job.resume):
        with pytest.raises(UsageError, match=r"not changed in hw/config.py$"):
            step()
    assert Path(job.folder, "asked.json").read_text() == before
