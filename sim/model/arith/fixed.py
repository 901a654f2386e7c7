"""Bit-exact reference for ``hw.arith.fixed.requantize`` (integers only, no floats)."""

import numpy as np

from sim.compiled import compiled

__all__ = ["requantize"]


def requantize(raw, fraction, target):
    """``(raw, saturated)``, int64 and bool: the raw values in the format ``target`` of the values
    ``raw``, int64 with ``fraction`` fraction bits, and which of them were clipped.

    ``clip(floor(raw * 2**(target.fraction - fraction) + 1/2), target.low, target.high)``, without
    overflow of int64.
    """
    raw = np.ascontiguousarray(raw, dtype=np.int64)
    value, over = np.empty_like(raw), np.empty(raw.shape, np.bool_)
    _requantize(
        raw.reshape(-1), fraction - target.fraction, target.low, target.high,
        value.reshape(-1), over.reshape(-1),
    )  # fmt: skip
    return value, over


@compiled
def _requantize(raw, shift, low, high, value, over):
    if shift > 0:
        # Half up is: floor, plus the bit below the point.
        floor, below = min(shift, 63), min(shift - 1, 63)
        for k in range(raw.size):
            each = (raw[k] >> floor) + ((raw[k] >> below) & 1)
            value[k] = min(max(each, low), high)
            over[k] = (each > high) | (each < low)
    else:
        # Compared before the shift, which only then is safe; low is a multiple of 2**-shift.
        least, most = low >> -shift, high >> -shift
        for k in range(raw.size):
            inside = min(max(raw[k], least), most)
            value[k] = inside << -shift
            over[k] = inside != raw[k]
            if raw[k] > most:
                value[k] = high
