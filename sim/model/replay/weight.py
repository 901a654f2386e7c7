"""Bit-exact reference for ``hw.replay.weight`` (integers only, no floats)."""

import numpy as np

from sim.model.arith.compiled import flat, parts, weights

__all__ = ["Weights", "weight"]


def weight(priority, total, count, beta, config):
    """Return float32 weights for unsigned integers of equal or broadcast shape.

    ``priority`` and ``total`` are raw values of one fraction; ``beta`` is raw UQ(1, 15).
    """
    shape, arrays = flat(np.uint64, priority, total, count)
    bits = weights(*arrays, int(beta), *_tables(config))
    return bits.view(np.float32).reshape(shape)


class Weights:
    """``weight`` of many priorities of one memory, with what its config says looked up once."""

    def __init__(self, config):
        self._tables = _tables(config)

    def __call__(self, priority, total, count, beta):
        """Bits (uint32) of the weights of ``priority`` (uint64 [n]); the others are integers."""
        whole = np.array((total, count), np.uint64)
        return weights(priority, whole[:1], whole[1:], beta, *self._tables)


def _tables(config):
    log = config.log2["priority"]  # the three differ in width alone
    return log.mantissa_width, parts(log.table), parts(config.power.exp2.table)
