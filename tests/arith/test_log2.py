"""hw.arith.log2: table and twin against NumPy's and Python's logarithm, hardware against twin."""

import math

import numpy as np
import pytest
from arith.vectors import check_stream, words
from hypothesis import given, settings
from hypothesis import strategies as st
from later import later

from hw.arith.interpolate import Table
from hw.arith.log2 import Log2, Log2Config, log2_table
from sim.model.arith.log2 import log2

CONFIG = Log2Config()
UNIT = 2.0**-20
BOUND = 2.0**-18


@pytest.mark.parametrize(
    "config, values, rule",
    [
        (Log2Config, dict(width=65), "width must be an integer in 1..64, not 65"),
        (Log2Config, dict(width=0), "width must be an integer in 1..64, not 0"),
        (Log2Config, dict(tag_width=-1), "tag_width must be an integer in 0..4096, not -1"),
        (Table, dict(points=(1, 2, 3, 4)), r"points must be 2\*\*n \+ 1 values, n >= 1, not 4"),
        (Table, dict(points=(3, 2, 1)), r"points must be rising from 0 or more, not \(3, 2, 1\)"),
        (Table, dict(remainder_width=18), "remainder_width must be an integer in 1..17, not 18"),
        (Table, dict(drop=0), "drop must be an integer in 1..48, not 0"),
    ],
)
def test_config_rejects(config, values, rule):
    good = dict(points=(0, 1, 2), remainder_width=4, drop=4) if config is Table else {}
    with pytest.raises(ValueError, match=rule):
        config(**(good | values))


def test_table_is_the_logarithm():
    points = np.array(log2_table().points)
    assert len(points) == 257 and points[0] == 0 and points[-1] == 2**24
    assert abs(points - np.log2(1 + np.arange(257) / 256) * 2**24).max() < 0.5 + 1e-6


def test_error_of_every_mantissa():
    """All 2^24 mantissas that the unit tells apart: bound, and never falling."""
    last = -1
    for start in range(1 << 24, 1 << 25, 1 << 20):
        x = np.arange(start, start + (1 << 20), dtype=np.uint64)
        got, zero = log2(x, CONFIG)
        assert not zero.any() and got[0] >= last and (np.diff(got) >= 0).all()
        assert abs(got * UNIT - np.log2(x.astype(np.float64))).max() <= BOUND
        last = got[-1]


def test_small_operands_and_powers_of_two():
    got, zero = log2(np.arange(1 << 16), CONFIG)
    assert zero.tolist()[:2] == [True, False] and not zero[1:].any() and got[0] == 0
    assert abs(got[1:] * UNIT - np.log2(np.arange(1, 1 << 16))).max() <= BOUND
    got, _ = log2([1 << k for k in range(64)], CONFIG)
    assert got.tolist() == [k << 20 for k in range(64)]


@settings(deadline=None)  # the first call compiles the twin
@given(st.integers(1, 2**64 - 1) | st.integers(0, 63).map(lambda k: (2 << k) - 1))
def test_error_at_any_width(x):
    got, zero = log2(x, CONFIG)
    assert not zero and 0 <= got < 64 << 20
    assert abs(got * UNIT - math.log2(x)) <= BOUND


@pytest.mark.parametrize(
    "width, tag_width", [(1, 0), later(2, 3), later(5, 1), (24, 0), later(33, 3), (64, 8)]
)
def test_matches_twin(simulate, tmp_path, width, tag_width):
    config = Log2Config(width=width, tag_width=tag_width)
    rng = np.random.default_rng(2)
    corners = [(1 << k) + near for k in range(width) for near in (-1, 0)] + [(1 << width) - 1]
    x = rng.integers(0, (1 << width) - 1, 300, dtype=np.uint64, endpoint=True)
    x >>= rng.integers(0, width, 300, dtype=np.uint64)
    x = np.concatenate([np.array(corners, dtype=np.uint64), x])
    tag = rng.integers(0, 1 << tag_width, len(x))
    value, zero = log2(x, config)
    check_stream(
        simulate,
        tmp_path,
        Log2(config),
        words(config.i_layout, x=x, tag=tag),
        words(config.o_layout, log2=value, zero=zero, tag=tag),
    )
    assert Log2.LATENCY == 5
