"""Bit-exact reference for ``hw.replay.priority`` (integers only, no floats)."""

import numpy as np

from hw.arith.log2 import LOG2_FORMAT
from hw.replay.priority import ERROR_FORMAT
from sim.model.arith.log2 import log2
from sim.model.arith.power import power
from sim.model.arith.to_fixed import to_fixed

__all__ = ["priority"]


def priority(td, alpha, epsilon, config):
    """Return ``(priority, saturated, invalid)``: int64 raw, bool, bool.

    ``td`` is float32 or its bits as uint32, any shape; ``alpha`` is raw UQ(1, 15), ``epsilon`` raw
    UQ(0, 16).
    """
    td = np.asarray(td)
    bits = (td if td.dtype == np.uint32 else td.astype(np.float32).view(np.uint32)).astype(np.int64)
    biased = (bits >> 23) & 0xFF
    invalid = biased == 0xFF
    mantissa = ((bits & 0x7F_FFFF) | 0x80_0000) << 1
    error, error_saturated = to_fixed(mantissa, biased - 127, ERROR_FORMAT)
    log, zero = log2(error + epsilon, config.log2)
    log = log - (ERROR_FORMAT.fraction << LOG2_FORMAT.fraction)
    raw, result_saturated = to_fixed(*power(log, alpha, config.power), config.format)
    least = invalid | (raw == 0) | (zero & (alpha != 0))
    saturated = (error_saturated | result_saturated) & ~invalid
    return np.where(least, 1, raw), saturated, invalid
