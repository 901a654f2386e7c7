"""Order of two binary32 numbers, and the larger: interval 1, latency 2. No DSP block.

Stages: order keys, compare.
"""

from amaranth import *
from amaranth.lib import data

from hw.arith.float32.format import QUIET_NAN, WIDTH, decode
from hw.arith.float32.unit import Float32Unit

__all__ = ["Float32Compare"]


def _key(operand):
    """Negative numbers with all bits inverted, the others with only the sign."""
    magnitude = Cat(operand.significand[:-1], operand.exponent)
    return Cat(magnitude ^ operand.sign.replicate(WIDTH - 1), ~operand.sign)


class Float32Compare(Float32Unit):
    """``less = a < b``, ``equal = a == b``, ``greater = a > b``, ``unordered``: exactly one is 1.

    ``unordered`` says that an operand is NaN. Zeros are equal whatever their sign, and so are
    subnormals, see ``format``. ``maximum`` is the larger operand, with -0 below +0, and NaN if one
    is NaN; a subnormal leaves as a zero. Source: IEEE 754-2019, 5.11 and 9.6 (maximum).

    Parameters
    ----------
    config : Float32Config

    Members
    -------
    i : In(stream.Signature({a: 32, b: 32, tag}))
    o : Out(stream.Signature({less: 1, equal: 1, greater: 1, unordered: 1, maximum: 32, tag}))
    """

    RESULTS = {"less": 1, "equal": 1, "greater": 1, "unordered": 1, "maximum": WIDTH}
    LATENCY = 2
    DSP = 0

    def elaborate(self, platform):
        m = Module()
        advance = self.last_stages(m, self.i.valid, self.i.p.tag, self.LATENCY)
        m.d.comb += self.i.ready.eq(advance)
        a, b = decode(m, self.i.p.a, name="a"), decode(m, self.i.p.b, name="b")

        # Stage 1: unsigned keys in the order of the numbers, -0 just below +0.
        s1_a = Signal(WIDTH, reset_less=True)
        s1_b = Signal(WIDTH, reset_less=True)
        s1_unordered = Signal(reset_less=True)
        s1_zeros = Signal(reset_less=True)

        # Stage 2: compare; the larger key becomes a number again.
        below, same, larger = Signal(), Signal(), Signal(WIDTH)
        s2_result = Signal(data.StructLayout(self.RESULTS), reset_less=True)
        m.d.comb += [
            below.eq(s1_a < s1_b),
            same.eq((s1_a == s1_b) | s1_zeros),
            larger.eq(Mux(below, s1_b, s1_a)),
        ]
        number = Cat(larger[:-1] ^ (~larger[-1]).replicate(WIDTH - 1), ~larger[-1])
        with m.If(advance):
            m.d.sync += [
                s1_a.eq(_key(a)),
                s1_b.eq(_key(b)),
                s1_unordered.eq(a.nan | b.nan),
                s1_zeros.eq(a.zero & b.zero),
                s2_result.less.eq(below & ~same & ~s1_unordered),
                s2_result.equal.eq(same & ~s1_unordered),
                s2_result.greater.eq(~below & ~same & ~s1_unordered),
                s2_result.unordered.eq(s1_unordered),
                s2_result.maximum.eq(Mux(s1_unordered, QUIET_NAN, number)),
            ]
        m.d.comb += [getattr(self.o.p, name).eq(s2_result[name]) for name in self.RESULTS]
        return m
