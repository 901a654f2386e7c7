"""host.commands: texts of the command line, what lists, the doctor and reports count."""

import pytest

import boards
from host.commands import listing
from host.commands.doctor import Finding
from host.commands.options import options
from host.commands.report import _largest
from host.commands.unknown import _value
from hw.estimate import RESOURCES


def test_a_value_may_have_an_equals_sign():
    assert options(["env=a=b", "seed="], capacity=None, fanout=4) == {
        "fanout": 4,
        "env": "a=b",
        "seed": "",
    }
    for text in ("=3", "seed", ""):
        with pytest.raises(ValueError, match=f"^--set must be FIELD=VALUE, not '{text}'$"):
            options([text])


@pytest.fixture
def tables(monkeypatch):
    """Title -> rows of what is listed."""
    found = {}
    monkeypatch.setattr(listing, "table", lambda title, heads, rows: found.update({title: rows}))
    return found


def test_memory_of_boards(tables):
    """As many banks as there are of each kind and size."""
    listing.LISTS["boards"]()
    memory = {row[0]: row[2] for row in tables["Boards"]}
    for name, board in boards.BOARDS.items():
        counts = [int(part.split(" x ")[0]) for part in memory[name].split(", ")]
        assert sum(counts) == len(board.banks)
    assert [listing._size(1 << n) for n in (14, 19, 20, 34)] == [
        "16 KiB", "512 KiB", "1 MiB", "16384 MiB",
    ]  # fmt: skip


def test_presets_are_of_those_that_have_some(tables):
    listing.LISTS["presets"]()
    assert [name for name, _ in tables["Presets"]] == ["ddpg", "ppo"]


def test_what_an_unknown_option_was_given():
    """Another option behind it is no value of it."""
    assert _value("--gamma", ["--gamma", "0.9"]) == "0.9"
    assert _value("--gamma", ["--gamma=0.9", "--seed", "3"]) == "0.9"
    assert (
        _value("--gamma", ["--gamma", "--seed", "3"]) == _value("--gamma", ["--gamma"]) == "VALUE"
    )


@pytest.mark.parametrize(
    "found, required, for_tests, mark",
    [("1.0", True, True, "ok"), (None, True, True, "missing"), (None, False, True, "for tests"),
     (None, False, False, "-"), ("/usr/bin/v++", False, False, "ok")],
)  # fmt: skip
def test_marks_of_the_doctor(found, required, for_tests, mark):
    named = dict(name="it", enables="all", install="get it")
    assert Finding(found=found, required=required, for_tests=for_tests, **named).mark == mark


def test_the_largest_parts_of_a_report():
    """By the largest share that each takes of anything; the others as one."""
    rows = [
        dict.fromkeys(RESOURCES, 0) | dict(unit=str(k), lut=k, dsp=9 * (k == 1)) for k in range(5)
    ]
    found = _largest(rows, {"lut": 10, "dsp": 10}, ("lut", "dsp"), most=2)
    assert [row["unit"] for row in found] == ["1", "4", "3 others"]
    assert (found[-1]["lut"], found[-1]["dsp"]) == (0 + 2 + 3, 0)
