"""Bit-exact reference for ``hw.replay.priority`` (integers only, no floats)."""

import numpy as np

from hw.replay.priority import ERROR_FORMAT
from sim.model.arith.compiled import flat, parts, priorities

__all__ = ["priority"]

_ERROR = ERROR_FORMAT.fraction, ERROR_FORMAT.width, ERROR_FORMAT.high


def priority(td, alpha, epsilon, config):
    """Return ``(priority, saturated, invalid)``: int64 raw, bool, bool.

    ``td`` is float32 or its bits as uint32, any shape; ``alpha`` is raw UQ(1, 15), ``epsilon`` raw
    UQ(0, 16).
    """
    td = np.asarray(td)
    shape, (bits,) = flat(
        np.int64, td if td.dtype == np.uint32 else td.astype(np.float32).view(np.uint32)
    )
    log, target = config.log2, config.format
    results = priorities(
        bits,
        int(alpha),
        int(epsilon),
        log.mantissa_width,
        parts(log.table),
        parts(config.power.exp2.table),
        _ERROR,
        (target.fraction, target.width, target.high),
    )
    return tuple(each.reshape(shape) for each in results)
