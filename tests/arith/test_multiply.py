"""hw.arith.multiply and its twin against Python's integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import later

from hw.arith.arithmetic import Arithmetic
from hw.arith.estimate import dot
from hw.arith.multiply import Multiply, ecp5_product
from sim.model.arith.multiply import multiply

WORD = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    "a_width, b_width, rule",
    [
        (0, 8, "a_width must be an integer in 1..256, not 0"),
        (8, 257, "b_width must be an integer in 1..256, not 257"),
        (8, 2.0, "b_width must be an integer in 1..256, not 2.0"),
    ],
)
def test_widths_rejected(a_width, b_width, rule):
    with pytest.raises(ValueError, match=rule):
        Multiply.latency_of(a_width, b_width)  # the constructor begins with it


@pytest.mark.parametrize(
    "a_width, b_width, latency, dsp",
    [
        (1, 1, 1, 1),
        (26, 17, 1, 1),
        (27, 17, 2, 2),
        (26, 18, 2, 2),
        later(48, 32, 2, 4),
        later(52, 34, 2, 4),
        (53, 34, 3, 6),
        later(64, 64, 3, 12),
        (78, 68, 3, 12),
    ],
)
def test_exact_after_latency(simulate, a_width, b_width, latency, dsp):
    unit = Multiply(a_width, b_width)
    assert unit.latency == latency
    assert Multiply.estimate(a_width, b_width).dsp == dsp
    simulate(
        unit, "arith.multiply_bench", a_width=a_width, b_width=b_width, latency=latency, seed=1
    )


@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=20))
def test_twin_is_exact(pairs):
    high, low = multiply(*np.array(pairs, dtype=np.uint64).T)
    for (a, b), h, lo in zip(pairs, high, low, strict=True):
        assert int(h) << 64 | int(lo) == a * b


def test_twin_corners():
    top = 2**64 - 1
    high, low = multiply([top, top, 0, 1 << 32], [top, 1, top, 1 << 32])
    assert high.tolist() == [top - 1, 0, 0, 1] and low.tolist() == [1, top, 0, 0]


#: Widths -> LUT, FF and MULT18X18D on an ECP5, as yosys mapped the unit.
ECP5 = {
    (48, 44): (408, 452, 12),
    (31, 32): (196, 189, 6),
    (24, 24): (70, 120, 4),
    (20, 18): (62, 95, 2),
    (18, 18): (38, 89, 1),
    (9, 9): (0, 18, 1),
    (26, 17): (26, 43, 2),
    (40, 16): (54, 128, 3),
    (64, 31): (368, 440, 10),
}


@pytest.mark.parametrize("widths", ECP5)
def test_area_on_an_ecp5_as_yosys_mapped_it(widths):
    """Taken down once. A product of one bit has a bit that is always 0."""
    lut, ff, dsp = ECP5[widths]
    found = Multiply.estimate(*widths).ecp5
    assert (found[0], found[2:]) == (lut, (0, 0, dsp))
    assert ff <= found[1] <= ff + 1


#: Widths of signed operands -> LUT and MULT18X18D on an ECP5, as yosys mapped the product.
SIGNED_ECP5 = {
    (18, 18): (0, 1),
    (18, 12): (0, 1),
    (19, 18): (58, 1),
    (24, 18): (24, 2),
    (27, 18): (28, 2),
    (18, 27): (28, 2),
    (36, 18): (36, 2),
    (27, 25): (76, 4),
}


@pytest.mark.parametrize("widths", SIGNED_ECP5)
def test_signed_products_on_an_ecp5_as_yosys_mapped_them(widths):
    """Taken down once."""
    assert ecp5_product(*widths, signed=True) == SIGNED_ECP5[widths]


#: Products, kinds, bits of a first summand -> LUT, FF, MULT18X18D on an ECP5 of a dot product in
#: fixed point, as yosys mapped it.
DOTS_ECP5 = {
    (1, ("weight", "activation"), 0): (28, 135, 2),
    (2, ("weight", "activation"), 0): (102, 271, 4),
    (4, ("weight", "activation"), 0): (254, 545, 8),
    (2, ("gradient", "activation"), 0): (38, 217, 2),
    (3, ("gradient", "activation"), 0): (76, 327, 3),
    (1, ("gradient", "activation"), 48): (48, 168, 1),
    (2, ("weight", "activation"), 48): (152, 324, 4),
}


@pytest.mark.parametrize("case", DOTS_ECP5)
def test_dot_products_on_an_ecp5_as_yosys_mapped_them(case):
    """Taken down once. On UltraScale+ all of it is within the DSP blocks."""
    (count, kinds, begins), (lut, ff, dsp) = case, DOTS_ECP5[case]
    found = dot(Arithmetic(kind="fixed"), count, *kinds, begins=begins)
    assert (found.lut, found.ff, found.dsp) == (0, 0, count)
    assert found.ecp5[0] == pytest.approx(lut, abs=2) and found.ecp5[4] == dsp
    assert found.ecp5[1] == pytest.approx(ff, abs=2)
