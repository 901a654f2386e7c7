"""bench.host, shortened: its rows, and that both loops learn from the same experiences."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from bench import host
from hw.replay.commands import Opcode


@pytest.fixture
def short(monkeypatch):
    for name, value in (("_ROUNDS", 1), ("_CALLS", 2), ("_STEPS", 40)):
        monkeypatch.setattr(host, name, value)
    for name, value in (("_ROUNDS", 1), ("_CALLS", 2), ("CAPACITY", 1024), ("_PART", 256)):
        monkeypatch.setattr(host.buffers, name, value)
    monkeypatch.setattr(host, "_starts", list)


@pytest.mark.long  # a kernel is compiled
def test_starts(monkeypatch):
    """The first step is told, and comes before the end of a run."""
    monkeypatch.setattr(host, "_STARTS", 1)
    found = {row["case"]: row["value"] for row in host._starts()}
    assert found.keys() == host._START_BARS.keys()
    assert 0 < found["--help"] < found["train, card sim, its kernel compiled before"] < 10


def test_rows_without_a_peer(short, monkeypatch, capsys):
    for module in ("cpprb", "torch"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "bench.own_dqn", raising=False)
    rows = host.rows()
    error = capsys.readouterr().err
    assert "cpprb is left out" in error and "torch is left out" in error
    assert {row["metric"] for row in rows} == {"launch_us", "step_us", "call_us"}
    assert len(rows) == 18 + 2 * 10 and all(row["value"] > 0 for row in rows)
    # Every command that a program of one may be.
    kinds = {row["case"].split()[0].strip(",") for row in rows}
    assert kinds >= {opcode.name for opcode in Opcode} - {"NONE"}
    assert all(row["reference"] is None for row in rows)


def test_rows_beside_a_peer(short, monkeypatch):
    """A stand-in with cpprb's calls, where cpprb is not: scalars have a second axis there."""

    class Buffer:
        updated = set()

        def __init__(self, capacity, fields, alpha):
            self.fields, self.stored, self.updates = fields, 0, []

        def add(self, **transition):
            assert transition.keys() == self.fields.keys()
            self.stored += 1

        def sample(self, count, beta):
            def shape(name):
                return (count, *np.atleast_1d(self.fields[name]["shape"]))

            batch = {
                name: np.zeros(shape(name), field["dtype"]) for name, field in self.fields.items()
            }
            return batch | {"weights": np.ones(count), "indexes": np.arange(count)}

        def update_priorities(self, indexes, priorities):
            assert (priorities >= 0).all() and len(indexes) == len(priorities)
            Buffer.updated.add(len(indexes))

    class Agent:
        learned = 0

        def act(self, obs):
            return [obs.shape == (1, 4)]

        def learn_batch(self, batch):
            assert {len(values) for values in batch.values()} == {host.BATCH}
            Agent.learned += 1
            return np.zeros(host.BATCH), 0.0

    monkeypatch.setitem(sys.modules, "cpprb", SimpleNamespace(PrioritizedReplayBuffer=Buffer))
    monkeypatch.setitem(sys.modules, "bench.own_dqn", SimpleNamespace(TorchDQN=Agent))
    rows = host.rows()
    calls = {row["case"]: row for row in rows if row["metric"] == "call_us"}
    assert {row["reference"] for row in calls.values()} == {"cpprb 11"} and len(calls) == 20
    assert {case.rpartition(", ")[2] for case in calls} == {"card model", "TreeMemory"}
    assert Buffer.updated == {host.BATCH, 64, 256, 512}
    loops = [row for row in rows if row["metric"] == "step_us"]
    assert [row["reference"] for row in loops] == ["cpprb 11"] * 2
    assert all(row["reference_value"] > 0 for row in loops)
    assert "DQN in torch" in loops[0]["case"] and Agent.learned == 2 * 2 * host._STEPS // 2


def test_the_dqn_of_the_loop_learns():
    """A reward that one action earns: its TD errors shrink, and it takes that action."""
    from bench.own_dqn import TorchDQN

    agent, rng = TorchDQN(), np.random.default_rng(0)
    obs = rng.random((64, 4), np.float32)
    action = rng.integers(2, size=64)
    batch = dict(obs=obs, next_obs=obs, action=action, reward=np.float32(action))
    batch |= dict(discount=np.zeros(64, np.float32), weights=np.ones(64, np.float32))
    errors = [np.abs(agent.learn_batch(batch)[0]).mean() for _ in range(300)]
    assert errors[-1] < 0.1 < errors[0]
    taken = [int(agent.act(obs[:1])[0]) for _ in range(6000)][4500:]
    assert np.mean(taken) > 0.9
