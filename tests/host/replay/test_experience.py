"""host.replay.experience: records, fields and priorities by hand, without a card."""

import numpy as np
import pytest

from host.replay.experience import (
    FirstPriorities,
    checked_items,
    put_items,
    put_records,
    raw_priorities,
    record_dtype,
    to_records,
)
from hw.errors import UsageError
from hw.replay.commands import MAX_COUNT, Opcode
from hw.replay.config import ReplayConfig

#: 8 bits before the point and 4 behind it, and 1 and 2.
NARROW = ReplayConfig(capacity=16, fanout=2, priority_width=12, priority_fraction=4)


@pytest.mark.parametrize(
    "value, raw", [(0, 0), (1, 16), (1 / 32, 1), (0.99 / 32, 0), (3 / 32, 2), (255.9375, 4095)]
)
def test_priorities_are_rounded_half_up(value, raw):
    assert raw_priorities(NARROW, np.array([value])).tolist() == [raw]


@pytest.mark.parametrize("value", [-1e-9, 255.94, np.inf, np.nan])
def test_priorities_outside_of_the_format(value):
    words = rf"^priorities must be finite and in 0..255.938, not {value} at position 1$"
    with pytest.raises(ValueError, match=words):
        raw_priorities(NARROW, np.array([1, value]))


@pytest.mark.parametrize("name", ["priorities", "td_errors"])
def test_priorities_have_one_axis(name):
    given = dict(priorities=None, td_errors=None)
    with pytest.raises(ValueError, match=rf"^{name} must have shape \(4,\), not \(2, 2\)$"):
        FirstPriorities.of(4, NARROW, **given | {name: np.ones((2, 2))})


@pytest.mark.parametrize("side", [0, True, np.True_, 1.0])
def test_sides_of_a_field_are_positive_integers(side):
    with pytest.raises(ValueError, match="^x must have a shape of positive integers, not "):
        record_dtype({"x": (np.float32, (2, side))})


def test_the_largest_record():
    assert record_dtype({"x": (np.uint8, (4095 * 16,))}).itemsize == 65_520
    assert record_dtype({"x": (np.uint8, 15), "y": (np.uint8, (2,))}).itemsize == 32


def test_records_are_a_list_of_the_fields_type():
    dtype = record_dtype({"x": (np.float32, ())})
    records = np.zeros((2, 3), dtype)
    assert to_records(records[0], dtype) is not None
    for wrong in (records, np.zeros(3, np.float32)):
        with pytest.raises(ValueError, match=r"^experiences must be records \[n\] of .*, not \["):
            to_records(wrong, dtype)


def test_items_of_none_are_fine():
    indexes, values = checked_items(5, "priorities", [], [])
    assert indexes.dtype == np.uint32 and len(indexes) == len(values) == 0


@pytest.mark.parametrize("given", [-1, 5])
def test_items_are_of_what_is_stored(given):
    with pytest.raises(
        ValueError, match=rf"^indexes must be in 0..4 .what is stored., not {given}"
    ):
        checked_items(5, "priorities", [given], [1.0])
    assert checked_items(5, "priorities", [4], [1.0])[0].tolist() == [4]


def test_long_lists_are_several_commands():
    """Of as many items as a command may have, each list from a beat on."""
    count = MAX_COUNT + 3
    program, operands, indexes = [], [], np.arange(count, dtype=np.uint32)
    end = put_items(program, operands, 64, Opcode.SET, indexes, indexes + 7)
    first = 64 + -(-MAX_COUNT * 8 // 64) * 64
    assert [fields for _, fields in program] == [
        {"count": MAX_COUNT, "source": 64}, {"count": 3, "source": first},
    ]  # fmt: skip
    assert [at for at, _ in operands] == [64, first] and end == first + 64
    assert operands[1][1].view("<u4").tolist()[::2] == [MAX_COUNT, MAX_COUNT + 1, MAX_COUNT + 2]


def test_each_part_of_many_records_has_its_own_priorities():
    """Behind it, and before the next."""
    records = np.zeros(MAX_COUNT + 2, record_dtype({"x": (np.uint8, 16)}))
    values = np.arange(len(records)) % 7
    given = FirstPriorities.of(len(records), NARROW, priorities=values, td_errors=None)
    program, operands = [], []
    put_records(program, operands, 0, records, given)
    assert [fields["count"] for _, fields in program] == [MAX_COUNT, 2]
    places = [at for _, fields in program for at in (fields["source"], fields["priorities"])]
    assert places == [at for at, _ in operands]
    ends = [at + len(array.reshape(-1).view(np.uint8)) for at, array in operands]
    assert all(end <= at for end, at in zip(ends, places[1:], strict=False))
    last = (
        operands[-1][1].reshape(-1)[:16].view("<u4")[1::2]
        | operands[-1][1].reshape(-1)[:16].view("<u4")[::2]
    )
    assert last.tolist() == [16 * x for x in values[-2:]]


@pytest.mark.parametrize("name", ["x", "y"])
def test_other_orders_of_bytes_are_not_read_in_one_pass(name):
    """A NaN of big-endian words is an ordinary number to a little-endian reader."""
    dtype = record_dtype({"x": (">f4", ()), "y": ("f4", ())})
    given = {"x": np.ones(2, ">f4"), "y": np.ones(2)} | {name: np.array([1, np.nan])}
    with pytest.raises(UsageError, match=f"^{name} must be finite, not nan at position 1$"):
        to_records(given, dtype)
