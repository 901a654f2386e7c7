"""Bit-exact reference for ``hw.nn.activation``, on arrays of ``sim.model.arith.arithmetic``."""

import numpy as np

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
        zero = y.dtype.type(0)
        return np.maximum(y, zero) + zero

    def derive(self, arithmetic, dx, x):
        return np.where(arithmetic.positive(x), dx, dx.dtype.type(0))


class LeakyRelu:
    """``y`` if it is 0 or above, ``y / 64`` if it is below 0; a NaN stays as it is. The derivative
    is 1 where the result is above 0, else 1/64."""

    def apply(self, arithmetic, y):
        return np.where(y < 0, arithmetic.scaled_down(y, 6), y)

    def derive(self, arithmetic, dx, x):
        return np.where(arithmetic.positive(x), dx, arithmetic.scaled_down(dx, 6))


class Tanh:
    """By the arithmetic's table."""

    def apply(self, arithmetic, y):
        return arithmetic.tanh(y)

    def derive(self, arithmetic, dx, x):
        return arithmetic.derived_by_tanh(dx, x)


ACTIVATIONS = {"linear": Linear(), "relu": Relu(), "leaky_relu": LeakyRelu(), "tanh": Tanh()}
