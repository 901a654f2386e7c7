"""Bit-exact reference for ``hw.arith.to_fixed`` (integers only, no floats)."""

import numpy as np

from hw.arith.exp2 import MANTISSA_FORMAT
from sim.compiled import compiled
from sim.model.arith.interpolate import flat

__all__ = ["to_fixed", "to_fixed_one"]

_FRACTION = MANTISSA_FORMAT.fraction


def to_fixed(mantissa, exponent, target):
    """``(raw, saturated)``, int64 and bool: ``mantissa * 2**exponent`` as raw values of the
    unsigned format ``target``, rounded half up, and whether each was above ``target.high``, which
    it then becomes. ``mantissa`` is raw in UQ(1, 24), from 1 to below 2."""
    shape, arrays = flat(np.int64, mantissa, exponent)
    raw, saturated = _to_fixed_all(*arrays, target.fraction, target.width, target.high)
    return raw.reshape(shape), saturated.reshape(shape)


@compiled
def to_fixed_one(mantissa, exponent, fraction, width, high):
    """``to_fixed`` of one number: ``(raw, saturated)``. ``fraction``, ``width`` and ``high`` are
    the fraction bits, all bits and the largest raw value of the format."""
    shift = exponent + (fraction + 1)
    # Twice the result, with the bit to round by; a result below one half has shift < 0.
    twice = (mantissa << min(max(shift, 0), width)) >> _FRACTION
    raw = 0 if shift < 0 else (twice + 1) >> 1
    if raw > high or shift > width:
        return high, True
    return raw, False


@compiled
def _to_fixed_all(mantissa, exponent, fraction, width, high):
    raw, saturated = np.empty_like(mantissa), np.empty(len(mantissa), np.bool_)
    for k in range(len(mantissa)):
        raw[k], saturated[k] = to_fixed_one(mantissa[k], exponent[k], fraction, width, high)
    return raw, saturated
