"""Reciprocal of a binary32 number, correctly rounded: interval 1, latency 10.

Three stages find a seed, see ``seed``; then product, error, step, floor, partial products of the
residual, its sign, round.
"""

from functools import cache

from amaranth import *

from hw.arith.float32.format import BIAS, PRECISION, SIDE, WIDTH, decode, rounded
from hw.arith.float32.seed import REMAINDER_WIDTH, SEED_LATENCY, SEED_WIDTH, seed, seed_table
from hw.arith.float32.unit import Float32Unit
from hw.arith.multiply import B_LIMB
from hw.stream.delay import delay

__all__ = ["Float32Reciprocal", "reciprocal_table"]

_STAGES = 7
# Bits of the fraction of significand * seed, whose distance from 1 is below 2^-15.
_ERROR_FRACTION = PRECISION - 1 + SEED_WIDTH
_ERROR_WIDTH = _ERROR_FRACTION - 15 + 1
# The residual is below 0.51 * 2^25.
_RESIDUAL_WIDTH = 26


@cache
def reciprocal_table():
    """The ``Table`` of seeds of ``1 / m``, where ``m = 2 - (x + 1) / 2**23``.

    ``x`` is the fraction of the operand with all bits inverted, so that the table rises with ``x``.
    """
    unit = 1 << (PRECISION - 1)
    return seed_table(
        (unit << PRECISION) // (2 * unit - (k << REMAINDER_WIDTH) - 1) for k in range(257)
    )


class Float32Reciprocal(Float32Unit):
    """``result = 1 / x`` in binary32, rounded to nearest even.

    1 / ±0 is ±infinity, 1 / ±infinity is ±0. A subnormal operand counts as a zero of its sign.
    Beyond 2^126 the reciprocals are subnormals, and so leave as zeros. Every NaN result is
    0x7fc00000. Source: IEEE 754-2019, 5.4.1 (division).

    ``M`` is the operand's 24-bit significand, ``m = M / 2**23``, and ``Q = 2**47 / M`` the exact
    significand of the result. The seed ``y`` of ``1 / m`` gives ``y * (2 - m * y)``, which is cut
    to 24 bits, the integer ``floor``. ``Q > floor + 1/2`` if and only if
    ``(2 * floor + 1) * M < 2**48``; the two sides are never equal.

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
            side.exponent.eq(2 * BIAS - 1 - x.exponent),
            side.sign.eq(x.sign),
            side.zero.eq(x.infinity),
            side.infinity.eq(x.zero),
            side.nan.eq(x.nan),
        ]
        fraction = x.significand[:-1]
        advance, s3_seed, s3_fraction, s3_side = seed(
            m, self, reciprocal_table(), x=~fraction, argument=fraction, side=side, clocks=_STAGES
        )
        s3_significand = Cat(s3_fraction, Const(1, 1))
        s5_seed = delay(m, s3_seed, 2, name="seed", enable=advance)
        s6_seed = delay(m, s5_seed, 1, name="s5_seed", enable=advance)
        s7_significand = delay(m, s3_significand, 4, name="significand", enable=advance)
        s9_side = delay(m, s3_side, 6, name="side", enable=advance)

        # The Newton step: seed + seed * error, with error = 1 - significand * seed.
        s4_product = Signal(PRECISION + SEED_WIDTH, reset_less=True)
        s5_error = Signal(signed(_ERROR_WIDTH), reset_less=True)
        s6_step = Signal(signed(SEED_WIDTH + _ERROR_WIDTH), reset_less=True)
        newton = Signal(SEED_WIDTH + _ERROR_FRACTION)
        s7_floor = Signal(PRECISION, reset_less=True)

        # 2**48 - (2 * floor + 1) * M is small: the upper bits of the product do not matter.
        middle = Cat(Const(1, 1), s7_floor)
        s8_low = Signal(_RESIDUAL_WIDTH, reset_less=True)
        s8_high = Signal(_RESIDUAL_WIDTH - B_LIMB, reset_less=True)
        s8_floor = delay(m, s7_floor, 1, name="floor", enable=advance)
        residual = Signal(signed(_RESIDUAL_WIDTH))
        s9_up = Signal(reset_less=True)
        s9_floor = delay(m, s8_floor, 1, name="s8_floor", enable=advance)
        s10_result = Signal(WIDTH, reset_less=True)
        m.d.comb += [
            newton.eq((s6_seed << _ERROR_FRACTION) + s6_step),
            residual.eq((-(s8_low + (s8_high << B_LIMB)))[:_RESIDUAL_WIDTH]),
        ]
        with m.If(advance):
            m.d.sync += [
                s4_product.eq(s3_significand * s3_seed),
                s5_error.eq(((1 << _ERROR_FRACTION) - s4_product)[:_ERROR_WIDTH]),
                s6_step.eq(s5_seed * s5_error),
                s7_floor.eq(newton[-PRECISION:]),
                s8_low.eq((s7_significand * middle[:B_LIMB])[:_RESIDUAL_WIDTH]),
                s8_high.eq((s7_significand * middle[B_LIMB:])[: len(s8_high)]),
                s9_up.eq(residual > 0),
                s10_result.eq(rounded(m, s9_side, s9_floor, s9_up, Const(1, 1))),
            ]
        m.d.comb += self.o.p.result.eq(s10_result)
        return m
