"""Bit-exact reference for ``hw.arith.log2`` (integers only)."""

import numpy as np

from sim.model.arith.compiled import flat, log2_all, parts

__all__ = ["log2"]


def log2(x, config):
    """Return ``(log2, zero)``, int64 raw values of UQ(6, 20) and bool, for uint64 ``x``."""
    shape, (x,) = flat(np.uint64, x)
    values = log2_all(x, config.mantissa_width, parts(config.table))
    return values.reshape(shape), (x == 0).reshape(shape)
