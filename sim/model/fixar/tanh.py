"""Bit-exact reference for ``hw.fixar.numbers.tanh_tail`` and ``.tanh_slope``: int64 arrays."""

import numpy as np

from sim.model.arith.arithmetic import twin_of

__all__ = ["slope", "tail"]


def tail(arithmetic, numbers):
    """Hyperbolic tangent of ``numbers``, raw activations, as int64 raw values of
    ``arithmetic.tanh_format``. This format has ``tanh_cut`` fraction bits less than an
    activation."""
    return twin_of(arithmetic).tanh(np.asarray(numbers, np.int64)) >> arithmetic.tanh_cut


def slope(arithmetic, dx, a):
    """Raw errors ``dx``, int64, times ``1 - a**2``, the slope of the tanh, rounded half up; ``a``
    are the raw results of ``tail``."""
    return twin_of(arithmetic).derived_by_tanh(dx, a << arithmetic.tanh_cut)
