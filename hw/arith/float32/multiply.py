"""Product of two binary32 numbers: interval 1, latency 5. Two DSP blocks.

Stages: operands, partial products, product, normalise, round.
"""

from amaranth import *
from amaranth.lib import data

from hw.arith.float32.format import EXPONENT_MAX, FIELDS, PRECISION, QUIET_NAN
from hw.arith.float32.unit import Float32Unit
from hw.arith.multiply import B_LIMB
from hw.stream.delay import delay

__all__ = ["Float32Multiply"]


class Float32Multiply(Float32Unit):
    """``result = a * b`` in binary32, rounded to nearest even.

    A subnormal operand or result is replaced by a zero of its sign; every NaN result is 0x7fc00000.
    Zero times infinity is NaN. Source: IEEE 754-2019, 5.4.1.

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

    LATENCY = 5

    def elaborate(self, platform):
        m = Module()
        advance = self.last_stages(m, self.i.valid, self.i.p.tag, self.LATENCY)

        def register(value, name, clocks=1):
            return delay(m, value, clocks, name=name, enable=advance)

        # What is a zero or has the largest exponent never gets as far as its significand.
        operands = {name: data.View(FIELDS, self.i.p[name]) for name in ("a", "b")}
        significand, exponent, zero, last, nan = {}, {}, {}, {}, {}
        for name, operand in operands.items():
            significand[name] = register(Cat(operand.fraction, Const(1, 1)), f"s1_{name}")
            exponent[name] = register(operand.exponent, f"s1_{name}_exponent")
            zero[name] = register(operand.exponent == 0, f"s1_{name}_zero")
            last[name] = register(operand.exponent == EXPONENT_MAX, f"s1_{name}_last")
            nan[name] = last[name] & significand[name][:-1].any()
        s2_zero = register(zero["a"] | zero["b"], "s2_zero")
        s2_last = register(last["a"] | last["b"], "s2_last")
        s2_nan = register(nan["a"] | nan["b"], "s2_nan")
        s2_exponent = register(exponent["a"] + exponent["b"], "s2_exponent")
        sign = register(operands["a"].sign ^ operands["b"].sign, "sign", 4)

        # The 24 x 24 product is 24 x 17 and 24 x 7: a DSP block each, the second adding the first.
        a, b = significand["a"], significand["b"]
        s2_low = register(a * b[:B_LIMB], "s2_low")
        s2_high = register(a * b[B_LIMB:], "s2_high")
        upper = (s2_low[B_LIMB:] + s2_high)[: 2 * PRECISION - B_LIMB]
        s3_product = register(Cat(s2_low[:B_LIMB].any(), upper), "s3_product")

        # The product of 1.x and 1.y is 1.z or 1z.z.
        top = s3_product[-1]
        normal = Signal(len(s3_product))
        m.d.comb += normal.eq(Mux(top, s3_product, s3_product << 1))
        rest = len(normal) - PRECISION
        result = self._rounded(
            m,
            exponent=register((register(s2_exponent, "s3_exponent") + top)[:9], "s4_exponent"),
            fraction=register(normal[rest:-1], "s4_fraction"),
            guard=register(normal[rest - 1], "s4_guard"),
            sticky=register(normal[: rest - 1].any(), "s4_sticky"),
            sign=sign,
            zero=register(s2_zero, "s4_zero", 2),
            infinity=register(s2_last, "s4_infinity", 2),
            nan=register(s2_nan | (s2_last & s2_zero), "s4_nan", 2),
        )
        m.d.comb += [
            self.i.ready.eq(advance),
            self.o.p.result.eq(register(result, "s5_result")),
        ]
        return m

    def _rounded(self, m, *, exponent, fraction, guard, sticky, sign, zero, infinity, nan):
        """As ``rounded`` of ``format``; ``exponent`` has twice the bias, and so no sign."""
        up, total = Signal(), Signal(len(fraction) + 10)
        new = total[len(fraction) + 1 :]
        overflow, underflow = Signal(), Signal()
        result = Signal(FIELDS)
        m.d.comb += [
            # All that is below the smallest normal rounds up: to zero, but for all ones, which is
            # that normal, as in ``rounded``.
            up.eq((guard & (sticky | fraction[0])) | ~exponent[7:].any()),
            # Less the bias is one more and less 128.
            total.eq(Cat(up, fraction, exponent) + Cat(up, Const(1 << len(fraction), 24))),
            overflow.eq(new[8] & (new[7] | new[:7].all())),
            underflow.eq(~new[8] & ~(new[7] & new[:7].any())),
            result.sign.eq(sign),
            result.exponent.eq(new[:8] ^ 128),
            result.fraction.eq(total[1:]),
        ]
        with m.If(nan):
            m.d.comb += result.eq(QUIET_NAN)
        with m.Elif(infinity | overflow):
            m.d.comb += [result.exponent.eq(EXPONENT_MAX), result.fraction.eq(0)]
        with m.Elif(underflow | zero):
            m.d.comb += [result.exponent.eq(0), result.fraction.eq(0)]
        return result.as_value()
