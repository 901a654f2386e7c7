"""Bit-exact reference for ``hw.arith.to_fixed`` (integers only, no floats)."""

import numpy as np

from sim.model.arith.compiled import convert_all, flat

__all__ = ["to_fixed"]


def to_fixed(mantissa, exponent, target):
    """Return ``(raw, saturated)``, int64 and bool, for raw mantissas UQ(1, 24) in 1..2."""
    shape, arrays = flat(np.int64, mantissa, exponent)
    raw, saturated = convert_all(*arrays, target.fraction, target.width, target.high)
    return raw.reshape(shape), saturated.reshape(shape)
