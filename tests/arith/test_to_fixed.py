"""hw.arith.to_fixed: twin against exact fractions, hardware against the twin."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from arith.vectors import check_stream, words
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import long_but

from hw.arith.fixed import SQ, UQ
from hw.arith.to_fixed import ToFixed, ToFixedConfig
from sim.model.arith.to_fixed import to_fixed

TARGETS = [UQ(8, 16), UQ(16, 16), UQ(1, 0), UQ(0, 8), UQ(24, 0), UQ(19, 19)]
#: One as others are, the narrowest and the widest.
QUICK = [UQ(8, 16), UQ(1, 0), UQ(19, 19)]


@pytest.mark.parametrize(
    "values, rule",
    [
        (dict(target=SQ(8, 8)), r"target must be a UQ format .*, not SQ\(8, 8\)"),
        (dict(target=UQ(20, 19)), r"target must be a UQ format .*, not UQ\(20, 19\)"),
        (dict(exponent_width=1), "exponent_width must be an integer in 2..16, not 1"),
        (dict(tag_width=-1), "tag_width must be an integer in 0..4096, not -1"),
    ],
)
def test_config_rejects(values, rule):
    with pytest.raises(ValueError, match=rule):
        ToFixedConfig(**(dict(target=UQ(8, 8)) | values))


@settings(deadline=None)  # the first call compiles the twin
@given(
    st.sampled_from(TARGETS),
    st.integers(1 << 24, (2 << 24) - 1) | st.sampled_from([1 << 24, (2 << 24) - 1]),
    st.integers(-128, 127) | st.integers(-24, 24),
)
def test_twin_is_exact(target, mantissa, exponent):
    value = Fraction(mantissa, 1 << 24) * Fraction(2) ** (exponent + target.fraction)
    exact = floor(value + Fraction(1, 2))
    raw, saturated = to_fixed(np.int64(mantissa), np.int64(exponent), target)
    assert (int(raw), bool(saturated)) == (min(exact, target.high), exact > target.high)


@pytest.mark.parametrize("target", long_but(QUICK, TARGETS), ids=repr)
def test_matches_twin(simulate, tmp_path, target):
    config = ToFixedConfig(target=target, tag_width=2)
    rng = np.random.default_rng(6)
    low, high = -target.fraction - 3, target.integer + 3
    exponent = np.repeat([*range(low, high), -128, 127], 3)
    mantissa = np.tile([1 << 24, (3 << 23) + 1, (2 << 24) - 1], len(exponent) // 3)
    exponent = np.concatenate([exponent, rng.integers(low, high, 300)])
    mantissa = np.concatenate([mantissa, rng.integers(1 << 24, 2 << 24, 300)])
    tag = rng.integers(0, 4, len(mantissa))
    value, saturated = to_fixed(mantissa, exponent, target)
    check_stream(
        simulate,
        tmp_path,
        ToFixed(config),
        words(config.i_layout, mantissa=mantissa, exponent=exponent, tag=tag),
        words(config.o_layout, value=value, saturated=saturated, tag=tag),
    )
    assert ToFixed.LATENCY == 2
