"""Bit-exact reference for ``hw.arith.tanh``: a table in integers, and one float32 product."""

import numpy as np

from hw.arith.tanh import LIMIT, VALUE_FORMAT, X_FORMAT, tanh_table
from sim.compiled import compiled
from sim.model.arith.float32_steps import ONE, ZERO, flush, leave, product

__all__ = ["derived", "tanh", "tanh_fixed"]

_SCALE, _UNIT = 2.0**X_FORMAT.fraction, np.float32(2.0**-VALUE_FORMAT.fraction)
#: Of x, and of a value with a bit less.
_FRACTIONS = X_FORMAT.fraction, VALUE_FORMAT.fraction - 1


def tanh(x):
    """Hyperbolic tangent of float32 ``x``, as float32. If the magnitude is 8 or more, it is 1 or
    -1; for a subnormal it is a zero of its sign, for a NaN 0x7fc00000."""
    x = np.asarray(x, dtype=np.float32)
    t = tanh_table()
    numbers = np.ascontiguousarray(x).reshape(-1)
    return _tanh(numbers, t.base, t.slope, t.curve, t.rest_width, t.guard).reshape(x.shape)


@compiled
def _ratio(x, base, slopes, curve, rest_width, guard):
    """``tanh(x) / x``, a raw value of UQ(1, 26), for raw ``x`` of UQ(3, 23). It is interpolated in
    a table, whose parts are the other arguments, by a parabola, whose products and result are
    rounded down."""
    index, rest = x >> rest_width, x & ((1 << rest_width) - 1)
    slope = slopes[index] - ((curve[index] * rest) >> rest_width)
    return (base[index] - ((slope * rest) >> rest_width)) >> guard


@compiled
def _tanh(x, base, slopes, curve, rest_width, guard):
    """The same with the table's parts."""
    result = np.empty_like(x)
    for k in range(x.size):
        magnitude = abs(x[k])
        if magnitude >= LIMIT:
            result[k] = np.copysign(ONE, x[k])
            continue
        inside = magnitude if magnitude < LIMIT else ZERO  # a NaN is not below it
        scaled = np.int64(np.float64(inside) * _SCALE)
        value = _ratio(scaled, base, slopes, curve, rest_width, guard)
        # Cut to the 24 bits of a significand: two bits go from 1/2 on, one from 1/4 on.
        value &= ~((value >> 24) | ((value >> 25) & 1))
        result[k] = leave(product(flush(x[k]), np.float32(value) * _UNIT))
    return result


@compiled
def _derived(dx, x):
    result = np.empty_like(dx)
    for k in range(dx.size):
        y = flush(x[k])
        slope = flush(ONE - product(y, y))
        result[k] = leave(product(flush(dx[k]), slope))
    return result


def derived(dx, x):
    """``dx (1 - x^2)`` of float32 arrays of one shape, in this order of operations: a gradient
    through ``tanh``, whose result is ``x``."""
    parts = (np.ascontiguousarray(part, np.float32).reshape(-1) for part in (dx, x))
    return _derived(*parts).reshape(np.shape(dx))


def tanh_fixed(raw, target):
    """Hyperbolic tangent of int64 raw values, rounded half up. Arguments and results are in the
    signed format ``target``. If the magnitude is 8 or more, the result is 1 or -1."""
    raw, t = np.ascontiguousarray(raw, dtype=np.int64), tanh_table()
    numbers = raw.reshape(-1)
    return _tanh_fixed(
        numbers, target.fraction, t.base, t.slope, t.curve, t.rest_width, t.guard
    ).reshape(raw.shape)


@compiled
def _tanh_fixed(raw, target, base, slopes, curve, rest_width, guard):
    result, one, limit = np.empty_like(raw), np.int64(1) << target, LIMIT << target
    for k in range(raw.size):
        magnitude = abs(raw[k])
        inside = (0 if magnitude >= limit else magnitude) << (_FRACTIONS[0] - target)
        # A bit less, for the 27-bit operand of a DSP block.
        value, fraction = _ratio(inside, base, slopes, curve, rest_width, guard) >> 1, _FRACTIONS[1]
        product = (raw[k] * value + (1 << (fraction - 1))) >> fraction
        result[k] = product if magnitude < limit else (one if raw[k] > 0 else -one)
    return result
