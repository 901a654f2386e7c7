"""Bit-exact reference for ``hw.arith.tanh``: a table in integers, and one float32 product."""

import numpy as np

from hw.arith.tanh import LIMIT, VALUE_FORMAT, X_FORMAT, tanh_table
from sim.model.arith.float32 import multiply

__all__ = ["ratio", "tanh", "tanh_fixed"]


def ratio(x):
    """``tanh(x) / x``, int64 raw values of UQ(1, 26), for raw ``x`` of UQ(3, 23). It is
    interpolated in a table by a parabola, whose products and result are rounded down."""
    table = tanh_table()
    index, rest = x >> table.rest_width, x & ((1 << table.rest_width) - 1)
    slope = table.slope[index] - ((table.curve[index] * rest) >> table.rest_width)
    return (table.base[index] - ((slope * rest) >> table.rest_width)) >> table.guard


def tanh(x):
    """Hyperbolic tangent of float32 ``x``, as float32. If the magnitude is 8 or more, it is 1 or
    -1; for a subnormal it is a zero of its sign, for a NaN 0x7fc00000."""
    x = np.asarray(x, dtype=np.float32)
    magnitude = np.abs(x)
    beyond = magnitude >= LIMIT
    inside = np.where(magnitude < LIMIT, magnitude, np.float32(0))  # neither is true of a NaN
    scaled = (inside.astype(np.float64) * 2.0**X_FORMAT.fraction).astype(np.int64)
    value = ratio(scaled)
    # Cut to the 24 bits of a significand: two bits go from 1/2 on, one from 1/4 on.
    value = value & ~((value >> 24) | (value >> 25) & 1)
    factor = value.astype(np.float32) * np.float32(2.0**-VALUE_FORMAT.fraction)
    return multiply(
        np.where(beyond, np.copysign(np.float32(1), x), x), np.where(beyond, np.float32(1), factor)
    )


def tanh_fixed(raw, target):
    """Hyperbolic tangent of int64 raw values, rounded half up. Arguments and results are in the
    signed format ``target``. If the magnitude is 8 or more, the result is 1 or -1."""
    raw = np.asarray(raw, dtype=np.int64)
    magnitude = np.abs(raw)
    beyond = magnitude >= LIMIT << target.fraction
    inside = np.where(beyond, 0, magnitude) << (X_FORMAT.fraction - target.fraction)
    one = np.int64(1) << target.fraction
    # A bit less, for the 27-bit operand of a DSP block.
    value = ratio(inside) >> 1
    fraction = VALUE_FORMAT.fraction - 1
    product = (raw * value + (1 << (fraction - 1))) >> fraction
    return np.where(beyond, np.sign(raw) * one, product)
