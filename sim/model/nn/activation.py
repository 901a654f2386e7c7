"""Bit-exact reference for ``hw.nn.activation``, on arrays of ``sim.model.arith.arithmetic``."""

import numpy as np

from sim.model.arith.arithmetic import twin_of

__all__ = ["activate", "derivative"]


def activate(arithmetic, activation, y):
    """``activation(y)``; relu leaves a NaN as it is, and gives +0 for -0."""
    if activation == "linear":
        return y
    return getattr(twin_of(arithmetic), activation)(y)


def derivative(arithmetic, activation, dx, x):
    """``dx`` times the derivative of ``activation`` where its result is ``x``."""
    if activation == "linear":
        return dx
    twin = twin_of(arithmetic)
    if activation == "relu":
        return np.where(twin.positive(x), dx, dx.dtype.type(0))
    return twin.derived_by_tanh(dx, x)
