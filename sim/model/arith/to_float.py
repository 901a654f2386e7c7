"""Bit-exact reference for ``hw.arith.to_float``: NumPy's conversion of integers to float32."""

import numpy as np

__all__ = ["to_float"]


def to_float(raw, fraction):
    """``raw * 2**-fraction`` as float32, rounded to nearest even, for an array of int64 ``raw``
    with ``fraction`` fraction bits."""
    return np.asarray(raw, dtype=np.int64).astype(np.float32) * np.float32(2.0**-fraction)
