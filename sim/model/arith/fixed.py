"""Bit-exact reference for ``hw.arith.fixed.requantize`` (integers only, no floats)."""

import numpy as np

__all__ = ["requantize"]


def requantize(raw, fraction, target):
    """``(raw, saturated)``, int64 and bool: the raw values in the format ``target`` of the values
    ``raw``, int64 with ``fraction`` fraction bits, and which of them were clipped.

    ``clip(floor(raw * 2**(target.fraction - fraction) + 1/2), target.low, target.high)``, without
    overflow of int64.
    """
    raw, shift = np.asarray(raw, dtype=np.int64), fraction - target.fraction
    low, high = target.low, target.high
    if shift > 0:
        # Half up is: floor, plus the bit below the point.
        value = (raw >> min(shift, 63)) + ((raw >> (shift - 1)) & 1)
        over, under = value > high, value < low
    else:
        # Compared before the shift, which only then is safe; low is a multiple of 2**-shift.
        over, under = raw > (high >> -shift), raw < (low >> -shift)
        value = np.where(over | under, 0, raw) << -shift
    return np.where(over, high, np.where(under, low, value)), over | under
