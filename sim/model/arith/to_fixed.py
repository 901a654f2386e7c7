"""Bit-exact reference for ``hw.arith.to_fixed`` (integers only, no floats)."""

import numpy as np
from numba import njit

from hw.arith.exp2 import MANTISSA_FORMAT

__all__ = ["to_fixed"]

_FRACTION = MANTISSA_FORMAT.fraction


def to_fixed(mantissa, exponent, target):
    """Return ``(raw, saturated)``, int64 and bool, for raw mantissas UQ(1, 24) in 1..2."""
    mantissa, exponent = np.asarray(mantissa, np.int64), np.asarray(exponent, np.int64)
    if mantissa.shape != exponent.shape:
        mantissa, exponent = np.broadcast_arrays(mantissa, exponent)
    flat = (np.ascontiguousarray(each).reshape(-1) for each in (mantissa, exponent))
    raw, saturated = _converted(*flat, target.fraction, target.width, target.high)
    return raw.reshape(mantissa.shape), saturated.reshape(mantissa.shape)


@njit(cache=True)
def _converted(mantissa, exponent, fraction, width, high):
    raw, saturated = np.empty_like(mantissa), np.empty(len(mantissa), np.bool_)
    for k in range(len(mantissa)):
        shift = exponent[k] + (fraction + 1)
        # Twice the result, with the bit to round by; a result below one half has shift < 0.
        twice = (mantissa[k] << min(max(shift, 0), width)) >> _FRACTION
        raw[k] = 0 if shift < 0 else (twice + 1) >> 1
        saturated[k] = raw[k] > high or shift > width
        if saturated[k]:
            raw[k] = high
    return raw, saturated
