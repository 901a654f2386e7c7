"""bench.sb3, with models that take no time, and shortened."""

import sys

import pytest

from bench import loop, sb3


class _Model:
    """Counts its steps as the library's models do."""

    made = []

    def __init__(self, policy, env, **arguments):
        self.num_timesteps = 0
        self.made.append((type(self).__name__, arguments))

    def learn(self, steps, reset_num_timesteps):
        assert reset_num_timesteps == (self.num_timesteps == 0)
        self.num_timesteps += steps


class _Peer(_Model):
    pass


def test_rows(monkeypatch):
    """A step's time is compared, ours over the peer's, at the same arguments."""
    speeds, sizes = {"rlfabric": 500.0, "stable-baselines3": 625.0}, []

    def in_turn(functions, steps):
        assert functions.keys() == speeds.keys()
        sizes.append([function(steps) for function in functions.values()] + [steps])
        return speeds

    monkeypatch.setattr(sb3, "in_turn", in_turn)
    monkeypatch.setattr(sb3, "_kinds", lambda: {"rlfabric": _Model, "stable-baselines3": _Peer})
    monkeypatch.setattr(_Model, "made", made := [])
    rows = sb3.rows()
    assert [row["value"] for row in rows] == [2000, 1.25] * 2
    assert [row["reference_value"] for row in rows] == [1600, 1.3] * 2
    assert all(len(set(each)) == 1 for each in sizes) and len(sizes) == 2
    for (one, mine), (other, theirs) in zip(made[::2], made[1::2], strict=True):
        assert (one, other) == ("_Model", "_Peer") and mine == theirs


def test_without_the_peer(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    assert sb3.rows() == []
    assert "stable-baselines3 is left out" in capsys.readouterr().err


@pytest.mark.long  # runs of seconds
def test_it_measures(monkeypatch):
    pytest.importorskip("stable_baselines3")
    monkeypatch.setattr(loop, "_ROUNDS", 1)
    monkeypatch.setattr(loop, "_WARM", 150)
    rows = sb3.rows()
    assert len(rows) == 4 and all(row["value"] > 0 for row in rows)
