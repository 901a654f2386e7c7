"""Bit-exact reference for ``hw.arith.power`` (integers only, no floats)."""

import numpy as np

from sim.model.arith.compiled import flat, parts, power_all

__all__ = ["power"]


def power(log, scale, config):
    """Return ``(mantissa, exponent)``, int64, for raw logarithms SQ(7, 20), scale UQ(1, 15)."""
    shape, arrays = flat(np.int64, log, scale)
    mantissa, exponent = power_all(*arrays, parts(config.exp2.table))
    return mantissa.reshape(shape), exponent.reshape(shape)
