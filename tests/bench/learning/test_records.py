"""bench.learning.records: what is kept of a run, and in what it is another than today's."""

import json
from dataclasses import replace

import pytest

from bench.learning import changes, records
from bench.learning.changes import Change
from bench.learning.job import jobs_of
from tests.bench.learning.tiny import *


@pytest.fixture
def job(tmp_path):
    (job,) = jobs_of(claim(), tmp_path / "runs").values()
    job.begin()
    job.end({"mean_return": 1.0, "steps": 5, "updates": 2, "seconds": 1.0, "curve": [[1, 2 / 3]]})
    return job


def test_a_record_says_what_made_it(job, tmp_path):
    """host 4: the commit, the date and the whole config."""
    assert records.read(tmp_path, job) is None
    records.keep(tmp_path, job, job.result)
    found = records.read(tmp_path, job)
    assert json.loads((tmp_path / "runs/tiny/cpu-0.json").read_text()) == found
    assert found["asked"] == job.asked and found["curve"] == [[1, 0.666667]]
    assert len(found["commits"]) == 1 and found["date"] > "2026-01-01 00:00"
    assert job.is_mine(found) and records.differences(found, job) == []


def test_an_unfinished_run_takes_no_finished_ones_place(job, tmp_path):
    """Begun anew by FRESH=1 and interrupted: what was known is still known."""
    unfinished = job.result | {"unfinished": True, "steps": 2}
    records.keep(tmp_path, job, unfinished)
    assert records.read(tmp_path, job)["unfinished"]
    records.keep(tmp_path, job, job.result)
    records.keep(tmp_path, job, unfinished)
    assert records.read(tmp_path, job)["steps"] == 5


def test_a_run_of_two_commits_has_both(job, monkeypatch):
    """Each process of a run adds the commit from which it was started."""
    for name in ("1111111", "2222222", "2222222"):
        monkeypatch.setattr("bench.learning.job.commit_for", lambda folder, name=name: name)
        job.begin() if name < "2" else job.resume()
    monkeypatch.setattr("bench.learning.job.commit_for", lambda folder: "3333333")
    job.end({})
    assert job.result["commits"] == ["1111111", "2222222"]


def test_a_long_curve_is_thinned(job, tmp_path):
    curve = [[step, float(step)] for step in range(5001)]
    records.keep(tmp_path, job, job.result | {"curve": curve})
    kept = records.read(tmp_path, job)["curve"]
    assert 1000 < len(kept) <= 2001 and kept[0] == [0, 0] and kept[-1] == [5000, 5000]


def test_a_field_that_has_changed_since_is_named(job, tmp_path):
    """A page says so of runs from before a change of defaults."""
    record = job.result
    (other,) = jobs_of(claim(fields=SHORT | {"gamma": 0.5, "batch_size": 32}), tmp_path).values()
    found = records.differences(record, other)
    assert sorted(found) == ["`batch_size` was 16, and is 32", "`gamma` was 0.99, and is 0.5"]
    record["asked"]["config"]["agent"]["gone"] = None
    assert "`gone` was nothing, and is no field any more" in records.differences(record, other)
    del record["asked"]["config"]["agent"]["huber_delta"]
    assert len(records.differences(record, other)) == 3, "a field that there was not is by default"


@pytest.mark.parametrize(
    "change, named",
    [
        (dict(date="2999-01-01 00:00", algos=("sac", "dqn")), True),
        (dict(date="2999-01-01 00:00", algos=("dqn",), where={"gamma": 0.99, "steps": 800}), True),
        (dict(date="2999-01-01 00:00", algos=("dqn",), where={"gamma": 0.5}), False),
        (dict(date="2999-01-01 00:00", algos=("sac",)), False),
        (dict(date="2020-01-01 00:00", algos=("dqn",)), False),
    ],
)
def test_a_change_that_no_field_shows(job, monkeypatch, change, named):
    made = Change(what="priorities are of magnitudes", **change)
    monkeypatch.setattr(records, "CHANGES", (made,))
    found = records.differences(job.result, job)
    assert found == (["priorities are of magnitudes"] if named else [])


@pytest.mark.parametrize(
    "begun, date, named",
    [
        ("2026-01-01 00:00", "2026-03-01 00:00", True),
        ("2026-02-01 00:01", "2026-03-01 00:00", False),
        (None, "2026-01-31 23:59", True),
        (None, "2026-02-01 00:00", False),
        (None, None, True),
    ],
)
def test_a_run_is_as_old_as_its_begin(job, monkeypatch, begun, date, named):
    """Records from before runs had that date have their end."""
    made = Change(what="rounded", date="2026-02-01 00:00", algos=("dqn",))
    monkeypatch.setattr(records, "CHANGES", (made,))
    kept = {name: value for name, value in (("begun", begun), ("date", date)) if value}
    record = {"asked": job.asked, **kept}
    assert records.differences(record, job) == (["rounded"] if named else [])


def test_a_change_of_rlfabric_changes_no_peers_run(job, monkeypatch):
    made = Change(what="rounded", date="2999-01-01 00:00", algos=("dqn",))
    monkeypatch.setattr(records, "CHANGES", (made,))
    peer = replace(job, peer="zoo")
    record = {"asked": peer.asked, "begun": "2026-01-01 00:00"}
    assert records.differences(record, peer) == []


def test_changes_are_of_the_past():
    for change in changes.CHANGES:
        assert len(change.date) == 16 and change.algos and change.what
