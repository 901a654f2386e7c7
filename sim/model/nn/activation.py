"""Bit-exact reference for ``hw.nn.activation``, on arrays of ``sim.model.arith.arithmetic``."""

import numpy as np

from sim.compiled import compiled
from sim.model.arith.arithmetic import twin_of

__all__ = ["ACTIVATIONS", "activate", "derivative"]


def activate(arithmetic, activation, y):
    """The activation function with the name ``activation``, of an array ``y``."""
    return ACTIVATIONS[activation].apply(twin_of(arithmetic), y)


def derivative(arithmetic, activation, dx, x):
    """``dx`` times the derivative of the function with the name ``activation``, at the points where
    its result is ``x``. ``dx`` and ``x`` are arrays of one shape; returns a new one."""
    return ACTIVATIONS[activation].derive(twin_of(arithmetic), dx, x)


class Linear:
    """The identity."""

    def apply(self, arithmetic, y):
        return y

    def derive(self, arithmetic, dx, x):
        return dx


class Relu:
    """``max(y, 0)``: a NaN stays as it is, -0 becomes +0. The derivative is 1 where the result is
    above 0, else 0."""

    def apply(self, arithmetic, y):
        return _limited(np.ascontiguousarray(y).reshape(-1)).reshape(y.shape)

    def derive(self, arithmetic, dx, x):
        flat = [np.ascontiguousarray(each).reshape(-1) for each in (dx, x)]
        return _passed(*flat, arithmetic.least).reshape(dx.shape)


class LeakyRelu:
    """``y`` if it is 0 or above, ``y / 64`` if it is below 0; a NaN stays as it is. The derivative
    is 1 where the result is above 0, else 1/64."""

    def apply(self, arithmetic, y):
        return np.where(y < 0, arithmetic.scaled_down(y, 6), y)

    def derive(self, arithmetic, dx, x):
        return np.where(x >= arithmetic.least, dx, arithmetic.scaled_down(dx, 6))


class Tanh:
    """By the arithmetic's table."""

    def apply(self, arithmetic, y):
        return arithmetic.tanh(y)

    def derive(self, arithmetic, dx, x):
        return arithmetic.derived_by_tanh(dx, x)


ACTIVATIONS = {"linear": Linear(), "relu": Relu(), "leaky_relu": LeakyRelu(), "tanh": Tanh()}


# NumPy's ``where`` branches for each number, and half of the branches are mispredicted.


@compiled
def _limited(y):
    """``y`` [n] where it is above 0 or NaN, else +0."""
    result, zero = np.empty_like(y), y.dtype.type(0)
    for k in range(y.size):
        result[k] = zero if y[k] <= zero else y[k]
    return result


@compiled
def _passed(dx, x, least):
    """``dx`` [n] where ``x`` is at least ``least``, else +0."""
    result, zero = np.empty_like(dx), dx.dtype.type(0)
    for k in range(dx.size):
        result[k] = dx[k] if x[k] >= least else zero
    return result
