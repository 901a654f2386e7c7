"""Bit-exact reference for ``hw.nn.adder_tree.window_sum``."""

import numpy as np

from sim.model.arith import float32

__all__ = ["accumulate", "adder_tree", "interleaved_sum"]


def _add(arithmetic, a, b):
    return float32.add(a, b) if arithmetic.is_float else a + b


def _zeros(arithmetic, shape):
    return np.full(shape, -0.0, np.float32) if arithmetic.is_float else np.zeros(shape, np.int64)


def adder_tree(arithmetic, values):
    """Sum over axis 0, a power of two long: neighbours first, then pairs of their sums."""
    while len(values) > 1:
        values = _add(arithmetic, values[0::2], values[1::2])
    return values[0]


def interleaved_sum(arithmetic, values):
    """``adder_tree`` of ``values`` along axis 0, padded in front with zeros to a power of two."""
    missing = (1 << (len(values) - 1).bit_length()) - len(values)
    return adder_tree(
        arithmetic, np.concatenate([_zeros(arithmetic, (missing, *values.shape[1:])), values])
    )


def accumulate(arithmetic, values, interleave):
    """``interleave`` partial sums along axis 0: sum t is of values t, t + interleave, ..."""
    values = values.reshape(-1, interleave, *values.shape[1:])
    total = _zeros(arithmetic, values.shape[1:])
    for value in values:
        total = _add(arithmetic, value, total)
    return total
