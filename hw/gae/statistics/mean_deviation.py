"""Mean and deviation from exact sums, correctly rounded, a bit a clock and without a DSP block.

Clocks from ``start`` to ``done``: LATENCY, whatever the numbers.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import PRECISION, WIDTH
from hw.gae.layouts import EXPONENT, NUMBER_WIDTH
from hw.gae.statistics.quotient import Quotient

__all__ = ["COUNT_WIDTH", "SQUARES_WIDTH", "SUM_WIDTH", "SUMS", "MeanDeviation"]

#: Fewer than 2**32 numbers of ``NUMBER_WIDTH`` bits, signed.
COUNT_WIDTH = 32
SUM_WIDTH = NUMBER_WIDTH + COUNT_WIDTH
SQUARES_WIDTH = 2 * (NUMBER_WIDTH - 1) + COUNT_WIDTH
SUMS = data.StructLayout({"count": COUNT_WIDTH, "sum": signed(SUM_WIDTH), "squares": SQUARES_WIDTH})

# count * squares and sum**2 are at most 2**116.
_DIFFERENCE = signed(2 * SUM_WIDTH)
# A quotient other than 0 is above 2**-COUNT_WIDTH: so many bits behind the point hold its first
# PRECISION + 1.
_FRACTION = COUNT_WIDTH + PRECISION
_DIGITS = SUM_WIDTH + _FRACTION


class MeanDeviation(wiring.Component):
    """``mean = sum / count * 2**-exponent``,
    ``deviation = sqrt(count * squares - sum**2) / count * 2**-exponent``.

    Both are the exact value rounded to nearest even. A count of 0 gives mean 0 and deviation 0.
    Sums with ``count * squares < sum**2``, which no numbers have, give the deviation 0. Source:
    HEPPO, equations 6 to 9, applied to all numbers at once.

    ``count * squares - sum**2`` is computed from the highest bits of ``count`` and ``|sum|`` down.
    The bits of its root go straight to their division, and the mean's division runs beside it.

    Members
    -------
    start : In(1)
        Pulse: begin.
    sums : In(SUMS), exponent : In(EXPONENT)
        count, sum and squares of the formulas, and exponent; steady from ``start`` to ``done``.
    done : Out(1)
        Pulse: the members below are valid until the next start.
    mean, deviation : Out(32)
        binary32.
    """

    #: Difference, digits, and the stages behind each: addend; root, quotient, rounding.
    LATENCY = (SUM_WIDTH + 1) + (_DIGITS + 3) + 1

    start: In(1)
    sums: In(SUMS)
    exponent: In(EXPONENT)
    done: Out(1)
    mean: Out(WIDTH)
    deviation: Out(WIDTH)

    def elaborate(self, platform):
        m = Module()
        timer = Signal(range(_DIGITS + 3), reset_less=True)
        multiply, extract, extracted = Signal(), Signal(), Signal()
        negative = Signal()
        magnitude = Signal(SUM_WIDTH)
        sums = self.sums
        m.d.comb += [
            negative.eq(sums.sum < 0),
            magnitude.eq(Mux(negative, -sums.sum, sums.sum)[:SUM_WIDTH]),
        ]

        # The multipliers move up; the highest bit decides about the addend.
        count = Signal(SUM_WIDTH, reset_less=True)
        sum_ = Signal(SUM_WIDTH, reset_less=True)
        s1_addend = Signal(signed(SQUARES_WIDTH + 2), reset_less=True)
        s1_multiply = Signal()
        difference = Signal(_DIFFERENCE, reset_less=True)
        positive, negated = Mux(count[-1], sums.squares, 0), Mux(sum_[-1], magnitude, 0)
        m.d.sync += [
            s1_multiply.eq(multiply),
            s1_addend.eq(positive - negated),
            count.eq(count << 1),
            sum_.eq(sum_ << 1),
        ]
        with m.If(s1_multiply):
            m.d.sync += difference.eq((difference << 1) + s1_addend)

        # Restoring square root, two bits of the radicand and one of the root a clock.
        radicand = Signal(2 * SUM_WIDTH, reset_less=True)
        root = Signal(_DIGITS, reset_less=True)
        remainder = Signal(_DIGITS + 1, reset_less=True)
        partial, rest = Signal(_DIGITS + 3), Signal(signed(_DIGITS + 4))
        one, s1_one = Signal(), Signal(reset_less=True)
        sum_digits = Signal(SUM_WIDTH, reset_less=True)
        s1_sum_digit = Signal(reset_less=True)
        m.d.comb += [
            partial.eq(Cat(radicand[-2:], remainder)),
            rest.eq(partial - Cat(C(1, 2), root)),
            one.eq(rest >= 0),
        ]
        m.d.sync += [s1_one.eq(one), s1_sum_digit.eq(sum_digits[-1]), extracted.eq(extract)]
        with m.If(extract):
            m.d.sync += [
                radicand.eq(radicand << 2),
                root.eq(Cat(one, root)),
                remainder.eq(Mux(one, rest, partial)[: len(remainder)]),
                sum_digits.eq(sum_digits << 1),
            ]

        begin = Signal()
        for name, digit, sign, inexact, result in (
            ("mean", s1_sum_digit, negative, 0, self.mean),
            ("deviation", s1_one, 0, remainder != 0, self.deviation),
        ):
            m.submodules[name] = unit = Quotient(COUNT_WIDTH, SUM_WIDTH)
            m.d.comb += [
                unit.start.eq(begin),
                unit.step.eq(extracted),
                unit.bit.eq(digit),
                unit.inexact.eq(inexact),
                unit.negative.eq(sign),
                unit.divisor.eq(sums.count),
                unit.exponent.eq(self.exponent),
                result.eq(unit.result),
            ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [
                    timer.eq(SUM_WIDTH),
                    count.eq(sums.count),
                    sum_.eq(magnitude),
                    difference.eq(0),
                ]
                with m.If(self.start):
                    m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                m.d.sync += timer.eq(timer - 1)
                m.d.comb += multiply.eq(timer != 0)
                with m.If(timer == 0):
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.comb += begin.eq(1)
                m.d.sync += [
                    timer.eq(_DIGITS + 2),
                    radicand.eq(Mux(difference < 0, 0, difference)[: len(radicand)]),
                    root.eq(0),
                    remainder.eq(0),
                    sum_digits.eq(magnitude),
                ]
                m.next = "DIGITS"
            with m.State("DIGITS"):
                m.d.sync += timer.eq(timer - 1)
                m.d.comb += extract.eq(timer > 2)
                with m.If(timer == 0):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
        return m
