"""Bit-exact reference for ``hw.arith.multiply``: products of two words of up to 64 bits."""

import numpy as np

__all__ = ["multiply"]

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFF_FFFF)


def multiply(a, b):
    """The exact product of two uint64 arrays of up to 128 bits, as two uint64 arrays ``(high,
    low)`` with ``a * b = high * 2**64 + low``."""
    a, b = np.asarray(a, dtype=np.uint64), np.asarray(b, dtype=np.uint64)
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    first = a_low * b_low
    # Each sum is below 2**64: (2**32 - 1)**2 + 2 * (2**32 - 1) = 2**64 - 1.
    second = a_high * b_low + (first >> _HALF)
    third = a_low * b_high + (second & _LOW)
    high = a_high * b_high + (second >> _HALF) + (third >> _HALF)
    return high, (third << _HALF) | (first & _LOW)
