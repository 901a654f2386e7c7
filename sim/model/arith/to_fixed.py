"""Bit-exact reference for ``hw.arith.to_fixed`` (integers only, no floats)."""

import numpy as np

from hw.arith.exp2 import MANTISSA_FORMAT

__all__ = ["to_fixed"]


def to_fixed(mantissa, exponent, target):
    """Return ``(raw, saturated)``, int64 and bool, for raw mantissas UQ(1, 24) in 1..2."""
    shift = exponent + (target.fraction + 1)
    inside = np.minimum(np.maximum(shift, 0), target.width)
    # Twice the result, with the bit to round by; a result below one half has shift < 0.
    twice = (mantissa << inside) >> MANTISSA_FORMAT.fraction
    raw = np.where(shift < 0, 0, (twice + 1) >> 1)
    saturated = (raw > target.high) | (shift > target.width)
    return np.where(saturated, target.high, raw), saturated
