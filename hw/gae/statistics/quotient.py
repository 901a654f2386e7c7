"""Division of a number that comes bit by bit, to a correctly rounded binary32."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import BIAS, PRECISION, SIDE, WIDTH, rounded
from hw.gae.layouts import EXPONENT

__all__ = ["Quotient"]

_EXPONENT = signed(10)


class Quotient(wiring.Component):
    """``result = numerator / divisor * 2**-exponent``, rounded to nearest even, 0 for divisor 0;
    see ``hw.arith.float32.format`` for subnormals.

    Restoring division: the numerator's bits come from the highest on, one a clock, and each gives a
    bit of the quotient. There must be enough of them for PRECISION + 1 bits of every quotient
    except 0.

    Parameters
    ----------
    divisor_width, numerator_width : int
        Bits. The numerator's bits stand left of its binary point.

    Members
    -------
    start : In(1)
        Pulse: the first bit comes in the next clock.
    step : In(1), bit : In(1)
        ``step``: ``bit`` is the next bit of the numerator.
    inexact : In(1)
        The numerator has further bits that are not 0; read with the result.
    negative : In(1), divisor : In(divisor_width), exponent : In(EXPONENT)
        Sign of the result; divisor and exponent of the formula. Steady from ``start`` on.
    result : Out(32)
        Valid from the second clock after the last bit on.
    """

    def __init__(self, divisor_width, numerator_width):
        self.divisor_width, self.numerator_width = divisor_width, numerator_width
        super().__init__(
            {
                "start": In(1),
                "step": In(1),
                "bit": In(1),
                "inexact": In(1),
                "negative": In(1),
                "divisor": In(divisor_width),
                "exponent": In(EXPONENT),
                "result": Out(WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        remainder = Signal(self.divisor_width, reset_less=True)
        partial = Signal(self.divisor_width + 1)
        difference = Signal(signed(self.divisor_width + 2))
        one = Signal()
        m.d.comb += [
            partial.eq(Cat(self.bit, remainder)),
            difference.eq(partial - self.divisor),
            one.eq(difference >= 0),
        ]
        # The first bits that are not leading zeros, a guard at the end; the others only stick.
        quotient = Signal(PRECISION + 1, reset_less=True)
        sticky = Signal(reset_less=True)
        exponent = Signal(_EXPONENT, reset_less=True)
        full = quotient[-1]
        with m.If(self.step):
            m.d.sync += remainder.eq(Mux(one, difference, partial)[: self.divisor_width])
            with m.If(full):
                m.d.sync += sticky.eq(sticky | one)
            with m.Else():
                m.d.sync += quotient.eq(Cat(one, quotient))
                with m.If(quotient == 0):
                    m.d.sync += exponent.eq(exponent - 1)
        with m.If(self.start):
            m.d.sync += [
                remainder.eq(0),
                quotient.eq(0),
                sticky.eq(0),
                exponent.eq(BIAS + self.numerator_width - self.exponent),
            ]
        side = Signal(SIDE)
        m.d.comb += [
            side.exponent.eq(exponent),
            side.sign.eq(self.negative),
            side.zero.eq(~full | (self.divisor == 0)),
        ]
        more = sticky | (remainder != 0) | self.inexact
        m.d.sync += self.result.eq(rounded(m, side, quotient[1:], quotient[0], more))
        with m.If(side.zero):
            m.d.sync += self.result.eq(0)
        return m
