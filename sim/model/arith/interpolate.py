"""Bit-exact reference for ``hw.arith.interpolate`` (integers only, no floats)."""

import numpy as np

from sim.model.arith.compiled import flat, interpolate_all, parts

__all__ = ["interpolate"]


def interpolate(x, table):
    """Return the int64 values of ``table`` at int64 ``x``, which fit ``table.x_width`` bits."""
    shape, (x,) = flat(np.int64, x)
    return interpolate_all(x, parts(table)).reshape(shape)
