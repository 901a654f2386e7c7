"""boards.ulx3s.pll: the divisors of a clock, and the output that makes it."""

import re
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import boards
from boards.bitstream import files
from boards.ulx3s.pll import Divisors, divide
from tests.boards.vendor import described, small

BOARD = boards.get("ulx3s")


@pytest.mark.parametrize(
    "mhz, divisors",
    [
        (40, (5, 8, 15)),
        (45, (5, 9, 13)),
        (50, (1, 2, 12)),
        (60, (5, 12, 10)),
        (70, (5, 14, 9)),
        (80, (5, 16, 8)),
    ],
)
def test_divisors(mhz, divisors):
    """Those of Project Trellis' ecppll, whose VCO for 80 MHz is at 560 MHz rather than 640."""
    reference, feedback, output = divisors
    expected = Divisors(reference=reference, feedback=feedback, output=output)
    assert divide(25_000_000, mhz * 1_000_000) == expected


@pytest.mark.parametrize(
    "mhz, divisors", [(42, (5, 1, 126, 15)), (48, (5, 1, 96, 10)), (51, (5, 1, 102, 10))]
)
def test_divisors_of_a_second_output(mhz, divisors):
    """Clocks that are no multiple of what the phase detector sees: 42 MHz are 630 / 15."""
    names = ("reference", "feedback", "output", "second")
    assert divide(25_000_000, mhz * 10**6) == Divisors(**dict(zip(names, divisors, strict=True)))


@given(st.integers(4, 400))
def test_divisors_make_their_clock_within_the_limits_of_the_part(mhz):
    """Tables 3.18 and 19-1 of the data sheet FPGA-DS-02012: phase detector, VCO, dividers."""
    try:
        found = divide(25_000_000, mhz * 10**6)
    except ValueError:
        assume(False)
    fed_back = Fraction(25_000_000 * found.feedback, found.reference)
    vco = fed_back * found.output
    assert mhz * 10**6 == (fed_back if found.second is None else vco / found.second)
    assert 3_125_000 <= Fraction(25_000_000, found.reference) and 400 <= vco / 10**6 <= 800
    assert max(found.reference, found.output, found.second or 1) <= 128 and found.feedback <= 80


def test_a_feedback_divisor_is_at_most_80():
    """Where one of 97 would make the clock with CLKOP alone."""
    assert divide(25_000_000, 303_125_000).feedback <= 80


def _number(text):
    """An integer of RTLIL, such as 5 or 32'101."""
    return int(text.partition("'")[2], 2) if "'" in text else int(text)


@pytest.mark.parametrize("mhz, output", [(60, "CLKOP"), (42, "CLKOS")])
def test_the_system_is_clocked_by_the_output_that_makes_its_clock(mhz, output):
    description = described("gae", "ulx3s", **small("gae"))
    netlist = files(description, BOARD.at(mhz))["ulx3s.il"]
    pll = re.search(r"cell \\EHXPLLL .*?\n  end\n", netlist, re.S)[0]
    wires = dict(re.findall(r"connect \\(\w+) (\S+)", pll))
    # Half of the divisor of CLKOP, as ecppll has it: 10 for 60 MHz, 126 for 42.
    phases = dict(re.findall(r"parameter \\(CLKO\w_CPHASE) (?:signed )?(\S+)", pll))
    half = {"CLKOP": "5", "CLKOS": "63"}[output]
    assert {_number(each) for each in phases.values()} == {int(half)}
    assert wires["CLKFB"] == wires["CLKOP"] and ("CLKOS" in wires) == (output == "CLKOS")
    system = re.search(r"cell \\system .*?\n  end\n", netlist, re.S)[0]
    source = {wires[output]}
    for left, right in re.findall(r"^  connect (\S+) (\S+)$", netlist, re.M):
        source |= {left} if right in source else set()
    assert re.search(r"connect \\clk (\S+)", system)[1] in source


@pytest.mark.parametrize("hz", [3_000_000, 60_000_001, 900_000_000])
def test_what_the_pll_cannot_make(hz):
    with pytest.raises(ValueError, match=f"target_hz must be 25000000 times .*, not {hz}"):
        divide(25_000_000, hz)
