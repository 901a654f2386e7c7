"""Bit-exact reference for ``hw.replay.weight`` (integers only, no floats)."""

import numpy as np

from hw.arith.exp2 import exp2_table
from hw.arith.log2 import Log2Config
from sim.compiled import compiled
from sim.model.arith.interpolate import flat, parts
from sim.model.arith.log2 import log2_one
from sim.model.arith.power import power_one

__all__ = ["logarithm", "weight", "weight_one", "weights"]

_MANTISSA_WIDTH = Log2Config().mantissa_width
# The tables are the same for every format.
_LOG, _EXP = parts(Log2Config().table), parts(exp2_table())


def weight(priority, total, count, beta):
    """Importance weights, about ``(count * priority / total) ** -beta``, as float32; 0 if one of
    the three integers is 0. ``priority``, ``total`` and ``count`` are unsigned integers of shapes
    that broadcast.

    ``priority`` and ``total`` are raw values with the same number of fraction bits; ``beta`` is raw
    UQ(1, 15).
    """
    shape, arrays = flat(np.uint64, priority, total, count)
    return weights(*arrays, int(beta)).view(np.float32).reshape(shape)


@compiled
def logarithm(number):
    """The logarithm to base 2 of one uint64, raw, as ``weight_one`` takes it."""
    return log2_one(number, _MANTISSA_WIDTH, _LOG)


@compiled
def weight_one(log, beta):
    """The bits of one weight; ``log`` is the logarithm of ``total / (count * priority)``."""
    mantissa, exponent = power_one(log, beta, _EXP)
    return np.uint32(((exponent + 127) << 23) + ((mantissa >> 1) & 0x7F_FFFF) + (mantissa & 1))


@compiled
def weights(priority, total, count, beta):
    """Weights as bits of float32, for raw numbers (uint64 arrays); ``total`` and ``count`` may have
    a single number each."""
    bits = np.zeros(len(priority), np.uint32)
    for k in range(len(priority)):
        whole, among = total[k % len(total)], count[k % len(count)]
        if priority[k] and whole and among:
            log = logarithm(whole) - logarithm(priority[k]) - logarithm(among)
            bits[k] = weight_one(log, beta)
    return bits
