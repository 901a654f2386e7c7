"""Bit-exact reference for ``hw.arith.power`` (integers only, no floats)."""

import numpy as np

from hw.arith.power import FRACTION_FORMAT, SCALE_FORMAT
from sim.compiled import compiled
from sim.model.arith.interpolate import flat, interpolate_one, parts

__all__ = ["power", "power_one"]

_SCALE_FRACTION, _WIDTH = SCALE_FORMAT.fraction, FRACTION_FORMAT.width


def power(log, scale, config):
    """``(mantissa, exponent)``, int64 arrays with ``2**(log * scale) = mantissa * 2**exponent``,
    for raw ``log`` in SQ(7, 20) and raw ``scale`` in UQ(1, 15). ``mantissa`` is raw in UQ(1, 24),
    at least 1; ``exponent`` is an integer."""
    shape, arrays = flat(np.int64, log, scale)
    mantissa, exponent = _power_all(*arrays, parts(config.exp2.table))
    return mantissa.reshape(shape), exponent.reshape(shape)


@compiled
def power_one(log, scale, table):
    """``power`` of one number: ``(mantissa, exponent)``. ``log * scale`` is rounded half up to a
    multiple of 2^-20; ``table`` is that of ``exp2``, in the form of ``interpolate.parts``."""
    rounded = (log * scale + (1 << (_SCALE_FRACTION - 1))) >> _SCALE_FRACTION
    fraction = rounded & ((1 << _WIDTH) - 1)
    return interpolate_one(fraction, table), rounded >> _WIDTH


@compiled
def _power_all(log, scale, table):
    mantissa, exponent = np.empty_like(log), np.empty_like(log)
    for k in range(len(log)):
        mantissa[k], exponent[k] = power_one(log[k], scale[k], table)
    return mantissa, exponent
