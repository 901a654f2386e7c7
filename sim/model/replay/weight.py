"""Bit-exact reference for ``hw.replay.weight`` (integers only, no floats)."""

import numpy as np

from sim.compiled import compiled
from sim.model.arith.interpolate import flat, parts
from sim.model.arith.log2 import log2_one
from sim.model.arith.power import power_one

__all__ = ["Weights", "weight"]


def weight(priority, total, count, beta, config):
    """Importance weights, about ``(count * priority / total) ** -beta``, as float32; 0 if one of
    the three integers is 0. ``priority``, ``total`` and ``count`` are unsigned integers of shapes
    that broadcast.

    ``priority`` and ``total`` are raw values with the same number of fraction bits; ``beta`` is raw
    UQ(1, 15). ``config`` is a WeightConfig.
    """
    shape, arrays = flat(np.uint64, priority, total, count)
    bits = _weights(*arrays, int(beta), *_tables(config))
    return bits.view(np.float32).reshape(shape)


class Weights:
    """A function that computes importance weights, as ``weight`` does, for many priorities of one
    replay memory. The tables of ``config``, a WeightConfig, are looked up once."""

    def __init__(self, config):
        self._tables = _tables(config)

    def __call__(self, priority, total, count, beta):
        """The weights of ``priority``, uint64 [n], as uint32 [n], the bits of float32. ``total``,
        ``count`` and ``beta`` are single integers, as for ``weight``."""
        whole = np.array((total, count), np.uint64)
        return _weights(priority, whole[:1], whole[1:], beta, *self._tables)


def _tables(config):
    log = config.log2["priority"]  # the three differ in width alone
    return log.mantissa_width, parts(log.table), parts(config.power.exp2.table)


@compiled
def _weights(priority, total, count, beta, mantissa_width, log_table, exp_table):
    """Weights as bits of float32, for raw numbers (uint64); ``total`` and ``count`` may be single
    numbers."""
    bits = np.zeros(len(priority), np.uint32)
    for k in range(len(priority)):
        whole, among = total[k % len(total)], count[k % len(count)]
        if priority[k] and whole and among:
            log = log2_one(whole, mantissa_width, log_table)
            log -= log2_one(priority[k], mantissa_width, log_table)
            log -= log2_one(among, mantissa_width, log_table)
            mantissa, exponent = power_one(log, beta, exp_table)
            value = ((exponent + 127) << 23) + ((mantissa >> 1) & 0x7F_FFFF) + (mantissa & 1)
            bits[k] = np.uint32(value)
    return bits
