"""`rlfabric list`: what it counts, and what it leaves out."""

import pytest

import boards
from host.cli import lists


@pytest.fixture
def tables(monkeypatch):
    """Title -> rows of what is listed."""
    found = {}
    monkeypatch.setattr(lists, "table", lambda title, heads, rows: found.update({title: rows}))
    return found


def test_memory_of_boards(tables):
    """As many banks as there are of each kind and size."""
    lists.LISTS["boards"]()
    memory = {row[0]: row[2] for row in tables["Boards"]}
    for name, board in boards.BOARDS.items():
        counts = [int(part.split(" x ")[0]) for part in memory[name].split(", ")]
        assert sum(counts) == len(board.banks)
    assert [lists._size(1 << n) for n in (14, 19, 20, 34)] == [
        "16 KiB", "512 KiB", "1 MiB", "16384 MiB",
    ]  # fmt: skip


def test_presets_are_of_those_that_have_some(tables):
    lists.LISTS["presets"]()
    assert [name for name, _ in tables["Presets"]] == ["ddpg", "ppo"]


def test_tasks_are_those_that_are_registered(tables):
    """With the numbers of gymnasium's own environments, and the steps of the machine."""
    lists.LISTS["tasks"]()
    names = [row[0] for row in tables["Tasks"]]
    lists.DETAILED["tasks"]()
    rows = {row[0]: row[1:] for row in tables["Tasks"] if row[0].startswith("rlfabric/")}
    assert rows["rlfabric/CartPole-v1"] == ["4", "2", "500", "475.0", "51"]
    assert rows["rlfabric/Pendulum-v1"][:3] == ["3", "of 1", "200"]
    assert [*rows] == names
    assert len(rows) == 3
