"""Sum of two binary32 numbers: interval 1, latency 6. No DSP block.

Stages: order by exponent, difference, shift in two stages, sum, normalise by one and round.

Either the smaller operand goes far to the right, or the difference of two that nearly cancel, which
is exact, far to the left. So there is one shifter: the difference passes through it mirrored.
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


def _steps(m, value, near, inverted, distance, step, sticky):
    """``value`` shifted right by ``2 * step`` and ``step``, by the two bits of ``distance``.

    Where ``near``, by as much as its low ``3 * step`` bits allow: they are zeros, or ones if it is
    ``inverted``. Returns the value, the two bits that count, and ``sticky`` or any that was lost.
    """
    none = [Signal(name=f"none_{step}_{k}") for k in range(3)]
    one, two = Signal(name=f"by_{step}"), Signal(name=f"by_{2 * step}")
    lost, shifted = Signal(name=f"lost_{step}"), Signal(_SHIFTED, name=f"shifted_{step}")
    for k, empty in enumerate(none):
        part = value[k * step : (k + 1) * step]
        m.d.comb += empty.eq(~(part ^ inverted.replicate(step)).any())
    m.d.comb += [
        two.eq(Mux(near, none[0] & none[1], distance[1])),
        one.eq(Mux(near, Mux(none[0] & none[1], none[2], none[0]), distance[0])),
        lost.eq(sticky | (two & ~(none[0] & none[1])) | (one & ~Mux(two, none[2], none[0]))),
        shifted.eq(
            Mux(
                two,
                Mux(one, value >> 3 * step, value >> 2 * step),
                Mux(one, value >> step, value),
            )
        ),
    ]
    return shifted, Cat(one, two), lost


class Float32Add(Float32Unit):
    """``result = a + b`` in binary32, rounded to nearest even; see ``format`` for subnormals, NaN.

    An exact zero from operands of different sign is +0. Infinities of different sign give NaN.
    Source: IEEE 754-2019, 5.4.1 and 6.3.

    Parameters
    ----------
    config : Float32Config

    Members
    -------
    i : In(stream.Signature({a: 32, b: 32, tag}))
    o : Out(stream.Signature({result: 32, tag}))
    """

    LATENCY = 6
    DSP = 0

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
        """Stages 1 and 2: the larger exponent first; the difference of numbers that are near."""
        # A swapped operand comes a bit further down: the difference's complement is one less.
        a, b = (data.View(FIELDS, operand) for operand in (self.i.p.a, self.i.p.b))
        difference = Signal(signed(_EXPONENT))
        swap, a_zero, b_zero = Signal(), Signal(), Signal()
        one = Const(1, 1)
        m.d.comb += [
            difference.eq(a.exponent - b.exponent),
            swap.eq(difference[-1]),
            a_zero.eq(a.exponent == 0),
            b_zero.eq(b.exponent == 0),
        ]
        large = Cat(Mux(swap, b.fraction, a.fraction), one)
        small = Mux(swap, Cat(a.fraction, one), Cat(Const(0, 1), b.fraction, one))
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
        near_difference = Cat(Const(0, 1), s1_large) - Mux(distance[0], s1_small >> 1, s1_small)
        # Past all bits kept and one more, a number changes no rounding.
        over = distance[5:].any()
        return SimpleNamespace(
            difference=register(near_difference[: PRECISION + 2], "s2_difference"),
            small=register(Mux(over, 0, s1_small), "s2_small"),
            large=register(s1_large, "s2_large"),
            exponent=register(s1_exponent, "s2_exponent"),
            distance=register(distance[:5], "s2_distance"),
            near=register(s1_subtract & close, "s2_near"),
            same=register(close & ~distance[0] & ~s1_swap, "s2_same"),
            subtract=register(s1_subtract, "s2_subtract"),
            sign=register(s1_sign, "s2_sign"),
        )

    def _shifted(self, m, register, s2):
        """Stages 3 and 4: the small number down, or the difference, mirrored, up."""
        inverted, none, far, last = Signal(), Signal(), Signal(), Signal()
        mirrored = s2.difference[PRECISION::-1]
        m.d.comb += [
            inverted.eq(s2.near & s2.difference[-1]),
            none.eq(~(mirrored[:16] ^ inverted.replicate(16)).any()),
            far.eq(Mux(s2.near, none, s2.distance[4])),
            # Infinities and NaNs have the largest exponent.
            last.eq(s2.exponent == EXPONENT_MAX),
        ]
        value = Mux(s2.near, mirrored, Cat(Const(0, 1), s2.small))
        lost = ~s2.near & s2.distance[4] & s2.small[:15].any()
        both = s2.same & (s2.subtract | s2.small[1:-1].any())
        s3_value = register(Mux(far, value >> 16, value), "s3_value")
        s3_sticky, s3_far = register(lost, "s3_sticky"), register(far, "s3_far")
        s3_near, s3_inverted = register(s2.near, "s3_near"), register(inverted, "s3_inverted")
        s3_distance = register(s2.distance[:4], "s3_distance")
        s3_large = register(s2.large, "s3_large")
        complement = register(Mux(s2.near, inverted, s2.subtract), "s3_complement")

        kind = s3_near, s3_inverted
        upper, by_four, lost = _steps(m, s3_value, *kind, s3_distance[2:], 4, s3_sticky)
        lower, by_one, lost = _steps(m, upper, *kind, s3_distance[:2], 1, lost)
        gone = Cat(by_one, by_four, s3_far)
        return SimpleNamespace(
            value=register(lower, "s4_value"),
            sticky=register(lost, "s4_sticky"),
            large=register(Mux(s3_near, 0, s3_large), "s4_large"),
            gone=register(Mux(s3_near, gone, 0), "s4_gone"),
            exponent=register(s2.exponent, "s4_exponent", 2),
            near=register(s3_near, "s4_near"),
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
