"""hw.comparison, and the finder of comparisons that should have been made by it."""

import operator

import numpy as np
import pytest
from amaranth.hdl import Const, Shape, Signal
from amaranth.lib import data
from decided import decided_comparisons

from hw.comparison import above, at_least, below, beyond

COMPARE = {below: operator.lt, above: operator.gt, at_least: operator.ge}
SIGNS = {operator.lt: "<", operator.gt: ">", operator.ge: ">="}
SHAPES = [Shape(width, signed) for signed in (False, True) for width in range(signed, 4)]


def values(shape):
    low = -(1 << shape.width - 1) if shape.signed else 0
    return range(low, low + (1 << shape.width))


@pytest.mark.parametrize("compare", COMPARE)
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_it_is_a_comparison_unless_the_type_decides(compare, shape):
    python = COMPARE[compare]
    for limit in range(-10, 11):
        x = Signal(shape)
        outcomes = {python(value, limit) for value in values(shape)}
        made = compare(x, limit)
        if len(outcomes) == 1:
            assert isinstance(made, Const) and [made.value] == [*outcomes] and len(made) == 1
        else:
            assert made.operator == SIGNS[python]
            assert made.operands[0] is x and made.operands[1].value == limit


def test_numbers_are_compared():
    for value in (3, np.uint32(3)):
        assert (below(value, 4), above(value, 4), at_least(value, 3)) == (True, False, True)
        assert beyond(value, 4, None) == [True] and beyond(value, 0, 3) == [False, False]


def test_a_field_of_a_structure_is_a_value():
    view = Signal(data.StructLayout({"inner": data.StructLayout({"a": 2, "b": 2})})).inner
    assert above(view.a, 3).value == 0 and above(view.as_value(), 15).value == 0


def test_limits_that_the_type_keeps_are_no_conditions():
    def made(shape, low, high):
        return [(c.operator, c.operands[1].value) for c in beyond(Signal(shape), low, high)]

    assert made(4, 0, 15) == made(4, None, None) == []
    assert made(4, 1, 15) == [("<", 1)] and made(4, 0, 14) == made(4, None, 14) == [(">", 14)]
    assert made(Shape(4, True), -8, 7) == []
    assert made(Shape(4, True), -7, 6) == [("<", -7), (">", 6)]
    assert [c.value for c in beyond(Signal(2), 4, None)] == [1]


def test_the_finder_finds_what_a_type_decides(tmp_path, monkeypatch):
    """All comparisons of a source that is taken for one of hw."""
    monkeypatch.setattr("decided._HW", str(tmp_path))
    x, y, none = Signal(2), Signal(Shape(2, True)), Signal(0)
    found = {
        "x > 3": 3, "x >= 0": 0, "x < 4": 4, "x <= 3": 3, "3 >= x": 3,
        "y < -2": -2, "y > 1": 1, "y >= -2": -2,
    }  # fmt: skip
    others = ["x > 2", "x >= 1", "x == 4", "3 > x", "y < -1", "x < y", "none == 0", "none < 1"]
    source = "\n".join([*found, *others])
    with decided_comparisons() as places:
        exec(compile(source, str(tmp_path / "unit.py"), "exec"), dict(x=x, y=y, none=none))
    assert [(int(p.split(":")[1]), int(p.split()[-1])) for p in places] == [
        *enumerate(found.values(), 1)
    ]
