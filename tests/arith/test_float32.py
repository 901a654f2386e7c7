"""hw.arith.float32, multiply and add: the twin against IEEE's cases, hardware against it."""

import numpy as np
import pytest
from arith.float32_cases import (
    CORNERS,
    Verilated,
    assert_same,
    bits,
    corners,
    floats,
    random_operands,
)
from arith.vectors import check_stream, words
from hypothesis import given
from hypothesis import strategies as st
from later import later

from hw.arith.float32.add import Float32Add
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.unit import Float32Config
from sim.model.arith import float32 as twin

NAN = 0x7FC00000
TINY, LARGEST, INFINITY = 0x00800000, 0x7F7FFFFF, 0x7F800000
SIGN = 1 << 31


def result(function):
    return lambda *operands: dict(result=bits(function(*operands)))


UNITS = {Float32Multiply: result(twin.multiply), Float32Add: result(twin.add)}


def payloads(unit, **fields):
    """Payloads of ``unit.o`` from arrays of its fields, as uint64; they fit into 64 bits."""
    return sum(
        np.asarray(values).astype(np.uint64) << np.uint64(unit.o_layout[name].offset)
        for name, values in fields.items()
    )


@pytest.mark.parametrize(
    "function, a, b, expected",
    [
        (twin.multiply, 0, SIGN, SIGN),
        (twin.multiply, 0, INFINITY, NAN),
        (twin.multiply, SIGN | INFINITY, 0x00000001, NAN),  # the subnormal is a zero
        (twin.multiply, SIGN | INFINITY, TINY, SIGN | INFINITY),
        (twin.multiply, 0xFF800001, 0x3F800000, NAN),
        (twin.multiply, LARGEST, 0x3F800001, INFINITY),
        (twin.multiply, LARGEST, SIGN | 0x3F800001, SIGN | INFINITY),
        (twin.multiply, 0x3F800001, 0x3F800001, 0x3F800002),
        (twin.multiply, SIGN | TINY, 0x3F000000, SIGN),  # exactly half the smallest normal
        (twin.multiply, 0x00FFFFFF, 0x3F000000, TINY),  # a tie, up to the smallest normal
        (twin.multiply, 0x00FFFFFE, 0x3F000000, 0),  # just below: a subnormal, flushed
        (twin.multiply, 0x3F7FFFFF, TINY, TINY),  # the same tie
        (twin.multiply, 0x3F7FFFFE, 0x00800001, TINY),  # above the tie
        (twin.multiply, 0x3F7FFFFD, 0x00800001, 0),  # below it
        (twin.add, 0, SIGN, 0),
        (twin.add, SIGN, SIGN, SIGN),
        (twin.add, 0x3F800000, 0xBF800000, 0),
        (twin.add, 0x80000001, SIGN, SIGN),
        (twin.add, INFINITY, SIGN | INFINITY, NAN),
        (twin.add, SIGN | INFINITY, LARGEST, SIGN | INFINITY),
        (twin.add, LARGEST, 0x73000000, INFINITY),  # half a unit above the largest: a tie
        (twin.add, LARGEST, 0x72FFFFFF, LARGEST),
        (twin.add, 0x3F800000, 0x33800000, 0x3F800000),  # ties to even
        (twin.add, 0x3F800001, 0x33800000, 0x3F800002),
        (twin.add, 0x3F800000, 0xB3000000, 0x3F800000),
        (twin.add, 0x3F800000, 0xB3000001, 0x3F7FFFFF),
        (twin.add, 0x00800001, SIGN | TINY, 0),  # the difference is a subnormal
        (twin.add, TINY, SIGN | 0x00800001, SIGN),
    ],
)
def test_twin_of_stated_cases(function, a, b, expected):
    got = bits(function(floats([a]), floats([b])))[0]
    assert got == expected, f"{got:#x}"


def exact(function, a, b):
    """Bits of ``function`` by exact integers: numbers are integers times 2^-149."""
    scale = 149

    def value(word):
        fraction, exponent = word & 0x7FFFFF, word >> 23 & 255
        number = (fraction | 1 << 23) << (exponent - 1) if exponent else 0
        return -number if word >> 31 else number

    if function is twin.multiply:
        number, scale = value(a) * value(b), 2 * scale
        sign = (a ^ b) >> 31
    else:
        number = value(a) + value(b)
        sign = number < 0 if number else (a & b) >> 31
    # In units of 2^-149 first; below the smallest normal that is all the precision there is.
    magnitude, unit = abs(number), 1 << (scale - 149)
    while magnitude >= unit << 24:
        unit <<= 1
    whole, rest = divmod(magnitude, unit)
    whole += 2 * rest + (whole & 1) > unit
    exponent = unit.bit_length() - (scale - 149)
    word = whole + ((exponent - 1) << 23)
    if word < TINY:
        word = 0
    return min(word, INFINITY) | int(sign) << 31


finite = st.integers(0, LARGEST) | st.sampled_from([int(x) for x in CORNERS if x <= LARGEST])
signed_finite = st.tuples(finite, st.sampled_from([0, SIGN])).map(sum)


@given(signed_finite, signed_finite, st.integers(-30, 30))
def test_twin_is_exact_arithmetic_rounded_once(a, b, apart):
    near = (a & 0x7FFFFFFF) + (apart << 23)
    near = (near if 0 <= near <= LARGEST else a & 0x7FFFFFFF) ^ (b & (SIGN | 0x7FFFFF))
    for function in (twin.multiply, twin.add):
        for other in (b, near):
            got = int(bits(function(floats([a]), floats([other])))[0])
            assert got == exact(function, a, other), f"{a:#x}, {other:#x}: {got:#x}"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.__name__)
@pytest.mark.parametrize("tag_width", [later(0), 5])
def test_stream(simulate, tmp_path, unit, tag_width):
    """Clocks, gaps, reset in flight, the tag: few operands, in Icarus."""
    unit, expected = unit(Float32Config(tag_width=tag_width)), UNITS[unit]
    count = len(unit.OPERANDS)
    operands = random_operands(count, 300, seed=tag_width)
    rng = np.random.default_rng(1)
    tag = rng.integers(0, 1 << tag_width, len(operands[0]))
    fields = dict(zip(unit.OPERANDS, operands, strict=True))
    check_stream(
        simulate,
        tmp_path,
        unit,
        words(unit.i_layout, **fields, tag=tag),
        words(unit.o_layout, **expected(*map(floats, operands)), tag=tag),
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.__name__)
@pytest.mark.parametrize("rows", [30_000, later(1_000_000)])
def test_corners_and_many(unit, rows):
    """Every corner with every corner, then random operands: hardware equals the twin."""
    simulated, expected = Verilated(unit()), UNITS[unit]
    count = len(unit.OPERANDS)
    many = random_operands(count, rows, seed=7)
    for operands in (corners(count), many):
        got = simulated.run(*operands)
        fields = expected(*map(floats, operands))
        assert_same(got, payloads(simulated.unit, **fields), *operands)
    stalls = rows // 20
    some = [part[:stalls] for part in many]
    for source_gap, sink_gap in ((0.5, 0), (0, 0.5), (0.3, 0.7)):
        stalled = simulated.run(*some, source_gap=source_gap, sink_gap=sink_gap)
        np.testing.assert_array_equal(stalled, got[:stalls])
    simulated.close()


def test_config_rejects():
    with pytest.raises(ValueError, match="tag_width must be an integer in 0..4096, not -1"):
        Float32Config(tag_width=-1)
