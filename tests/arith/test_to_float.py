"""hw.arith.to_float: twin against exact fractions, hardware against the twin."""

from fractions import Fraction

import numpy as np
import pytest
from arith.float32_cases import bits
from arith.vectors import check_stream, words
from hypothesis import given
from hypothesis import strategies as st
from marks import long_but

from hw.arith.fixed import SQ, UQ
from hw.arith.to_float import ToFloat, ToFloatConfig
from sim.model.arith.to_float import to_float

SOURCES = [SQ(8, 10), SQ(24, 24), SQ(1, 17), SQ(1, 0), UQ(1, 17), SQ(13, 14), SQ(1, 63), SQ(64, 0)]
#: One as others are, the narrowest, one without a sign, and the widest of either kind.
QUICK = [SQ(8, 10), SQ(1, 0), UQ(1, 17), SQ(1, 63), SQ(64, 0)]


@pytest.mark.parametrize(
    "values, rule",
    [
        (dict(source=8), "source must be an SQ or UQ format, not 8"),
        (dict(tag_width=-1), "tag_width must be an integer in 0..4096, not -1"),
    ],
)
def test_config_rejects(values, rule):
    with pytest.raises(ValueError, match=rule):
        ToFloatConfig(**(dict(source=SQ(8, 8)) | values))


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 62), st.integers(0, 64))
def test_twin_is_nearest_even(raw, less, fraction):
    raw >>= less
    got = to_float(np.array([raw]), fraction)[0]
    exact = Fraction(raw, 1 << fraction)
    error = abs(Fraction(float(got)) - exact)
    for other in (np.nextafter(got, np.float32(-np.inf)), np.nextafter(got, np.float32(np.inf))):
        distance = abs(Fraction(float(other)) - exact)
        assert error < distance or (error == distance and not bits([got])[0] & 1)
    assert raw or bits([got])[0] == 0


def cases(source, rng, rows):
    """Raw values of every length, ties of rounding and their neighbours, and the limits."""
    width = source.width - source.signed
    length = rng.integers(0, width + 1, rows)
    raw = np.array([int(rng.integers(0, 2**63)) >> (63 - int(n)) for n in length])
    ties = [
        (((1 << 23) + int(rng.integers(0, 1 << 23))) * 2 + 1 << n >> 1) + off
        for n in range(1, max(1, width - 23))
        for off in (-1, 0, 1)
    ]
    raw = np.concatenate([raw, np.array(ties, dtype=np.int64)])
    if source.signed:
        raw = np.concatenate([raw, -raw])
    raw = np.concatenate([raw, [source.low, source.high, source.high - 1, 0]])
    return np.clip(raw, source.low, source.high)


@pytest.mark.parametrize("source", long_but(QUICK, SOURCES), ids=repr)
def test_matches_twin(simulate, tmp_path, source):
    config = ToFloatConfig(source=source, tag_width=2)
    rng = np.random.default_rng(6)
    raw = cases(source, rng, 150)
    tag = rng.integers(0, 4, len(raw))
    check_stream(
        simulate,
        tmp_path,
        ToFloat(config),
        words(config.i_layout, raw=raw, tag=tag),
        words(config.o_layout, result=bits(to_float(raw, source.fraction)), tag=tag),
    )
    assert ToFloat.LATENCY == 4
