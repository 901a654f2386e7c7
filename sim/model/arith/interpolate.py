"""Bit-exact reference for ``hw.arith.interpolate`` (integers only, no floats)."""

import numpy as np
from numba import njit

__all__ = ["interpolate"]


def interpolate(x, table):
    """Return the int64 values of ``table`` at int64 ``x``, which fit ``table.x_width`` bits."""
    x = np.asarray(x, np.int64)
    flat = np.ascontiguousarray(x).reshape(-1)
    values = _interpolated(flat, table.base, table.slope, table.remainder_width, table.drop)
    return values.reshape(x.shape)


@njit(cache=True)
def _interpolated(x, base, slope, remainder_width, drop):
    values = np.empty_like(x)
    for k in range(len(x)):
        index = x[k] >> remainder_width
        remainder = x[k] & ((1 << remainder_width) - 1)
        total = (base[index] << remainder_width) + slope[index] * remainder + (1 << (drop - 1))
        values[k] = total >> drop
    return values
