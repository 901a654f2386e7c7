"""Sum of two binary32 numbers: interval 1, latency 6. No DSP block.

Stages: order by magnitude, align, add, normalise in two stages, round.
"""

from amaranth import *

from hw.arith.float32.format import PRECISION, SIDE, WIDTH, decode, normalise, rounded
from hw.arith.float32.unit import Float32Unit
from hw.stream.delay import delay

__all__ = ["Float32Add"]

# Bits kept below the significand of the larger operand. The last is sticky, it stands for all that
# was shifted past it. A difference loses two bits or more at its top only where the exponents
# differ by at most one, and then nothing was.
_BELOW = 3
_ALIGNED_WIDTH = PRECISION + _BELOW
_STEPS = (16, 8, 4, 2, 1)


def _align(m, significand, distance):
    """``significand * 2**(_BELOW - distance)``; the last bit is the OR of all that is below."""
    value = Cat(Const(0, _BELOW), significand)
    for step in _STEPS:
        shifted = Signal(_ALIGNED_WIDTH, name=f"aligned_{step}")
        down = Cat(value[: step + 1].any(), value[step + 1 :])
        m.d.comb += shifted.eq(Mux(distance & step, down, value))
        value = shifted
    return value


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
        m.d.comb += self.i.ready.eq(advance)
        a, b = decode(m, self.i.p.a, name="a"), decode(m, self.i.p.b, name="b")

        # Stage 1: the larger magnitude first; both differences beside the comparison.
        swap, subtract = Signal(), Signal()
        large, small = Signal.like(a, name="large"), Signal.like(a, name="small")
        distance = Signal(8)
        side = Signal(SIDE)
        m.d.comb += [
            # A subnormal, which is a zero, is out of order only with another and with zero.
            swap.eq(self.i.p.a[: WIDTH - 1] < self.i.p.b[: WIDTH - 1]),
            large.eq(Mux(swap, b, a)),
            small.eq(Mux(swap, a, b)),
            distance.eq(Mux(swap, b.exponent - a.exponent, a.exponent - b.exponent)),
            subtract.eq(a.sign ^ b.sign),
            # One up, where the carry of the sum is the leading one.
            side.exponent.eq(large.exponent + 1),
            side.sign.eq(large.sign),
            side.infinity.eq(a.infinity | b.infinity),
            side.nan.eq(a.nan | b.nan | (a.infinity & b.infinity & subtract)),
        ]
        s1_large = Signal(PRECISION, reset_less=True)
        s1_small = Signal(PRECISION, reset_less=True)
        s1_distance = Signal(5, reset_less=True)  # 31 and more shift everything out
        s2_subtract = delay(m, subtract, 2, name="subtract", enable=advance)
        s3_side = delay(m, side, 3, name="side", enable=advance)
        s4_subtract = delay(m, s2_subtract, 2, name="s2_subtract", enable=advance)

        # Stages 2 and 3: align, then add; the difference is not below zero.
        s2_large = Signal(PRECISION, reset_less=True)
        s2_small = Signal(_ALIGNED_WIDTH, reset_less=True)
        s3_sum = Signal(_ALIGNED_WIDTH + 1, reset_less=True)
        # The subtraction adds the complement and 1, by the carry of one more bit below.
        summed = Signal(_ALIGNED_WIDTH + 2)
        m.d.comb += summed.eq(
            Cat(s2_subtract, Const(0, _BELOW), s2_large)
            + Cat(s2_subtract, s2_small ^ s2_subtract.replicate(_ALIGNED_WIDTH))
        )

        # Stages 4 and 5: normalise; without a leading one, the sum is zero.
        s4_sum = Signal.like(s3_sum)
        s5_sum = Signal.like(s3_sum)
        s5_side = Signal(SIDE, reset_less=True)
        s4_next, upper = normalise(m, s3_sum, _STEPS[:2])
        s5_next, lower = normalise(m, s4_sum, _STEPS[2:])
        s4_upper = delay(m, upper, 1, name="upper", enable=advance)
        s4_side = delay(m, s3_side, 1, name="s3_side", enable=advance)
        far = Cat(lower, s4_upper)
        zero = Signal()
        m.d.comb += zero.eq(~s5_next[-1])

        s6_result = Signal(WIDTH, reset_less=True)
        significand = s5_sum[-PRECISION:]
        guard, sticky = s5_sum[-PRECISION - 1], s5_sum[: -PRECISION - 1].any()
        with m.If(advance):
            m.d.sync += [
                s1_large.eq(large.significand),
                s1_small.eq(small.significand),
                s1_distance.eq(distance[:5] | distance[5:].any().replicate(5)),
                s2_large.eq(s1_large),
                s2_small.eq(_align(m, s1_small, s1_distance)),
                s3_sum.eq(Cat(summed[1:-1], summed[-1] & ~s2_subtract)),
                s4_sum.eq(s4_next),
                s5_sum.eq(s5_next),
                s5_side.eq(s4_side),
                s5_side.exponent.eq(s4_side.exponent - far),
                s5_side.zero.eq(zero),
                s5_side.sign.eq(s4_side.sign & ~(zero & s4_subtract)),
                s6_result.eq(rounded(m, s5_side, significand, guard, sticky)),
            ]
        m.d.comb += self.o.p.result.eq(s6_result)
        return m
