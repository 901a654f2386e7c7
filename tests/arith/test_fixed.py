"""hw.arith.fixed: formats and twin against exact fractions, hardware against the twin."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from arith.vectors import check_stream
from hypothesis import given
from hypothesis import strategies as st

from hw.arith.fixed import SQ, UQ, FixedFormat, Requantize, RequantizeConfig
from sim.model.arith.fixed import requantize, saturation_count


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
        (
            lambda: RequantizeConfig(source=SQ(8, 8), target=16),
            "target must be an SQ or UQ format, not 16",
        ),
        (
            lambda: RequantizeConfig(source=SQ(8, 8), target=UQ(4, 4), count_width=0),
            "count_width must be an integer in 1..64, not 0",
        ),
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
    config = RequantizeConfig(source=SQ(8, 8), target=UQ(4, 2))
    assert RequantizeConfig.from_json(config.to_json()) == config
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
    config = RequantizeConfig(source=source, target=target)
    raws = data.draw(st.lists(st.integers(source.low, source.high), min_size=1, max_size=8))
    raws += [source.low, source.high]
    scale = Fraction(2) ** (target.fraction - source.fraction)
    got = zip(*(array.tolist() for array in requantize(raws, config)), strict=True)
    assert list(got) == [clip(raw * scale, target) for raw in raws]


@pytest.mark.parametrize(
    "source, target, count_width",
    [
        (SQ(24, 16), SQ(8, 8), 32),
        (SQ(24, 16), SQ(8, 8), 4),  # the counter reaches its maximum, and stays
        (UQ(8, 4), SQ(2, 8), 32),
        (SQ(8, 4), UQ(8, 4), 32),
        (SQ(2, 0), SQ(20, 12), 32),
        (UQ(20, 20), UQ(1, 0), 32),
    ],
    ids=repr,
)
def test_matches_twin(simulate, tmp_path, source, target, count_width):
    config = RequantizeConfig(source=source, target=target, count_width=count_width)
    rng = np.random.default_rng(1)
    step = Fraction(2) ** config.right_shift
    edges = [floor(edge * step) + near for edge in (target.low, -1, 0, 1, target.high)
             for near in range(-2, 3)]  # fmt: skip
    edges += [floor((target.high + Fraction(1, 2)) * step) + near for near in range(-1, 2)]
    corners = [raw for raw in [*edges, source.low, source.high] if source.low <= raw <= source.high]
    raw = np.concatenate([corners, rng.integers(source.low, source.high, 200, endpoint=True)])
    value, saturated = requantize(raw, config)
    mask = (1 << target.width) - 1
    check_stream(
        simulate,
        tmp_path,
        Requantize(config),
        [int(x) & ((1 << source.width) - 1) for x in raw],
        [(int(x) & mask, int(s)) for x, s in zip(value, saturated, strict=True)],
        also=["saturated"],
        final={"saturations": saturation_count(saturated, config)},
    )
    assert Requantize.estimate(config).latency == Requantize.LATENCY
