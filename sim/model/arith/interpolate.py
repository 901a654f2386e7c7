"""Bit-exact reference for ``hw.arith.interpolate`` (integers only, no floats)."""

import numpy as np

from sim.compiled import compiled

__all__ = ["flat", "interpolate", "interpolate_all", "interpolate_one", "parts"]


def interpolate(x, table):
    """The int64 values of a ``hw.arith.interpolate.Table`` at the points ``x``, int64 of any shape.
    Each x must be at least 0 and below ``2**table.x_width``; this is not checked."""
    shape, (x,) = flat(np.int64, x)
    return interpolate_all(x, parts(table)).reshape(shape)


def parts(table):
    """A ``hw.arith.interpolate.Table`` in the form that compiled functions take: the tuple ``(base,
    slope, remainder_width, drop)``."""
    return table.base, table.slope, table.remainder_width, table.drop


def flat(kind, *arrays):
    """``(shape, arrays)``: the shape to which the given arrays broadcast, and each of them
    broadcast to it, as a contiguous array of one dimension with the dtype ``kind``."""
    arrays = [np.asarray(array, kind) for array in arrays]
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        arrays = [np.broadcast_to(array, shape) for array in arrays]
    return shape, [np.ascontiguousarray(array).reshape(-1) for array in arrays]


@compiled
def interpolate_one(x, table):
    base, slope, remainder_width, drop = table
    # Unsigned: of a negative one numba would count from the end.
    index, remainder = np.uint64(x >> remainder_width), x & ((1 << remainder_width) - 1)
    total = (base[index] << remainder_width) + slope[index] * remainder + (1 << (drop - 1))
    return total >> drop


@compiled
def interpolate_all(x, table):
    values = np.empty_like(x)
    for k in range(x.size):
        values[k] = interpolate_one(x[k], table)
    return values
