"""hw.arith.quantize: twin against exact fractions, hardware against the twin."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from arith.float32_cases import CORNERS, bits, floats, random_operands
from arith.vectors import check_stream, words
from hypothesis import given
from hypothesis import strategies as st
from marks import long_but

from hw.arith.fixed import SQ, UQ
from hw.arith.quantize import Quantize, QuantizeConfig
from sim.model.arith.quantize import quantize

TARGETS = [SQ(8, 10), SQ(4, 14), SQ(4, 23), SQ(1, 0), SQ(2, 30), SQ(1, 17), SQ(32, 0)]
#: One as others are, the narrowest, and the widest of either kind.
QUICK = [SQ(8, 10), SQ(1, 0), SQ(2, 30), SQ(32, 0)]


@pytest.mark.parametrize(
    "values, rule",
    [
        (dict(target=UQ(8, 8)), r"target must be an SQ format .*, not UQ\(8, 8\)"),
        (dict(target=SQ(17, 16)), r"target must be an SQ format of at most 32 bits, not SQ\(17"),
        (dict(tag_width=-1), "tag_width must be an integer in 0..4096, not -1"),
    ],
)
def test_config_rejects(values, rule):
    with pytest.raises(ValueError, match=rule):
        QuantizeConfig(**(dict(target=SQ(8, 8)) | values))


def near_ties(target, rng, rows):
    """Numbers half a unit from a raw value, the neighbours of those, and of the limits."""
    raw = rng.integers(target.low, target.high + 1, rows) >> rng.integers(0, target.width, rows)
    ends = [target.low, target.high, target.low - 1, target.high + 1, 0, -1, 1]
    raw = np.concatenate([raw, ends])
    exact = np.concatenate([raw, raw + 0.5, raw - 0.5]) * 2.0**-target.fraction
    x = bits(exact.astype(np.float32))
    return np.concatenate([x, x + np.uint32(1), np.where(x & 0x7FFFFFFF, x - np.uint32(1), x)])


@given(st.sampled_from(TARGETS), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_twin_is_exact(target, word, seed):
    ties = near_ties(target, np.random.default_rng(seed), 3)
    x = floats([word, *ties])
    raw, saturated = quantize(x, target)
    for value, got, clipped in zip(x, raw, saturated, strict=True):
        if np.isfinite(value):
            exact = floor(Fraction(float(value)) * 2**target.fraction + Fraction(1, 2))
            inside = min(max(exact, target.low), target.high)
        else:
            exact, inside = None, 0
            if not np.isnan(value):
                inside = target.high if value > 0 else target.low
        assert (int(got), bool(clipped)) == (inside, inside != exact), value


@pytest.mark.parametrize("target", long_but(QUICK, TARGETS), ids=repr)
def test_matches_twin(simulate, tmp_path, target):
    config = QuantizeConfig(target=target, tag_width=2)
    unit = Quantize(config)
    rng = np.random.default_rng(8)
    x = np.concatenate([CORNERS, near_ties(target, rng, 40), random_operands(1, 200, seed=9)[0]])
    tag = rng.integers(0, 4, len(x))
    value, saturated = quantize(floats(x), target)
    check_stream(
        simulate,
        tmp_path,
        unit,
        words(unit.i_layout, x=x, tag=tag),
        words(unit.o_layout, value=value, saturated=saturated, tag=tag),
    )
    assert Quantize.LATENCY == 3
