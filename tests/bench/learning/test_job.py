"""bench.learning.job: what a folder has is this job or another, finished or cut."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.learning import job as module
from bench.learning.job import jobs_of
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


def test_a_damaged_result_is_none(tiny):
    job = tiny()
    job.begin()
    job.end({"mean_return": 1.0})
    Path(job.folder, "result.json").write_text('{"asked": ')
    assert job.result is None and job.cut


def test_other_sources_are_seen_and_do_not_count_by_themselves(tiny, monkeypatch):
    job = tiny()
    assert not job.stale
    job.begin()
    job.end({"mean_return": 1.0})
    assert not job.stale and job.result["sources"] == module._digest()
    monkeypatch.setattr(module, "_digest", lambda: "other")
    assert job.stale and job.result
    job.forget()
    assert not job.stale and job.result is None and not job.cut
    peer = replace(job, algo="dqn", peer="zoo")
    peer.begin()
    monkeypatch.setattr(module, "_digest", lambda: "third")
    assert not peer.stale


def test_the_digest_is_of_every_source(tmp_path, monkeypatch):
    for folder in ("hw", "sim", "boards", "host/train"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    file, seen = tmp_path / "host/train/loop.py", set()
    for path, text in ((file, "a"), (file, "b"), (file.with_name("x.py"), ""), (file, "a")):
        path.write_text(text)
        seen.add(module._digest.__wrapped__())
    assert len(seen) == 4
