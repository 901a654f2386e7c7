"""Single operations of binary32 for compiled loops: subnormals count and leave as zeros of their
sign. IEEE's operations one by one: no contraction, no reordering.

An argument ``flushing`` is None or True; the compiler makes a version of the caller for each. None
is for operands that are ``safe``.
"""

import numpy as np

from sim.compiled import compiled

__all__ = ["MINUS_ZERO", "NAN", "ONE", "TINY", "ZERO"]
__all__ += ["add", "flush", "is_safe", "leave", "multiply", "product"]

TINY = np.finfo(np.float32).tiny
ZERO, ONE, MINUS_ZERO = np.float32(0), np.float32(1), np.float32(-0.0)
NAN = np.array(0x7FC00000, dtype=np.uint32).view(np.float32)[()]

#: Numbers of at least 2**-102 are multiples of 2**-125, and so is every rounded sum of them.
_SMALLEST_PRODUCT = 2.0**-102


@compiled
def flush(x):
    """The number ``x``; if it is subnormal, a zero with the sign of ``x``."""
    return np.copysign(ZERO, x) if abs(x) < TINY else x


@compiled
def leave(x):
    """Replaces every NaN by 0x7fc00000."""
    return x if x == x else NAN


@compiled
def product(a, b):
    """``a * b`` of two numbers that are not subnormal; a subnormal product becomes a zero of its
    sign."""
    return flush(a * b)


@compiled
def multiply(a, b, flushing):
    """``a * b``. If ``flushing`` is True, subnormal operands and a subnormal product become zeros;
    if None, nothing is flushed."""
    if flushing is None:
        return a * b
    return product(flush(a), flush(b))


@compiled
def add(a, b, flushing):
    """``a + b`` of two numbers that are not subnormal. If ``flushing`` is True, a subnormal sum
    becomes a zero; if None, nothing is flushed."""
    if flushing is None:
        return a + b
    return flush(a + b)


@compiled
def _smallest(numbers):
    """The smallest magnitude except zero, as float64; infinity if all numbers are zero."""
    bits = numbers.reshape(-1).view(np.uint32)
    low = np.uint32(0x7F800000 - 1)
    for k in range(bits.size):
        # Zero wraps around to the largest.
        low = min(low, np.uint32((bits[k] & np.uint32(0x7FFFFFFF)) - np.uint32(1)))
    return np.float64(np.array([low + np.uint32(1)], np.uint32).view(np.float32)[0])


@compiled
def is_safe(a, b):
    """Whether surely no number of the float32 arrays ``a`` and ``b`` is subnormal, nor a product of
    one of each, nor a sum of such products. It looks at the smallest magnitudes except zero; False
    means only that a subnormal is possible."""
    low_a, low_b = _smallest(a), _smallest(b)
    return min(low_a, low_b) >= TINY and low_a * low_b >= _SMALLEST_PRODUCT
