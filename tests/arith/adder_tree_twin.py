"""Bit-exact reference for ``hw.arith.adder_tree``."""

import numpy as np

from sim.model.arith.arithmetic import twin_of

__all__ = ["accumulate", "adder_tree", "interleaved_sum"]


def adder_tree(arithmetic, values):
    """Sum over axis 0, a power of two long: neighbours first, then pairs of their sums."""
    add = twin_of(arithmetic).add
    while len(values) > 1:
        values = add(values[0::2], values[1::2])
    return values[0]


def interleaved_sum(arithmetic, values):
    """``adder_tree`` of ``values`` along axis 0, padded in front with zeros to a power of two."""
    missing = (1 << (len(values) - 1).bit_length()) - len(values)
    zeros = twin_of(arithmetic).zeros((missing, *values.shape[1:]))
    return adder_tree(arithmetic, np.concatenate([zeros, values]))


def accumulate(arithmetic, values, interleave):
    """``interleave`` partial sums along axis 0: sum t is of values t, t + interleave, ..."""
    values = values.reshape(-1, interleave, *values.shape[1:])
    twin = twin_of(arithmetic)
    total = twin.zeros(values.shape[1:])
    for value in values:
        total = twin.add(value, total)
    return total
