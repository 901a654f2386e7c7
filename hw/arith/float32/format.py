"""IEEE-754 binary32: its fields, decoding of operands, and rounding, the last step of every unit.

All float32 units follow one rule: ``result = flush(round(f(flush(operands))))``, where ``round``
is IEEE's round to nearest even and ``flush`` makes zeros of subnormals and keeps their sign. So a
result that rounds up to the smallest normal is that normal. Every NaN that leaves is 0x7fc00000;
every NaN that enters counts as quiet.
"""

from amaranth import *
from amaranth.lib import data

__all__ = [
    "BIAS",
    "EXPONENT_MAX",
    "FIELDS",
    "PRECISION",
    "QUIET_NAN",
    "SIDE",
    "WIDTH",
    "decode",
    "normalise",
    "rounded",
    "times_power_of_two",
]

WIDTH = 32
#: Bits of the significand, with the leading one that is not stored.
PRECISION = 24
BIAS = 127
#: Exponent field of infinities and NaNs.
EXPONENT_MAX = 255
QUIET_NAN = 0x7FC0_0000

FIELDS = data.StructLayout({"fraction": PRECISION - 1, "exponent": 8, "sign": 1})

_OPERAND = data.StructLayout(
    {"significand": PRECISION, "exponent": 8, "sign": 1, "zero": 1, "infinity": 1, "nan": 1}
)

#: What goes beside a significand on its way to ``rounded``: the biased exponent, as wide as a
#: product needs, and the cases in which no significand counts. NaN prevails, then infinity.
SIDE = data.StructLayout({"exponent": signed(10), "sign": 1, "zero": 1, "infinity": 1, "nan": 1})


def decode(m, bits, *, name):
    """The 32 ``bits`` of a binary32 as a signal ``name``, combinational in ``m``.

    Its fields: significand (24 bits with the leading one; 0 for a zero), exponent (biased), sign,
    zero, infinity and nan. A subnormal decodes as a zero.
    """
    fields = data.View(FIELDS, bits)
    operand = Signal(_OPERAND, name=name)
    last = Signal(name=f"{name}_last")
    m.d.comb += [
        last.eq(fields.exponent == EXPONENT_MAX),
        operand.zero.eq(fields.exponent == 0),
        operand.infinity.eq(last & (fields.fraction == 0)),
        operand.nan.eq(last & (fields.fraction != 0)),
        operand.sign.eq(fields.sign),
        operand.exponent.eq(fields.exponent),
        operand.significand.eq(Mux(operand.zero, 0, Cat(fields.fraction, 1))),
    ]
    return operand


def normalise(m, value, steps):
    """Shifts leading zeros out of ``value``: for each number of ``steps`` in turn, by that number
    if as many upper bits are 0.

    Returns the value and, if the steps are powers of two that halve from one to the next, the
    distance: a bit for each step, the last step's lowest. Combinational.
    """
    far = []
    for step in steps:
        empty = Signal(name=f"empty_{step}")
        shifted = Signal.like(value, name=f"normal_{step}")
        m.d.comb += [
            empty.eq(~value[-step:].any()),
            shifted.eq(Mux(empty, value << step, value)),
        ]
        value = shifted
        far.append(empty)
    return value, Cat(*reversed(far))


def rounded(m, side, significand, guard, sticky):
    """The 32 bits of ``significand * 2**(exponent - BIAS - 23)``, rounded to nearest even.

    ``significand`` has 24 bits, the topmost is 1. ``guard`` is the first bit below the significand,
    ``sticky`` whether any bit below the guard is 1. ``side`` is a signal of SIDE with exponent,
    sign and the special cases, which replace the number. A result below the smallest normal number
    is a zero of its sign, one that is too large is infinity. Combinational.
    """
    up = Signal(name="round_up")
    sum_ = Signal(signed(PRECISION - 1 + len(side.exponent)), name="round_sum")
    exponent = Signal(side.exponent.shape(), name="round_exponent")
    result = Signal(WIDTH, name="round_result")
    m.d.comb += [
        # Just below the smallest normal, IEEE rounds one bit further up than above it: a half
        # unit here, so that all ones already become the smallest normal. All others stay below.
        up.eq((guard & (sticky | significand[0])) | (side.exponent == 0)),
        # A carry out of the fraction is the carry into the exponent.
        sum_.eq(Cat(significand[:-1], side.exponent).as_signed() + up),
        exponent.eq(sum_[PRECISION - 1 :].as_signed()),
    ]
    with m.If(side.nan):
        m.d.comb += result.eq(QUIET_NAN)
    with m.Elif(side.infinity):
        m.d.comb += result.eq(Cat(Const(0, 23), Const(EXPONENT_MAX, 8), side.sign))
    with m.Elif(side.zero | (exponent <= 0)):
        m.d.comb += result.eq(Cat(Const(0, 31), side.sign))
    with m.Elif(exponent >= EXPONENT_MAX):
        m.d.comb += result.eq(Cat(Const(0, 23), Const(EXPONENT_MAX, 8), side.sign))
    with m.Else():
        m.d.comb += result.eq(Cat(sum_[:31], side.sign))
    return result


def times_power_of_two(value, places):
    """``value * 2**places``, 32 bits as ``Float32Multiply`` gives them; combinational.

    value : Value of 32 bits.
    places : an integer or a signed Value.
    """
    x = data.View(FIELDS, value)
    exponent = x.exponent + places
    # A result below the smallest normal number becomes zero. The largest such result is a tie
    # and rounds up to that normal number.
    small = (x.exponent == 0) | (exponent <= 0)
    least = (x.exponent != 0) & (exponent == 0) & x.fraction.all()
    result = Mux(small, Cat(Const(0, PRECISION - 1), least), Cat(x.fraction, exponent[:8]))
    infinity = EXPONENT_MAX << (PRECISION - 1)
    result = Mux(exponent >= EXPONENT_MAX, infinity, result)
    special = x.exponent == EXPONENT_MAX
    result = Mux(special, value[:-1], result)
    return Mux(special & x.fraction.any(), QUIET_NAN, Cat(result[:31], x.sign))
