"""Numbers to codes by exact fractions, one at a time: the formula of ``standardize``."""

from fractions import Fraction
from math import floor

import numpy as np

__all__ = ["LIMITS", "naive_code", "naive_number"]

#: Of 27 bits, signed.
LIMITS = -(1 << 26), (1 << 26) - 1


def clip(x, low, high):
    return max(low, min(high, x))


def naive_number(number, exponent):
    """``x``, and whether it was clipped."""
    if abs(number) < np.finfo(np.float32).tiny:
        return 0, False
    x = floor(Fraction(float(number)) * Fraction(2) ** exponent + Fraction(1, 2))
    return clip(x, *LIMITS), clip(x, *LIMITS) != x


def naive_code(number, exponent, mean, factor, shift, limit):
    """The code, and whether it or its number was clipped."""
    x, clipped = naive_number(number, exponent)
    code = floor(Fraction((x - mean) * factor, 1 << shift) + Fraction(1, 2))
    return clip(code, -limit, limit), clipped or abs(code) > limit
