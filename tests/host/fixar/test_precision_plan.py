"""host.fixar.precision_plan: the smallest shift that holds a range, and the paper's Q_n."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.fixar.precision_plan import ACTIVATION, ERROR, GRADIENT, WEIGHT, shift_of, shifts
from hw.arith.fixed import SQ
from hw.fixar.precision import code_limits


def codes(raw, shift, signed):
    """In the words of the module, by Python's integers and fractions."""
    least, most = code_limits(signed)
    return [min(max(math.floor(x / 2**shift + 0.5), least), most) for x in raw]


def test_formats():
    assert (ACTIVATION.low, ACTIVATION.high) == (-(2**31), 2**31 - 1)
    assert (ERROR.low, ERROR.high) == (-(2**26), 2**26 - 1)
    assert WEIGHT == SQ(4, 28) and code_limits(True) == (-32768, 32767)
    assert code_limits(False) == (0, 65535)
    assert (GRADIENT.width, GRADIENT.fraction) == (48, 31)


@pytest.mark.parametrize(
    "low, high, signed, shift",
    [
        (0, 0, True, 0), (-1, 1, True, 0), (-32768, 32767, True, 0), (0, 32768, True, 1),
        (-32769, 0, True, 1), (-65536, 65534, True, 1), (-65537, 0, True, 1), (0, 65535, True, 2),
        (-65538, 0, True, 2),  # -65537 / 2 rounds up to -32768
        (0, 65535, False, 0), (0, 65536, False, 1), (0, 131070, False, 1), (0, 131071, False, 2),
        (ACTIVATION.low, 0, True, 16), (0, ACTIVATION.high, True, 16),
        (0, ACTIVATION.high, False, 16), (0, ACTIVATION.high - 2**14, False, 15),
    ],
)  # fmt: skip
def test_corners(low, high, signed, shift):
    assert shift_of(low, high, ACTIVATION.width, signed=signed) == shift


def test_errors_have_eleven_at_most():
    assert shift_of(ERROR.low, ERROR.high, ERROR.width) == 11
    assert shift_of(-(1 << 25), 0, ERROR.width) == 10


RAW = st.integers(ACTIVATION.low, ACTIVATION.high)


@given(st.lists(RAW, min_size=1, max_size=6), st.booleans())
def test_the_smallest_that_holds_the_range(raw, signed):
    raw = raw if signed else list(map(abs, raw))
    shift = shift_of(min(raw), max(raw), ACTIVATION.width, signed=signed)
    bounds = code_limits(signed)

    def holds(by):
        return all(bounds[0] <= math.floor(x / 2**by + 0.5) <= bounds[1] for x in raw)

    assert holds(shift) or shift == 16
    assert shift == 0 or not holds(shift - 1)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("largest", [70_000, 1 << 20, (1 << 24) - 3, (1 << 30) - (1 << 16)])
def test_half_a_step_off_and_no_step_of_twice_the_papers(signed, largest):
    """``Q_n(A) = floor(A / delta) + z``, ``delta = (|Amin| + |Amax|) / 2^n``: its numbers are off
    by up to delta; ours by half a step, which is less than twice delta (but for the code that the
    paper's range has more: it overflows at Amax)."""
    rng = np.random.default_rng(largest)
    low, high = (-largest if signed else 0), largest
    raw = np.concatenate([[low, high], rng.integers(low, high, 5000, endpoint=True)])
    shift = shift_of(low, high, ACTIVATION.width, signed=signed)
    delta = (abs(low) + abs(high)) / 2**16
    zero = math.floor(-low / delta)
    papers = (np.floor(raw / delta) + zero - zero) * delta
    ours = np.array(codes(raw.tolist(), shift, signed)) * 2.0**shift
    assert 2**shift < 2 * delta * 65536 / 65535 + 1e-9
    assert abs(ours - raw).max() <= 2**shift / 2
    assert delta / 2 < abs(papers - raw).max() <= delta * 1.0001
    assert abs(ours - papers).max() <= 2**shift / 2 + delta * 1.0001


def test_all_layers():
    ranges = {
        "critic": {
            "activation": [(-40_000, 3), (0, 65_535), (0, 65_536)],
            "error": [(-5, 5), (0, 32_768), (-(1 << 26), 0)],
        },
        "actor": {"activation": [(-2, 70_000), (0, 9)], "error": [(0, 0), (-70_000, 70_000)]},
    }
    assert shifts(ranges) == {
        "critic": {"activation": [2, 0, 1], "error": [0, 1, 11]},
        "actor": {"activation": [2, 0], "error": [0, 2]},
    }
