"""Bit-exact reference for ``hw.arith.quantize``."""

import numpy as np

__all__ = ["quantize"]


def quantize(x, target):
    """``(raw, saturated)``, int64 and bool: the raw values of float32 ``x`` in the fixed-point
    format ``target``, rounded half up, and which of them were clipped to its limits. A NaN becomes
    0 and counts as saturated."""
    # Exact in float64 wherever the half matters: x has 24 significant bits.
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wide = np.asarray(x, dtype=np.float32).astype(np.float64)
    rounded = np.floor(wide * 2.0**target.fraction + 0.5)
    inside = np.clip(rounded, target.low, target.high)
    saturated = inside != rounded  # true of a NaN
    return np.where(np.isnan(inside), 0.0, inside).astype(np.int64), saturated
