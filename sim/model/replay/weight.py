"""Bit-exact reference for ``hw.replay.weight`` (integers only, no floats)."""

import numpy as np

from sim.model.arith.compiled import flat, parts, weights

__all__ = ["weight"]


def weight(priority, total, count, beta, config):
    """Return float32 weights for unsigned integers of equal or broadcast shape.

    ``priority`` and ``total`` are raw values of one fraction; ``beta`` is raw UQ(1, 15).
    """
    if np.ndim(total) or np.ndim(count):
        shape, arrays = flat(np.uint64, priority, total, count)
    else:
        shape, (priority,) = flat(np.uint64, priority)
        arrays = priority, np.array([total], np.uint64), np.array([count], np.uint64)
    log = config.log2["priority"]  # the three differ in width alone
    tables = parts(log.table), parts(config.power.exp2.table)
    bits = weights(*arrays, int(beta), log.mantissa_width, *tables)
    return bits.view(np.float32).reshape(shape)
