"""Bit-exact reference for ``hw.arith.log2`` (integers only)."""

import numpy as np

from hw.arith.log2 import LOG2_FORMAT
from sim.compiled import compiled
from sim.model.arith.interpolate import flat, interpolate_one, parts

__all__ = ["log2", "log2_one"]

_FRACTION, _LIMIT = LOG2_FORMAT.fraction, (1 << LOG2_FORMAT.fraction) - 1
_ONE, _BITS = np.uint64(1), np.uint64(64)


def log2(x, config):
    """``(log2, zero)`` of uint64 ``x``: the logarithms, int64 raw values of UQ(6, 20), and bool:
    whether x is 0, whose logarithm counts as 0."""
    shape, (x,) = flat(np.uint64, x)
    values = _log2_all(x, config.mantissa_width, parts(config.table))
    return values.reshape(shape), (x == 0).reshape(shape)


@compiled
def log2_one(x, mantissa_width, table):
    """The logarithm to base 2 of one uint64 ``x``, raw in UQ(6, 20); an x of 0 counts as 1. Its
    fraction is interpolated in ``table``, of which ``parts`` gives the form."""
    word, exponent = max(x, _ONE), 63
    for power in range(5, -1, -1):  # the leading one goes to the top of the word
        places = _ONE << np.uint64(power)
        if not word >> (_BITS - places):
            word, exponent = word << places, exponent - np.int64(places)
    mantissa = np.int64((word << _ONE) >> np.uint64(64 - mantissa_width))
    fraction = min(interpolate_one(mantissa, table), _LIMIT)
    return (exponent << _FRACTION) + fraction


@compiled
def _log2_all(x, mantissa_width, table):
    values = np.empty(len(x), np.int64)
    for k in range(len(x)):
        values[k] = log2_one(x[k], mantissa_width, table)
    return values
