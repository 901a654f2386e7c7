"""host.runs.records: when a checkpoint is due, what is said of files that cannot be written."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from host import checkpoint
from host.agents.policy_file import load_policy
from host.agents.registry import find
from host.algorithms.config import Clock
from host.environments.spec import Spec
from host.runs import records as module
from host.runs.records import Records
from tests.host.short_training import small


class Rig:
    """Records of a run that a test moves on; ``said`` is what was warned of, ``now`` the time."""

    def __init__(self, out, monkeypatch, **changes):
        self.config, self.said, self.now = small(env="CartPole-v1", **changes), [], 1000.0
        spec = Spec(shape=(4,), dtype="float32", discrete=True, action_count=2)
        weights, exploration = np.random.SeedSequence(0).spawn(2)
        seeds = dict(weights=weights, exploration=exploration)
        self.policy = find("dqn").policy(self.config.agent, spec, **seeds)
        self.session = SimpleNamespace(policy=self.policy, clock=Clock(steps=64))
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.records = Records(out, self.config, self.session, self.said.append)

    def save(self, takes=0.0):
        def state():
            self.now += takes
            return {"a": 1}

        self.records.save(state)

    def shift(self):
        """Another policy."""
        self.policy.parameters["q"] = self.policy.parameters["q"] + 1


@pytest.fixture
def rig(tmp_path, monkeypatch):
    return Rig(tmp_path, monkeypatch, checkpoint_interval_s=5.0)


@pytest.mark.parametrize("takes, wait", [(0.0, 5), (0.25, 5), (0.5, 5), (2.0, 20)])
def test_when_a_checkpoint_is_due(rig, takes, wait):
    """So many seconds after the last one has ended; of all the time at most a tenth is for them."""
    rig.now += 4.9
    assert not rig.records.due
    rig.now = 1005.0
    assert rig.records.due
    rig.save(takes)
    rig.now += wait - 0.1
    assert not rig.records.due
    rig.now = 1005 + takes + wait
    assert rig.records.due


def test_a_checkpoint_has_its_config_and_its_step(rig):
    rig.save()
    _, state = checkpoint.load(rig.records.checkpoint, "training", rig.config.identity())
    assert state == {"a": 1} and rig.records.saved == 64


def refuse(*_, **__):
    raise OSError(28, "No space left on device")


def test_what_cannot_be_written_is_said_once_until_it_can(rig, monkeypatch, tmp_path):
    """Of each file by itself; the step is of the last checkpoint that was written."""
    rig.save()
    words = "could not be written (No space left on device); the run goes on, and tries it again"
    each = [f"{tmp_path / name} {words}" for name in ("checkpoint.npz", "summary.json")]
    rig.session.clock.steps = 128
    for times in (1, 2):
        with monkeypatch.context() as full:
            full.setattr(checkpoint, "save", refuse)
            full.setattr(module, "write_summary", refuse)
            for _ in range(3):
                rig.save()
                rig.records.summary({})
        assert rig.said == each * times and rig.records.saved == 64
        failed = "Not written in the end: checkpoint.npz, summary.json. The checkpoint is of step"
        assert rig.records.lacking() == f"{failed} 64."
        rig.records.summary({"steps": 3})
        assert rig.records.failed == {"checkpoint.npz"}, "that one alone is there"
        assert json.loads((tmp_path / "summary.json").read_text()) == {"steps": 3}
        if times == 1:
            with monkeypatch.context() as other:
                other.setattr(rig.session.clock, "steps", 64)
                rig.save()
            assert not rig.records.failed


def test_there_is_no_checkpoint(rig):
    rig.records.failed |= {"b", "c", "a"}
    assert rig.records.lacking() == "Not written in the end: a, b, c. There is no checkpoint."


@pytest.mark.parametrize("writer", ["flush", "save", "row", "summary"])
def test_the_best_policy_is_kept_until_it_can_be_written(rig, monkeypatch, writer):
    """As it was; with whatever is written next."""
    records, rows = rig.records, []
    records.log = SimpleNamespace(write=rows.append)
    before = rig.policy.parameters["q"].copy()
    with monkeypatch.context() as full:
        full.setattr(checkpoint, "atomic_write", refuse)
        records.keep_best(7.5)
    rig.shift()
    assert not records.best.exists() and records.failed == {"best.npz"}
    policy, info = records.best_policy()
    assert info["score"] == 7.5
    np.testing.assert_array_equal(policy.parameters["q"], before)
    write = dict(flush=records.flush, save=rig.save, row=lambda: records.row({"x": 1}))
    write["summary"] = lambda: records.summary({})
    write[writer]()
    assert not records.failed and rows == [{"x": 1}] * (writer == "row")
    policy, info = load_policy(records.best)
    assert (info["score"], info["algo"], info["env"]) == (7.5, "dqn", "CartPole-v1")
    np.testing.assert_array_equal(policy.parameters["q"], before)
    records.best.unlink()
    records.flush()
    assert not records.best.exists(), "it is written once"


@pytest.mark.parametrize("saved", [None, 0, 32])
def test_what_a_failure_leaves(rig, saved):
    """A checkpoint if there is a state for it; notes behind those that the error has."""
    records, error = rig.records, LookupError("its own")
    records.saved = saved
    error.__notes__ = ["first"]
    rig.shift()
    records.leave(error, None)
    notes = [f"the policy as it was is in {records.last}"]
    if saved is not None:
        notes += [f"--resume goes on from step {saved}, in {records.checkpoint}"]
    assert error.__notes__ == ["first", *notes]
    policy, info = load_policy(records.last)
    assert info["score"] is None and not records.best.exists()
    np.testing.assert_array_equal(policy.parameters["q"], rig.policy.parameters["q"])

    def broken():
        raise LookupError("the card stands still")

    records.leave(second := ValueError("another"), broken)
    assert second.__notes__[1] == "a checkpoint could not be made: the card stands still"
    records.leave(third := ValueError("a third"), lambda: {})
    assert third.__notes__[1:] == [f"--resume goes on from step 64, in {records.checkpoint}"]


def test_a_full_disk_has_space_for_the_best_policy(rig, tmp_path, monkeypatch):
    """Rows may have taken all the rest; an older one stays whole until the new one is there."""
    write, kept = checkpoint.atomic_write, tmp_path / f".space{checkpoint.PARTIAL}"

    def full(path, how):
        if kept.exists():
            raise OSError(28, "No space left on device")
        write(path, how)

    rig.records.keep_space()
    monkeypatch.setattr(checkpoint, "atomic_write", full)
    for score in (1.0, 2.0):
        size = kept.stat().st_size
        rig.records.keep_best(score)
        assert load_policy(tmp_path / "best.npz")[1]["score"] == score and not rig.said
        # The sizes of packed numbers vary.
        assert size > 1.5 * (tmp_path / "best.npz").stat().st_size and kept.exists()
        rig.shift()
    monkeypatch.setattr(checkpoint, "atomic_write", lambda *_: full(tmp_path / "none" / "x", None))
    rig.records.keep_best(3.0)
    assert rig.said and load_policy(tmp_path / "best.npz")[1]["score"] == 2.0
    rig.records.log = SimpleNamespace(close=lambda: None)
    rig.records.close()
    assert not kept.exists()


def test_a_disk_that_is_read_only_closes_the_log(rig, monkeypatch):
    """The log's error is said, and no other: the space goes with the folder."""
    closed = []

    def close():
        closed.append(1)
        raise OSError(30, "Read-only file system")

    rig.records.keep_space()
    rig.records.log = SimpleNamespace(close=close)
    monkeypatch.setattr(type(rig.records.best), "unlink", refuse)
    rig.records.close()
    assert closed and len(rig.said) == 1 and "progress.csv" in rig.said[0]
