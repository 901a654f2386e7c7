"""Bit-exact reference for ``hw.arith.fixed.Requantize`` (integers only, no floats)."""

import numpy as np

__all__ = ["requantize", "saturation_count"]


def requantize(raw, config):
    """Return ``(raw, saturated)``, int64 and bool, for int64 raw values of ``config.source``.

    ``clip(floor(raw * 2**-config.right_shift + 1/2), low, high)``, without overflow of int64.
    """
    raw = np.asarray(raw, dtype=np.int64)
    low, high = config.target.low, config.target.high
    shift = config.right_shift
    if shift > 0:
        # Half up is: floor, plus the bit below the point.
        value = (raw >> min(shift, 63)) + ((raw >> (shift - 1)) & 1)
        over, under = value > high, value < low
    else:
        # Compared before the shift, which only then is safe; low is a multiple of 2**-shift.
        over, under = raw > (high >> -shift), raw < (low >> -shift)
        value = np.where(over | under, 0, raw) << -shift
    return np.where(over, high, np.where(under, low, value)), over | under


def saturation_count(saturated, config):
    """What the counter shows after these results have left, counted from reset."""
    return min(int(np.count_nonzero(saturated)), (1 << config.count_width) - 1)
