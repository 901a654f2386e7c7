"""Products of a binary32 and a power of two, without a multiplier."""

from amaranth import *
from amaranth.lib import data

from hw.arith.float32.format import EXPONENT_MAX, FIELDS, PRECISION, QUIET_NAN

__all__ = ["times_power_of_two"]


def times_power_of_two(value, places):
    """``value * 2**places``, a Value of 32 bits with those that ``Float32Multiply`` would give;
    combinational.

    value : Value of 32 bits.
    places : an integer or a signed Value.
    """
    x = data.View(FIELDS, value)
    exponent = x.exponent + places
    # A result below the smallest normal number becomes zero, except the largest one, a tie, which
    # rounds up to it.
    small = (x.exponent == 0) | (exponent <= 0)
    least = (x.exponent != 0) & (exponent == 0) & x.fraction.all()
    result = Mux(small, Cat(Const(0, PRECISION - 1), least), Cat(x.fraction, exponent[:8]))
    infinity = EXPONENT_MAX << (PRECISION - 1)
    result = Mux(exponent >= EXPONENT_MAX, infinity, result)
    special = x.exponent == EXPONENT_MAX
    result = Mux(special, value[:-1], result)
    return Mux(special & x.fraction.any(), QUIET_NAN, Cat(result[:31], x.sign))
