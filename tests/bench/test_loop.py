"""bench.loop, shortened: its rows with and without a peer."""

import sys

import pytest

from bench import loop


def test_in_turn():
    """Each takes its steps in each round; what is None takes none."""
    taken = {"one": [], "other": []}

    def function(name):
        def run(steps):
            taken[name].append(steps)
            sum(range(20_000))
            return steps

        return run

    found = loop.in_turn({name: function(name) for name in taken} | {"none": None}, 50)
    assert found.keys() == taken.keys() and min(found.values()) > 0
    assert taken["one"] == taken["other"] == [loop._WARM, *[50] * loop._ROUNDS]


@pytest.mark.long  # runs of seconds, and imports of torch
@pytest.mark.parametrize("peer", [True, False])
def test_rows(monkeypatch, capsys, peer):
    monkeypatch.setattr(loop, "_ROUNDS", 1)
    monkeypatch.setattr(loop, "_WARM", 150)
    monkeypatch.setattr(loop, "_MEMORY_STEPS", 200)
    if not peer:
        monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    elif not loop._made_peer(1, 64):
        pytest.skip("stable-baselines3 is not installed")
    rows = loop.rows()
    assert {row["metric"] for row in rows} == {"steps_per_s", "peak_mb"} | (
        {"times"} if peer else set()
    )
    assert all(row["value"] > 0 for row in rows)
    [alone] = [row for row in rows if row["case"].startswith("a3c")]
    assert alone["metric"] == "steps_per_s" and alone["reference"] is None
    assert ("is left out" in capsys.readouterr().err) == (not peer)


@pytest.mark.long  # a run of seconds, and torch
@pytest.mark.parametrize("count, batch, each", [(8, 32, 32), (1, 64, 1)])
def test_both_make_as_many_updates(count, batch, each):
    """The rows compare runs of one ratio: an update for so many steps, once learning has begun."""
    pytest.importorskip("stable_baselines3")
    with loop._Ours(count, "card", batch) as ours:
        ours(1200)
        before, steps = ours._session.clock.updates, ours(640)
        assert abs(ours._session.clock.updates - before - steps / each) <= 1
    theirs = loop._peer(count, batch)
    model = theirs.__closure__[0].cell_contents
    theirs(1200)
    before, steps = model._n_updates, theirs(640)
    assert abs(model._n_updates - before - steps / each) <= 1


def test_a_missing_peer_is_told(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert loop._made_peer(1, 64) is None
    assert "stable-baselines3 is left out" in capsys.readouterr().err
