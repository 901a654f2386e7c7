"""hw.arith.float32, reciprocal and rsqrt: twin against exact integers, hardware against twin."""

import numpy as np
import pytest
from arith.float32_cases import Verilated, assert_same, bits, corners, floats, random_operands
from arith.vectors import check_stream, words
from later import later

from hw.arith.float32.reciprocal import Float32Reciprocal, reciprocal_table
from hw.arith.float32.rsqrt import Float32Rsqrt, rsqrt_table
from hw.arith.float32.seed import SEED_WIDTH
from hw.arith.float32.unit import Float32Config
from sim.model.arith import float32 as twin
from sim.model.arith.interpolate import interpolate

UNITS = {Float32Reciprocal: twin.reciprocal, Float32Rsqrt: twin.rsqrt}
NAN, INFINITY, SIGN = 0x7FC00000, 0x7F800000, 1 << 31
ONE, TWO = 127 << 23, 128 << 23
#: Every seventh significand, and in the long tests every one.
STRIDES = pytest.mark.parametrize("stride", [7, later(1)])


@pytest.mark.parametrize(
    "function, x, expected",
    [
        (twin.reciprocal, 0, INFINITY),
        (twin.reciprocal, SIGN, SIGN | INFINITY),
        (twin.reciprocal, 0x807FFFFF, SIGN | INFINITY),  # the subnormal is a zero
        (twin.reciprocal, SIGN | INFINITY, SIGN),
        (twin.reciprocal, 0x7F800001, NAN),
        (twin.reciprocal, ONE, ONE),
        (twin.reciprocal, 0x7E800000, 0x00800000),  # 2**126: the smallest normal
        (twin.reciprocal, 0x7E800001, 0),  # just below it
        (twin.reciprocal, 0x00800000, 0x7E800000),
        (twin.reciprocal, 0x40400000, 0x3EAAAAAB),
        (twin.rsqrt, 0, INFINITY),
        (twin.rsqrt, SIGN, SIGN | INFINITY),
        (twin.rsqrt, 0x80000001, SIGN | INFINITY),
        (twin.rsqrt, INFINITY, 0),
        (twin.rsqrt, SIGN | INFINITY, NAN),
        (twin.rsqrt, 0x80800000, NAN),
        (twin.rsqrt, 0xFFFFFFFF, NAN),
        (twin.rsqrt, ONE, ONE),
        (twin.rsqrt, 0x40800000, 0x3F000000),
        (twin.rsqrt, TWO, 0x3F3504F3),
        (twin.rsqrt, 0x00800000, 0x5F000000),
        (twin.rsqrt, 0x7F7FFFFF, 0x1F800000),
    ],
)
def test_twin_of_stated_cases(function, x, expected):
    assert bits(function(floats([x])))[0] == expected


def significands(result, one):
    """``result`` in units of 2^-24, for results in 1/2 .. 1."""
    scaled = result.astype(np.float64) * one
    assert (scaled == np.floor(scaled)).all()
    return scaled.astype(np.int64)


@STRIDES
def test_reciprocal_of_every_significand(stride):
    """``|2**47 / M - Q| < 1/2`` in integers; an exponent only moves it."""
    argument = np.arange(1 << 23, 1 << 24, stride)
    result = twin.reciprocal(floats(argument - (1 << 23) + ONE))
    q = significands(result, 1 << 24)
    assert ((2 * q - 1) * argument < 1 << 48).all() and ((2 * q + 1) * argument > 1 << 48).all()
    moved = twin.reciprocal(floats(argument - (1 << 23) + (200 << 23)))
    np.testing.assert_array_equal(moved, result * np.float32(2.0**-73))


@STRIDES
@pytest.mark.parametrize("exponent", [ONE, TWO])
def test_rsqrt_of_every_significand(exponent, stride):
    """``(2Q - 1)**2 V < 2**73 < (2Q + 1)**2 V`` in integers: 1 <= v < 4 is all there is.

    Both differences from 2**73 are below 2**52, so their signs are right modulo 2**64.
    """
    significand = np.arange(1 << 23, 1 << 24, stride)
    result = twin.rsqrt(floats(significand - (1 << 23) + exponent))
    argument = significand << (exponent == TWO)
    q = significands(result, 1 << 24)
    relative = q / 2**24 * np.sqrt(argument / 2**23) - 1
    assert abs(relative).max() < 2.0**-23
    assert ((2 * q - 1) ** 2 * argument < 0).all() and ((2 * q + 1) ** 2 * argument > 0).all()
    moved = twin.rsqrt(floats(significand - (1 << 23) + exponent + (100 << 23)))
    np.testing.assert_array_equal(moved, result * np.float32(2.0**-50))


@pytest.mark.parametrize(
    "table, argument",
    [
        (reciprocal_table(), lambda x: (2 - (x + 1) / 2**23) ** 2),
        (rsqrt_table(), lambda x: np.where(x < 1 << 23, 4 - (x + 1) / 2**22, 3 - (x + 1) / 2**23)),
    ],
    ids=["reciprocal", "rsqrt"],
)
def test_every_seed_is_as_near_as_stated(table, argument):
    assert table.value_width == SEED_WIDTH
    x = np.arange(len(table.base) << table.remainder_width)
    error = interpolate(x, table) * 2.0**-SEED_WIDTH * np.sqrt(argument(x)) - 1
    assert -(2.0**-15.9) <= error.min() and error.max() <= 2.0**-18


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.__name__)
@pytest.mark.parametrize("tag_width", [later(0), 5])
def test_stream(simulate, tmp_path, unit, tag_width):
    """Clocks, gaps, reset in flight, the tag: few operands, in Icarus."""
    unit, function = unit(Float32Config(tag_width=tag_width)), UNITS[unit]
    (x,) = random_operands(1, 300, seed=tag_width)
    tag = np.random.default_rng(1).integers(0, 1 << tag_width, len(x))
    check_stream(
        simulate,
        tmp_path,
        unit,
        words(unit.i_layout, x=x, tag=tag),
        words(unit.o_layout, result=bits(function(floats(x))), tag=tag),
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.__name__)
@pytest.mark.parametrize("rows", [30_000, later(1_000_000)])
def test_corners_and_many(unit, rows):
    simulated, function = Verilated(unit()), UNITS[unit]
    (many,) = random_operands(1, rows, seed=7)
    for x in (*corners(1), many, many & (SIGN - 1)):
        got = simulated.run(x)
        assert_same(got, bits(function(floats(x))), x)
    for source_gap, sink_gap in ((0.5, 0), (0, 0.5), (0.3, 0.7)):
        stalled = simulated.run(x[: rows // 20], source_gap=source_gap, sink_gap=sink_gap)
        np.testing.assert_array_equal(stalled, got[: rows // 20])
    simulated.close()


@pytest.mark.long
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.__name__)
def test_every_significand(unit):
    """All of [1, 4), which is every significand with both parities of the exponent."""
    simulated, function = Verilated(unit()), UNITS[unit]
    for start in range(ONE, ONE + (1 << 24), 1 << 20):
        x = np.arange(start, start + (1 << 20), dtype=np.uint32)
        assert_same(simulated.run(x), bits(function(floats(x))), x)
    simulated.close()
