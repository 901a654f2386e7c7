"""Bit-exact reference for ``hw.fixar.numbers.tanh_tail`` and ``.tanh_slope``: int64 arrays."""

import numpy as np

from sim.model.arith.arithmetic import twin_of

__all__ = ["slope", "tail"]


def tail(arithmetic, numbers):
    """Raw tanh, of ``arithmetic.tanh_format``, of raw activations: the activations' tanh without
    its last ``tanh_cut`` bits."""
    return twin_of(arithmetic).tanh(np.asarray(numbers, np.int64)) >> arithmetic.tanh_cut


def slope(arithmetic, dx, a):
    """Raw errors ``dx`` times ``1 - a**2``, with raw ``a`` of ``tail``."""
    return twin_of(arithmetic).derived_by_tanh(dx, a << arithmetic.tanh_cut)
