"""Bit-exact reference for ``hw.arith.arithmetic``: one class for each kind, with operations on
arrays.

Arrays of numbers are float32 in binary32, else int64 of raw values. Operations have the names and
the rules of ``hw.arith.arithmetic.Arithmetic``.
"""

from functools import cache

import numpy as np

from sim.compiled import compiled
from sim.model.arith import float32
from sim.model.arith.fixed import requantize
from sim.model.arith.float32_steps import flush, leave
from sim.model.arith.quantize import quantize
from sim.model.arith.tanh import derived, tanh, tanh_fixed
from sim.model.arith.to_float import to_float

__all__ = ["Binary32", "DualPrecision", "FixedPoint", "twin_of"]

_SIGN, _MAGNITUDE = np.int32(31), np.int32(0x7FFF_FFFF)


@cache
def twin_of(arithmetic):
    """The twin of the ``Arithmetic`` ``arithmetic``: an object of the class for its kind. Equal
    configs give the same object."""
    return _TWINS[arithmetic.kind](arithmetic)


class Binary32:
    """binary32: numbers are float32, and every operation flushes: subnormal operands and results
    count as zeros of their sign."""

    dtype = np.dtype(np.float32)
    #: the least number above 0: a subnormal counts as a zero
    least = np.finfo(np.float32).tiny

    def __init__(self, config):
        self.config = config

    def zeros(self, shape):
        """The number that changes nothing when it is added: -0."""
        return np.full(shape, -0.0, self.dtype)

    def multiply(self, a, b):
        return float32.multiply(a, b)

    def add(self, a, b):
        return float32.add(a, b)

    def dot(self, a, b, begin=None):
        """Sums of products over axis 0, and ``begin``."""
        total = self.tree(self.multiply(a, b))
        return total if begin is None else self.add(total, begin)

    def tree(self, values):
        """Sum over axis 0: neighbours first, then their sums, a last one without a neighbour with
        -0."""
        while len(values) > 1:
            if len(values) % 2:
                values = np.concatenate([values, self.zeros((1, *values.shape[1:]))])
            values = self.add(values[0::2], values[1::2])
        return values[0]

    def times_one(self, values):
        return values

    def requantize(self, values, *source, kind):
        return values, np.zeros(np.shape(values), bool)

    def quantize(self, f32, kind):
        """``(numbers, saturated)`` of float32 numbers: here the numbers themselves, and False for
        each. ``kind`` is ignored."""
        return f32, np.zeros(np.shape(f32), bool)

    def to_float(self, values, kind):
        return values

    def sum_to_float(self, sums):
        """Sums of gradients as float32."""
        return sums

    def tanh(self, y):
        return tanh(y)

    def derived_by_tanh(self, dx, x):
        return derived(dx, x)

    def scaled_down(self, values, places):
        return self.multiply(values, np.float32(2.0**-places))

    def order_key(self, values):
        """int32 keys in the order of the float32 ``values``: a greater number has a greater key, -0
        is below +0, and all NaNs have one key above all numbers. There must be no subnormals."""
        values = np.ascontiguousarray(values)
        return _order_keys(values.reshape(-1)).reshape(values.shape)

    def words(self, values):
        """Weights as an image has them: uint32."""
        return np.ascontiguousarray(values).view(np.uint32)

    def weights(self, words):
        """Weights of an image's uint32."""
        return words.view(np.float32)


@compiled
def _order_keys(values):
    keys = np.empty_like(values)
    for k in range(values.size):
        keys[k] = leave(flush(values[k]))  # one NaN for all
    bits = keys.view(np.int32)
    for k in range(bits.size):
        bits[k] ^= (bits[k] >> _SIGN) & _MAGNITUDE
    return bits


class FixedPoint:
    """Fixed point: numbers are int64 raw values. Products and sums are exact; ``requantize`` rounds
    a sum half up and clips it to a format, once at its end."""

    dtype = np.dtype(np.int64)
    #: the least number above 0
    least = np.int64(1)

    def __init__(self, config):
        self.config = config

    def zeros(self, shape):
        return np.zeros(shape, self.dtype)

    def multiply(self, a, b):
        return a * b

    def add(self, a, b):
        return a + b

    def dot(self, a, b, begin=None):
        """Sums of products over axis 0, and ``begin``."""
        total = self.tree(self.multiply(a, b))
        return total if begin is None else total + begin

    def tree(self, values):
        """Sum over axis 0."""
        return values.sum(axis=0)

    def times_one(self, values):
        return values << self.config.activation.fraction

    def requantize(self, values, *source, kind):
        fraction = self.config.fraction(*source)
        return requantize(values, fraction, getattr(self.config, kind))

    def quantize(self, f32, kind):
        return quantize(f32, getattr(self.config, kind))

    def to_float(self, values, kind):
        return to_float(values, self.config.fraction(kind))

    def sum_to_float(self, sums):
        return to_float(sums, self.config.gradient_sum_fraction)

    def tanh(self, y):
        return tanh_fixed(y, self.config.activation)

    def derived_by_tanh(self, dx, x):
        squared, fraction = self.config.derivative_fractions
        x = x >> (self.config.activation.fraction - squared)
        rest = ((np.int64(1) << 2 * squared) - x * x) >> (2 * squared - fraction)
        half = (np.int64(1) << fraction) >> 1
        return (dx * rest + half) >> fraction

    def scaled_down(self, values, places):
        return (values + (1 << places >> 1)) >> places

    def order_key(self, values):
        return values

    def words(self, values):
        return values.astype(np.int32).view(np.uint32)

    def weights(self, words):
        """Weights, int64 raw, of an image's uint32. Bits above the weight format are dropped, and
        the sign is that of the format's top bit."""
        unused = 32 - self.config.weight.width
        return words.view(np.int32).astype(np.int64) << (32 + unused) >> (32 + unused)


class DualPrecision(FixedPoint):
    """Fixed point whose tanh is computed in a narrower format: the value is rounded to
    ``config.tanh_format``, and the result is moved to the left by ``config.tanh_cut`` bits."""

    def tanh(self, y):
        target = self.config.tanh_format
        narrow, _ = requantize(y, self.config.activation.fraction, target)
        return tanh_fixed(narrow, target) << self.config.tanh_cut


_TWINS = {"float32": Binary32, "fixed": FixedPoint, "dual": DualPrecision}
