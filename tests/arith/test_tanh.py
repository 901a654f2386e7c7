"""hw.arith.tanh: twin against the C library in float64, hardware against the twin."""

import numpy as np
import pytest
from arith.float32_cases import CORNERS, Verilated, assert_same, bits, floats, random_operands
from arith.vectors import check_stream, words
from hypothesis import given
from hypothesis import strategies as st
from later import later
from marks import long_but

from hw.arith.fixed import SQ, UQ
from hw.arith.float32.unit import Float32Config
from hw.arith.tanh import LIMIT, Tanh, TanhFixed, tanh_table
from sim.model.arith.tanh import tanh, tanh_fixed

FORMATS = [SQ(8, 10), SQ(1, 17), SQ(4, 14), SQ(18, 0), SQ(5, 5)]
#: One as others are, and those without integer or fraction bits.
QUICK = [SQ(8, 10), SQ(1, 17), SQ(18, 0)]

# Where the way of a result changes: the first of table, the segments' ends, the limit.
SEGMENT_ENDS = np.arange(1, 513) / 64
ENDS = np.concatenate([2.0 ** np.arange(-27, 5), SEGMENT_ENDS]).astype(np.float32)
ENDS = bits(ENDS)
ENDS = np.concatenate([ENDS, ENDS - 1, ENDS + 1])
ENDS = np.concatenate([ENDS, ENDS | np.uint32(1 << 31)])


def assert_accurate(x):
    y, exact = tanh(x), np.tanh(x.astype(np.float64))
    error = np.abs(y - exact) / np.abs(exact)
    assert error.max() <= 2.0**-21, f"tanh({x[error.argmax()]!r}) is {y[error.argmax()]!r}"
    assert np.abs(y).max() <= 1
    np.testing.assert_array_equal(bits(tanh(-x)), bits(y) ^ np.uint32(1 << 31))


def test_twin_is_accurate_in_every_octave():
    """Normals of all exponents; the octaves that the table serves densely."""
    for exponent in range(1, 255):
        step = 127 if 103 <= exponent < 131 else 9973
        assert_accurate(floats((exponent << 23) + np.arange(0, 1 << 23, step)))
    assert_accurate(floats(ENDS))


@pytest.mark.long
def test_twin_is_accurate_everywhere_the_table_serves():
    for start in range(104 << 23, 131 << 23, 1 << 20):
        assert_accurate(floats(start + np.arange(1 << 20)))


def test_twin_of_special_numbers():
    x = floats([0x7F800000, 0x7FC00000, 0x7F800001, 0, 1, 0x007FFFFF, 0x00800000, 0x33FFFFFF])
    expected = floats([0x3F800000, 0x7FC00000, 0x7FC00000, 0, 0, 0, 0x00800000, 0x33FFFFFF])
    np.testing.assert_array_equal(bits(tanh(x)), bits(expected))
    signed = bits(tanh(-x)) ^ np.where(np.isnan(x), 0, 1 << 31).astype(np.uint32)
    np.testing.assert_array_equal(signed, bits(expected))
    # From the limit on it is one, and below nearly so.
    assert tanh(np.float32(LIMIT)) == 1
    assert 1 - 2.0**-20 < tanh(np.nextafter(np.float32(LIMIT), np.float32(0))) <= 1


@given(st.floats(width=32, allow_nan=False, allow_subnormal=False, min_value=2.0**-126))
def test_twin_is_accurate(x):
    assert_accurate(np.array([x], np.float32))


@pytest.mark.parametrize("target", FORMATS, ids=repr)
def test_fixed_twin_is_within_half_a_unit(target):
    raw = np.arange(target.low, target.high + 1)
    got = tanh_fixed(raw, target)
    exact = np.tanh(raw * target.resolution) / target.resolution
    assert np.abs(got - exact).max() <= 0.51
    assert got.min() >= target.low and got.max() <= min(target.high, 1 << target.fraction)
    assert tanh_fixed(np.int64(0), target) == 0


def test_table_is_continuous():
    """Each parabola ends where the next begins, and they fall."""
    table = tanh_table()
    ends = table.base - table.slope + table.curve
    np.testing.assert_array_equal(ends[:-1], table.base[1:])
    assert np.all(table.slope > 0) and np.all(table.slope - table.curve > 0)


@pytest.mark.parametrize("tag_width", [later(0), 5])
def test_stream(simulate, tmp_path, tag_width):
    unit = Tanh(Float32Config(tag_width=tag_width))
    x = np.concatenate([CORNERS, ENDS[::29], random_operands(1, 100, seed=tag_width)[0]])
    tag = np.random.default_rng(1).integers(0, 1 << tag_width, len(x))
    check_stream(
        simulate,
        tmp_path,
        unit,
        words(unit.i_layout, x=x, tag=tag),
        words(unit.o_layout, result=bits(tanh(floats(x))), tag=tag),
    )
    assert (unit.LATENCY, unit.INTERVAL) == (13, 1)


@pytest.mark.parametrize("count", [30_000, later(100_000)])
def test_segments_and_any_numbers(count):
    """Every segment's ends, ``count`` of any numbers, and half as many again inside the table."""
    rng = np.random.default_rng(5)
    inside = rng.integers(103 << 23, 131 << 23, count * 3 // 2, dtype=np.uint32)
    x = np.concatenate([CORNERS, ENDS, random_operands(1, count, seed=6)[0], inside])
    simulated = Verilated(Tanh())
    assert_same(simulated.run(x), bits(tanh(floats(x))), x)
    simulated.close()


@pytest.mark.parametrize("target", long_but(QUICK, FORMATS), ids=repr)
def test_fixed_matches_twin(simulate, tmp_path, target):
    rng = np.random.default_rng(3)
    limit = min(LIMIT << target.fraction, target.high)
    ends = [target.low, target.low + 1, limit - 1, limit, -limit, 1 - limit, -1, 0, 1, target.high]
    span = min(9 << target.fraction, target.high)
    raw = [*ends, *rng.integers(-span, span, 300), *rng.integers(target.low, target.high, 50)]
    raw = np.array(raw, dtype=np.int64)
    mask = (1 << target.width) - 1
    check_stream(
        simulate,
        tmp_path,
        TanhFixed(target),
        [int(x) & mask for x in raw],
        [int(y) & mask for y in tanh_fixed(raw, target)],
    )
    assert (TanhFixed.LATENCY, TanhFixed.INTERVAL) == (9, 1)


@pytest.mark.parametrize("target", [SQ(8, 11), UQ(4, 4), 18])
def test_fixed_rejects(target):
    with pytest.raises(ValueError, match="target must be SQ of at most 18 bits, not "):
        TanhFixed(target)
