"""Bit-exact reference for ``hw.replay.weight`` (integers only, no floats)."""

import numpy as np

from sim.model.arith.log2 import log2
from sim.model.arith.power import power

__all__ = ["weight"]


def weight(priority, total, count, beta, config):
    """Return float32 weights for unsigned integers of equal or broadcast shape.

    ``priority`` and ``total`` are raw values of one fraction; ``beta`` is raw UQ(1, 15).
    """
    logs = config.log2
    priority_log, priority_zero = log2(priority, logs["priority"])
    total_log, total_zero = log2(total, logs["total"])
    count_log, count_zero = log2(count, logs["count"])
    mantissa, exponent = power(total_log - priority_log - count_log, beta, config.power)
    half_ulp = mantissa & 1
    bits = ((exponent + 127) << 23) + ((mantissa >> 1) & 0x7F_FFFF) + half_ulp
    bits = np.where(priority_zero | total_zero | count_zero, 0, bits)
    return bits.astype(np.uint32).view(np.float32)
