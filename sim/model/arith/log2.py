"""Bit-exact reference for ``hw.arith.log2`` (integers only)."""

import numpy as np
from numba import njit

from hw.arith.log2 import LOG2_FORMAT
from sim.model.arith.interpolate import interpolate

__all__ = ["log2"]

_FRACTION_MAX = (1 << LOG2_FORMAT.fraction) - 1
_ONE = np.uint64(1)


def log2(x, config):
    """Return ``(log2, zero)``, int64 raw values of UQ(6, 20) and bool, for uint64 ``x``."""
    x = np.asarray(x, dtype=np.uint64)
    flat = np.ascontiguousarray(x).reshape(-1)
    exponent, mantissa = _normalised(flat, 64 - config.mantissa_width)
    fraction = np.minimum(interpolate(mantissa, config.table), _FRACTION_MAX)
    return ((exponent << LOG2_FORMAT.fraction) + fraction).reshape(x.shape), x == 0


@njit(cache=True)
def _normalised(x, drop):
    """Position of the leading one, and what follows it but for the last ``drop`` of 64 bits; 0 is
    taken as 1."""
    exponents, mantissas = np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    for k in range(len(x)):
        word, exponent = max(x[k], _ONE), 63
        while not word >> np.uint64(63):
            word, exponent = word << _ONE, exponent - 1
        exponents[k], mantissas[k] = exponent, (word << _ONE) >> np.uint64(drop)
    return exponents, mantissas
