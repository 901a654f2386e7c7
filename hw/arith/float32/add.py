"""Sum of two binary32 numbers: interval 1, latency 6. No DSP block.

Stages: order by exponent, difference, shift in two stages, sum, normalise by one and round.

Either the smaller operand is shifted far to the right, or the exact difference of two nearly equal
operands is shifted far to the left, never both. So there is one shifter; the difference passes it
mirrored.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data

from hw.arith.float32.format import EXPONENT_MAX, FIELDS, PRECISION, QUIET_NAN
from hw.arith.float32.unit import Float32Unit
from hw.stream.delay import delay

__all__ = ["Float32Add"]

_FRACTION = PRECISION - 1
# The shifter holds a significand and two bits below it; a sticky one stands for all further down.
_SHIFTED = PRECISION + 2
# Of exponents on their way, two's complement: from -32 to 256.
_EXPONENT = 9
_BESIDE = ("near", "sign", "infinity", "nan")


def _none(m, value, inverted, first, last, name):
    """Whether bits ``first..last - 1`` are zeros, or ones if they are ``inverted``."""
    none = Signal(name=name)
    m.d.comb += none.eq(~(value[first:last] ^ inverted.replicate(last - first)).any())
    return none


class Float32Add(Float32Unit):
    """``result = a + b`` in binary32, rounded to nearest even.

    A subnormal operand or result is replaced by a zero of its sign; every NaN result is 0x7fc00000.
    An exact zero from operands of different sign is +0. Infinities of different sign give NaN.
    Source: IEEE 754-2019, 5.4.1 and 6.3.

    Parameters
    ----------
    config : Float32Config

    Members
    -------
    i : In(stream.Signature({a: 32, b: 32, tag}))
        Two operands an item, and a tag, which comes out unchanged beside their result.
    o : Out(stream.Signature({result: 32, tag}))
        One result for each item, in order.
    """

    LATENCY = 6

    def elaborate(self, platform):
        m = Module()
        advance = self.last_stages(m, self.i.valid, self.i.p.tag, self.LATENCY)

        def register(value, name, clocks=1):
            return delay(m, value, clocks, name=name, enable=advance)

        s2 = self._ordered(m, register)
        s4 = self._shifted(m, register, s2)

        # Stage 5: the sum, or the difference mirrored back, and its magnitude. The exponent is that
        # of a sum below 1/2; the complement of a far number carries beyond the sum.
        other, summed = Signal(_SHIFTED + 1), Signal(_SHIFTED + 3)
        m.d.comb += [
            other.eq(Cat(s4.sticky, Mux(s4.near, s4.value[::-1], s4.value))),
            summed.eq(
                Cat(s4.complement, Const(0, 3), s4.large)
                + Cat(s4.complement, other ^ s4.complement.replicate(len(other)))
            ),
        ]
        carry = summed[-1] & (s4.near | ~s4.complement)
        exponent = (s4.exponent + ~Cat(s4.gone, Const(0, 4)))[:_EXPONENT]
        s5 = SimpleNamespace(
            sum=register(Cat(summed[1:-1], carry), "s5_sum"),
            exponent=register(exponent, "s5_exponent"),
            **{name: register(getattr(s4, name), f"s5_{name}") for name in _BESIDE},
        )
        m.d.comb += [
            self.i.ready.eq(advance),
            self.o.p.result.eq(register(self._rounded(m, s5), "s6_result")),
        ]
        return m

    def _ordered(self, m, register):
        """Stages 1 and 2: puts the larger exponent first, and computes the difference of near
        numbers."""
        # A swapped operand comes a bit further down: the difference's complement is one less. The
        # last bit of the distance, which is known before the order, is gone at once.
        a, b = (data.View(FIELDS, operand) for operand in (self.i.p.a, self.i.p.b))
        difference = Signal(signed(_EXPONENT))
        swap, odd, a_zero, b_zero = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            difference.eq(a.exponent - b.exponent),
            swap.eq(difference[-1]),
            odd.eq(difference[0]),
            a_zero.eq(a.exponent == 0),
            b_zero.eq(b.exponent == 0),
        ]
        a_significand, b_significand = (Cat(x.fraction, Const(1, 1)) for x in (a, b))
        large = Mux(swap, b_significand, a_significand)
        small = Mux(
            swap,
            Mux(odd, a_significand.shift_left(1), a_significand),
            Mux(odd, b_significand.shift_left(1), b_significand.shift_left(2)),
        )
        s1_large = register(Mux(a_zero & b_zero, 0, large), "s1_large")
        s1_small = register(Mux(Mux(swap, a_zero, b_zero), 0, small), "s1_small")
        s1_exponent = register(Mux(swap, b.exponent, a.exponent), "s1_exponent")
        s1_difference = register(difference[:8], "s1_difference")
        s1_swap = register(swap, "s1_swap")
        s1_subtract = register(a.sign ^ b.sign, "s1_subtract")
        s1_sign = register(Mux(swap, b.sign, a.sign), "s1_sign")

        # Of two that are near, the difference is below zero only where the exponents are equal.
        distance, close = Signal(8), Signal()
        m.d.comb += [
            distance.eq(s1_difference ^ s1_swap.replicate(8)),
            close.eq(~distance[1:].any() & ~(s1_swap & distance[0])),
        ]
        near_difference = Cat(Const(0, 1), s1_large) - s1_small[1:]
        # Past all bits kept and one more, a number changes no rounding.
        over = distance[5:].any()
        return SimpleNamespace(
            difference=register(near_difference[: PRECISION + 2], "s2_difference"),
            small=register(Mux(over, 0, s1_small), "s2_small"),
            large=register(s1_large, "s2_large"),
            exponent=register(s1_exponent, "s2_exponent"),
            distance=register(distance[1:5], "s2_distance"),
            near=register(s1_subtract & close, "s2_near"),
            same=register(close & ~distance[0] & ~s1_swap, "s2_same"),
            subtract=register(s1_subtract, "s2_subtract"),
            sign=register(s1_sign, "s2_sign"),
        )

    def _shifted(self, m, register, s2):
        """Stages 3 and 4: shifts the small number down, or the mirrored difference up.

        By even distances: the difference's leading one may stay one bit below the top.
        """
        inverted, last = Signal(), Signal()
        m.d.comb += [
            inverted.eq(s2.near & s2.difference[-1]),
            # Infinities and NaNs have the largest exponent.
            last.eq(s2.exponent == EXPONENT_MAX),
        ]
        value = Mux(s2.near, s2.difference[PRECISION::-1], s2.small)
        both = s2.same & (s2.subtract | s2.small[2:-1].any())
        by_16 = Signal()
        m.d.comb += by_16.eq(
            Mux(s2.near, _none(m, value, inverted, 0, 16, "none_16"), s2.distance[3])
        )
        lost = ~s2.near & s2.distance[3] & s2.small[:16].any()
        value = register(Mux(by_16, value >> 16, value), "s3_value")
        sticky, s3_by_16 = register(lost, "s3_sticky"), register(by_16, "s3_by_16")
        near, s3_inverted = register(s2.near, "s3_near"), register(inverted, "s3_inverted")
        distance = register(s2.distance[:3], "s3_distance")
        large = register(s2.large, "s3_large")
        complement = register(Mux(s2.near, inverted, s2.subtract), "s3_complement")

        # Both steps at once: a 4:1 multiplexer is one LUT.
        by_8, by_4, by_2, upper = Signal(), Signal(), Signal(), Signal(_SHIFTED)
        none = [_none(m, value, s3_inverted, k, k + 4, f"none_{k}") for k in (0, 4, 8)]
        m.d.comb += [
            by_8.eq(Mux(near, none[0] & none[1], distance[2])),
            by_4.eq(Mux(near, Mux(none[0] & none[1], none[2], none[0]), distance[1])),
            upper.eq(
                Mux(
                    by_8,
                    Mux(by_4, value >> 12, value >> 8),
                    Mux(by_4, value >> 4, value),
                )
            ),
        ]
        none_2 = _none(m, upper, s3_inverted, 0, 2, "none_2")
        m.d.comb += by_2.eq(Mux(near, none_2, distance[0]))
        lost = (by_8 & ~(none[0] & none[1])) | (by_4 & ~Mux(by_8, none[2], none[0]))
        gone = Cat(Const(0, 1), by_2, by_4, by_8, s3_by_16)
        return SimpleNamespace(
            value=register(Mux(by_2, upper >> 2, upper), "s4_value"),
            sticky=register(sticky | lost | (by_2 & ~none_2), "s4_sticky"),
            large=register(Mux(near, 0, large), "s4_large"),
            gone=register(Mux(near, gone, 0), "s4_gone"),
            exponent=register(s2.exponent, "s4_exponent", 2),
            near=register(near, "s4_near"),
            complement=register(complement, "s4_complement"),
            sign=register(s2.sign ^ inverted, "s4_sign", 2),
            infinity=register(last, "s4_infinity", 2),
            nan=register(last & (s2.large[:-1].any() | both), "s4_nan", 2),
        )

    def _rounded(self, m, s5):
        """Stage 6: the leading one is one of the three bits at the top, or all is zero."""
        top, middle = s5.sum[-1], s5.sum[-2]
        guard, sticky, up, some = Signal(), Signal(), Signal(), Signal()
        fraction = Signal(_FRACTION)
        total = Signal(_FRACTION + _EXPONENT + 1)
        exponent = total[1 + _FRACTION :]
        overflow, underflow = Signal(), Signal()
        m.d.comb += [
            some.eq(s5.sum[-3:].any()),
            fraction.eq(Mux(top, s5.sum[4:-1], Mux(middle, s5.sum[3:-2], s5.sum[2:-3]))),
            guard.eq(Mux(top, s5.sum[3], Mux(middle, s5.sum[2], s5.sum[1]))),
            sticky.eq(s5.sum[0] | (s5.sum[1] & (top | middle)) | (s5.sum[2] & top)),
            up.eq(guard & (sticky | fraction[0])),
            # A carry out of the fraction is the carry into the exponent.
            total.eq(
                Cat(up, fraction, s5.exponent) + Cat(up, Const(0, _FRACTION), middle & ~top, top)
            ),
            overflow.eq((exponent[:8].all() & ~exponent[8]) | (exponent[8] & ~exponent[7])),
            underflow.eq(~exponent.any() | exponent[7:].all() | ~some),
        ]
        result = Signal(FIELDS)
        m.d.comb += [
            result.sign.eq(s5.sign & (some | ~s5.near)),
            result.exponent.eq(exponent),
            result.fraction.eq(total[1:]),
        ]
        with m.If(s5.nan):
            m.d.comb += result.eq(QUIET_NAN)
        with m.Elif(s5.infinity | overflow):
            m.d.comb += [result.exponent.eq(EXPONENT_MAX), result.fraction.eq(0)]
        with m.Elif(underflow):
            m.d.comb += [result.exponent.eq(0), result.fraction.eq(0)]
        return result.as_value()
