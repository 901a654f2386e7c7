"""bench.host, shortened: its rows, and that both loops learn from the same experiences."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from bench import host


@pytest.fixture
def short(monkeypatch):
    for name, value in (("_ROUNDS", 1), ("_CALLS", 2), ("_STEPS", 40)):
        monkeypatch.setattr(host, name, value)


def test_rows_without_a_peer(short, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cpprb", None)
    rows = host.rows()
    assert "cpprb is left out" in capsys.readouterr().err
    assert {row["metric"] for row in rows} == {"launch_us", "step_us"}
    assert len(rows) == 8 and all(row["value"] > 0 for row in rows)
    assert all(row["reference"] is None for row in rows)


def test_rows_beside_a_peer(short, monkeypatch):
    """A stand-in with cpprb's calls, where cpprb is not: scalars have a second axis there."""

    class Buffer:
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
            assert (priorities >= 0).all() and len(indexes) == len(priorities) == host.BATCH

    monkeypatch.setitem(sys.modules, "cpprb", SimpleNamespace(PrioritizedReplayBuffer=Buffer))
    loops = [row for row in host.rows() if row["metric"] == "step_us"]
    assert [row["reference"] for row in loops] == ["cpprb 11"] * 2
    assert all(row["reference_value"] > 0 for row in loops)
