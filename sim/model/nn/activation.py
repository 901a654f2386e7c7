"""Bit-exact reference for ``hw.nn.activation``, and numbers to and from binary32.

Arrays of numbers are float32 where ``arithmetic`` is float32, else int64 of raw values.
"""

import numpy as np

from sim.model.arith import float32
from sim.model.arith import quantize as _quantize
from sim.model.arith import to_float as _to_float
from sim.model.arith.tanh import tanh, tanh_fixed

__all__ = ["activate", "derivative", "derivative_fraction", "quantize", "to_float"]

_ZERO, _ONE = np.float32(0), np.float32(1)
_TINY = np.finfo(np.float32).tiny


def activate(arithmetic, activation, y):
    """``activation(y)``; relu leaves a NaN, and gives +0 for -0."""
    if activation == "linear":
        return y
    if activation == "relu":
        if arithmetic.is_float:
            return np.maximum(y, _ZERO) + _ZERO  # -0 as +0
        return np.maximum(y, 0)
    return tanh(y) if arithmetic.is_float else tanh_fixed(y, arithmetic.activation)


def derivative(arithmetic, activation, dx, x):
    """``dx`` times the derivative of ``activation`` where its result is ``x``."""
    if activation == "linear":
        return dx
    if activation == "relu":
        if arithmetic.is_float:
            return np.where(x >= _TINY, dx, _ZERO)  # a subnormal counts as a zero
        return np.where(x > 0, dx, 0)
    if arithmetic.is_float:
        return float32.multiply(dx, float32.add(_ONE, -float32.multiply(x, x)))
    fraction = derivative_fraction(arithmetic)
    double = 2 * arithmetic.activation.fraction
    rest = ((np.int64(1) << double) - x * x) >> (double - fraction)
    half = (np.int64(1) << fraction) >> 1
    return (dx * rest + half) >> fraction


def derivative_fraction(arithmetic):
    """Fraction bits of ``1 - x**2``: all there are, but no more than a DSP block takes."""
    return min(2 * arithmetic.activation.fraction, 25)


def quantize(arithmetic, kind, f32):
    """float32 as numbers of ``kind``: ``(numbers, saturated)``."""
    if arithmetic.is_float:
        return f32, np.zeros(np.shape(f32), dtype=bool)
    return _quantize.quantize(f32, getattr(arithmetic, kind))


def to_float(arithmetic, kind_or_fraction, raw):
    """Numbers of a kind, or with so many fraction bits, as float32, rounded to nearest even."""
    if arithmetic.is_float:
        return raw
    fraction = kind_or_fraction
    if isinstance(fraction, str):
        fraction = arithmetic.fraction(fraction)
    return _to_float.to_float(raw, fraction)
