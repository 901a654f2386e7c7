"""hw.arith.fixed: formats and twin against exact fractions; hardware: ``test_arithmetic``."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw.arith.fixed import SQ, UQ, FixedFormat
from sim.model.arith.fixed import requantize


def clip(value, form):
    """``value`` (a Fraction, in units of the resolution) rounded half up, and whether clipped."""
    rounded = floor(value + Fraction(1, 2))
    raw = min(max(rounded, form.low), form.high)
    return raw, raw != rounded


@st.composite
def formats(draw):
    sign = draw(st.booleans())
    width = draw(st.integers(1, 64 if sign else 63))
    fraction = draw(st.integers(0, width - sign))
    return (SQ if sign else UQ)(width - fraction, fraction)


@pytest.mark.parametrize(
    "make, rule",
    [
        (lambda: SQ(0, 8), "integer must be an integer in 1..64, not 0"),
        (lambda: UQ(-1, 8), "integer must be an integer in 0..64, not -1"),
        (lambda: UQ(1, 65), "fraction must be an integer in 0..64, not 65"),
        (lambda: UQ(0, 0), "width must be in 1..63 .*, not 0"),
        (lambda: UQ(32, 32), "width must be in 1..63 .*, not 64"),
        (lambda: SQ(33, 32), "width must be in 1..64 .*, not 65"),
    ],
)
def test_config_rejects(make, rule):
    with pytest.raises(ValueError, match=rule):
        make()


def test_format_facts():
    form = SQ(8, 8)
    assert (form.width, form.low, form.high, form.resolution) == (16, -(2**15), 2**15 - 1, 2**-8)
    assert form.shape.signed and form.shape.width == 16 and repr(form) == "SQ(8, 8)"
    form = UQ(0, 20)
    assert (form.width, form.low, form.high) == (20, 0, 2**20 - 1) and not form.shape.signed
    assert FixedFormat.from_dict(form.to_dict()) == form


@given(formats(), st.lists(st.floats(allow_nan=False), min_size=1, max_size=8))
def test_quantize_is_exact(form, values):
    raw, saturated = form.quantize(values)
    assert raw.dtype == np.int64 and saturated.dtype == bool
    for value, *got in zip(values, raw.tolist(), saturated.tolist(), strict=True):
        value = max(min(value, 1e300), -1e300)  # an infinity has no fraction, and saturates alike
        assert tuple(got) == clip(Fraction(value) * 2**form.fraction, form)


def test_quantize_corners():
    values = [0.5, 0.49999999999999994, -0.5, -0.50000001, 1.5, -1.5, 127.5, 127.49, -128.5, -129]
    raw, saturated = SQ(8, 0).quantize(values)
    assert raw.tolist() == [1, 0, 0, -1, 2, -1, 127, 127, -128, -128]
    assert saturated.tolist() == [False] * 6 + [True, False, False, True]
    assert SQ(64, 0).quantize([2.0**63, -(2.0**63)])[1].tolist() == [True, False]
    assert UQ(8, 8).quantize(np.inf) == (2**16 - 1, True)
    assert SQ(8, 8).quantize(-np.inf) == (-(2**15), True)
    assert SQ(4, 4).to_float(SQ(4, 4).quantize([[-1.25, 3]])[0]).tolist() == [[-1.25, 3]]


@pytest.mark.parametrize(
    "x, rule",
    [
        (np.nan, "x must be a number, not nan"),
        ([1, np.nan, np.nan], r"x\[1\] must be a number, not nan"),
        ([[1, 2], [3, np.nan]], r"x\[1, 1\] must be a number, not nan"),
    ],
)
def test_quantize_names_nan(x, rule):
    with pytest.raises(ValueError, match=rule):
        SQ(8, 8).quantize(x)


@given(formats(), formats(), st.data())
def test_twin_is_exact(source, target, data):
    raws = data.draw(st.lists(st.integers(source.low, source.high), min_size=1, max_size=8))
    raws += [source.low, source.high]
    scale = Fraction(2) ** (target.fraction - source.fraction)
    got = zip(*(array.tolist() for array in requantize(raws, source.fraction, target)), strict=True)
    assert list(got) == [clip(raw * scale, target) for raw in raws]
