"""Product of two binary32 numbers: interval 1, latency 5. Two DSP blocks.

Stages: operands, partial products, product, normalise, round.
"""

from amaranth import *

from hw.arith.float32.format import BIAS, PRECISION, SIDE, WIDTH, decode, rounded
from hw.arith.float32.unit import Float32Unit
from hw.arith.multiply import B_LIMB
from hw.stream.delay import delay

__all__ = ["Float32Multiply"]


class Float32Multiply(Float32Unit):
    """``result = a * b`` in binary32, rounded to nearest even; see ``format`` for subnormals, NaN.

    Zero times infinity is NaN. Source: IEEE 754-2019, 5.4.1.

    Parameters
    ----------
    config : Float32Config

    Members
    -------
    i : In(stream.Signature({a: 32, b: 32, tag}))
    o : Out(stream.Signature({result: 32, tag}))
    """

    LATENCY = 5
    DSP = 2

    def elaborate(self, platform):
        m = Module()
        advance = self.last_stages(m, self.i.valid, self.i.p.tag, self.LATENCY)
        m.d.comb += self.i.ready.eq(advance)
        a, b = decode(m, self.i.p.a, name="a"), decode(m, self.i.p.b, name="b")
        side = Signal(SIDE)
        m.d.comb += [
            side.exponent.eq(a.exponent + b.exponent - BIAS),
            side.sign.eq(a.sign ^ b.sign),
            side.zero.eq(a.zero | b.zero),
            side.infinity.eq(a.infinity | b.infinity),
            side.nan.eq(a.nan | b.nan | (side.zero & side.infinity)),
        ]
        s3_side = delay(m, side, 3, name="side", enable=advance)

        # The 24 x 24 product is 24 x 17 and 24 x 7: a DSP block each, the second adding the first.
        s1_a = Signal(PRECISION, reset_less=True)
        s1_b = Signal(PRECISION, reset_less=True)
        s2_low = Signal(PRECISION + B_LIMB, reset_less=True)
        s2_high = Signal(2 * PRECISION - B_LIMB, reset_less=True)
        s3_product = Signal(2 * PRECISION, reset_less=True)

        # The product of 1.x and 1.y is 1.z or 1z.z.
        top = s3_product[-1]
        normal = Signal(2 * PRECISION)
        m.d.comb += normal.eq(Mux(top, s3_product, s3_product << 1))
        s4_side = Signal(SIDE, reset_less=True)
        s4_significand = Signal(PRECISION, reset_less=True)
        s4_guard = Signal(reset_less=True)
        s4_sticky = Signal(reset_less=True)
        s5_result = Signal(WIDTH, reset_less=True)
        with m.If(advance):
            m.d.sync += [
                s1_a.eq(a.significand),
                s1_b.eq(b.significand),
                s2_low.eq(s1_a * s1_b[:B_LIMB]),
                s2_high.eq(s1_a * s1_b[B_LIMB:]),
                s3_product.eq(s2_low + (s2_high << B_LIMB)),
                s4_side.eq(s3_side),
                s4_side.exponent.eq(s3_side.exponent + top),
                s4_significand.eq(normal[PRECISION:]),
                s4_guard.eq(normal[PRECISION - 1]),
                s4_sticky.eq(normal[: PRECISION - 1].any()),
                s5_result.eq(rounded(m, s4_side, s4_significand, s4_guard, s4_sticky)),
            ]
        m.d.comb += self.o.p.result.eq(s5_result)
        return m
