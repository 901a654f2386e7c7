"""Reciprocal square root of a binary32 number, correctly rounded: interval 1, latency 13.

Three stages find a seed, see ``seed``; then square, partial products, error, step, floor,
distance from the seed, two stages of products of the residual, its sign, round.
"""

from functools import cache
from math import isqrt

from amaranth import *

from hw.arith.float32.format import BIAS, PRECISION, SIDE, WIDTH, decode, rounded
from hw.arith.float32.seed import REMAINDER_WIDTH, SEED_LATENCY, SEED_WIDTH, seed, seed_table
from hw.arith.float32.unit import Float32Unit
from hw.arith.multiply import B_LIMB
from hw.stream.delay import delay

__all__ = ["Float32Rsqrt", "rsqrt_table"]

_STAGES = 10
_ARGUMENT_WIDTH = PRECISION + 1
# Widths of small values leave out upper bits that only repeat the sign: differences and products
# are cut to them. Bits of the fraction of v * seed**2, whose distance from 1 is below 2^-14.
_ERROR_FRACTION = PRECISION - 1 + 2 * SEED_WIDTH
_ERROR_WIDTH = _ERROR_FRACTION - 14 + 1
# Low bits of the error that the Newton step does without: it keeps those of one DSP block.
_ERROR_DROP = 17
_SEED_SHIFT = PRECISION + 1 - SEED_WIDTH
# A unit of the seed is 2^8 units of the distance, and the seed is not two of them off.
_DISTANCE_WIDTH = 10
# |distance| * V < 2^34, and the residual is below 2^51.
_SCALED_WIDTH = 35
_RESIDUAL_WIDTH = 52


@cache
def rsqrt_table():
    """The ``Table`` of seeds of ``1 / sqrt(v)``, which rises with its argument ``x``.

    In the lower half, ``x = 0 .. 2**23 - 1`` stands for ``v = 4 - (x + 1) / 2**22``. In the upper
    half, ``x = 2**23 + z`` stands for ``v = 2 - (z + 1) / 2**23``.
    """
    unit = 1 << (PRECISION - 1)
    falling = [2 * unit - (k << REMAINDER_WIDTH) - 1 for k in range(257)]
    return seed_table(
        isqrt((unit << 2 * PRECISION) // v) for v in [2 * v for v in falling[:-1]] + falling
    )


class Float32Rsqrt(Float32Unit):
    """``result = 1 / sqrt(x)`` in binary32, rounded to nearest even.

    NaN for ``x < 0``, +0 for infinity, ±infinity for ±0. A subnormal counts as a zero of its sign;
    every NaN result is 0x7fc00000. Source: IEEE 754-2019, 9.2 (rSqrt).

    ``x = v * 4**k`` with ``1 <= v < 4`` and ``V = v * 2**23``; ``Q = 2**24 / sqrt(v)`` is the
    exact significand of the result. The seed ``y`` of ``1 / sqrt(v)`` gives
    ``y + y * (1 - v * y**2) / 2``, which is cut to 24 bits, the integer ``floor``.
    ``Q > floor + 1/2`` if and only if ``(2 * floor + 1)**2 * V < 2**73``; the two sides are never
    equal. That square is not computed: with ``Y`` the seed in the units of ``h = 2 * floor + 1``,
    ``h**2 * V = Y**2 * V + (h - Y) * V * (h + Y)``; the first term is known from the Newton step,
    and ``h - Y`` has few bits.

    Parameters
    ----------
    config : Float32Config

    Members
    -------
    i : In(stream.Signature({x: 32, tag}))
        One operand an item, and a tag, which comes out unchanged beside its result.
    o : Out(stream.Signature({result: 32, tag}))
        One result for each operand, in order.
    """

    OPERANDS = ("x",)
    LATENCY = SEED_LATENCY + _STAGES

    def elaborate(self, platform):
        m = Module()
        x = decode(m, self.i.p.x, name="x")
        side = Signal(SIDE)
        m.d.comb += [
            side.exponent.eq((3 * BIAS - 1) // 2 - ((x.exponent + 1) >> 1)),
            side.sign.eq(x.sign),
            side.zero.eq(x.infinity),
            side.infinity.eq(x.zero),
            side.nan.eq(x.nan | (x.sign & ~x.zero)),
        ]
        # The bias is odd: an even field is an odd exponent, and v is 2 or more.
        odd = ~x.exponent[0]
        argument = Signal(_ARGUMENT_WIDTH)
        m.d.comb += argument.eq(x.significand << odd)
        advance, s3_seed, s3_argument, s3_side = seed(
            m,
            self,
            rsqrt_table(),
            x=Cat(~x.significand[:-1], ~odd),
            argument=argument,
            side=side,
            clocks=_STAGES,
        )

        def later(value, clocks, name):
            return delay(m, value, clocks, name=name, enable=advance)

        s4_argument = later(s3_argument, 1, "argument")
        s9_argument = later(s4_argument, 5, "s4_argument")
        s6_seed = later(s3_seed, 3, "seed")
        s7_seed = later(s6_seed, 1, "s6_seed")
        s8_seed = later(s7_seed, 1, "s7_seed")

        # The Newton step: seed + seed * error / 2, with error = 1 - v * seed**2.
        s4_square = Signal(2 * SEED_WIDTH, reset_less=True)
        s5_low = Signal(_ARGUMENT_WIDTH + B_LIMB, reset_less=True)
        s5_high = Signal(_ARGUMENT_WIDTH + B_LIMB, reset_less=True)
        s6_error = Signal(signed(_ERROR_WIDTH), reset_less=True)
        error = (1 << _ERROR_FRACTION) - (s5_low + (s5_high << B_LIMB))
        s7_step = Signal(signed(SEED_WIDTH + _ERROR_WIDTH - _ERROR_DROP), reset_less=True)
        newton = Signal(SEED_WIDTH + _ERROR_FRACTION - _ERROR_DROP + 1)
        s8_floor = Signal(PRECISION, reset_less=True)

        # The residual 2**73 - h**2 * V, of which only the sign matters.
        middle = Signal(PRECISION + 1)
        base = s8_seed << _SEED_SHIFT
        s9_distance = Signal(signed(_DISTANCE_WIDTH), reset_less=True)
        s9_sum = Signal(PRECISION + 2, reset_less=True)
        s10_scaled = Signal(signed(_SCALED_WIDTH), reset_less=True)
        s10_sum = later(s9_sum, 1, "sum")
        s11_low = Signal(len(s10_sum) + B_LIMB, reset_less=True)
        s11_high = Signal(signed(len(s10_sum) + _SCALED_WIDTH - B_LIMB), reset_less=True)
        s11_error = later(s6_error, 5, "error")
        residual = Signal(signed(_RESIDUAL_WIDTH))
        difference = (s11_error << 2 * _SEED_SHIFT) - (s11_low + (s11_high << B_LIMB))
        s12_up = Signal(reset_less=True)
        s12_floor = later(s8_floor, 4, "floor")
        s12_side = later(s3_side, 9, "side")
        s13_result = Signal(WIDTH, reset_less=True)
        m.d.comb += [
            newton.eq((s7_seed << (_ERROR_FRACTION - _ERROR_DROP + 1)) + s7_step),
            middle.eq(Cat(Const(1, 1), s8_floor)),
            residual.eq(difference[:_RESIDUAL_WIDTH]),
        ]
        with m.If(advance):
            m.d.sync += [
                s4_square.eq(s3_seed * s3_seed),
                s5_low.eq(s4_argument * s4_square[:B_LIMB]),
                s5_high.eq(s4_argument * s4_square[B_LIMB:]),
                s6_error.eq(error[:_ERROR_WIDTH]),
                s7_step.eq(s6_seed * (s6_error >> _ERROR_DROP)),
                s8_floor.eq(newton[-PRECISION:]),
                s9_distance.eq((middle - base)[:_DISTANCE_WIDTH]),
                s9_sum.eq(middle + base),
                s10_scaled.eq((s9_distance * s9_argument)[:_SCALED_WIDTH]),
                s11_low.eq(s10_sum * s10_scaled[:B_LIMB]),
                s11_high.eq(s10_sum * s10_scaled[B_LIMB:].as_signed()),
                s12_up.eq(residual > 0),
                s13_result.eq(rounded(m, s12_side, s12_floor, s12_up, Const(1, 1))),
            ]
        m.d.comb += self.o.p.result.eq(s13_result)
        return m
