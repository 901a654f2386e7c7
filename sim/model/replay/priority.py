"""Bit-exact reference for ``hw.replay.priority`` (integers only, no floats)."""

import numpy as np

from hw.replay.priority import ERROR_FORMAT
from sim.model.arith.compiled import flat, parts, priorities

__all__ = ["Priorities", "priority"]


def _numbers(of):
    return of.fraction, of.width, of.high


_ERROR = _numbers(ERROR_FORMAT)


def priority(td, alpha, epsilon, config):
    """Return ``(priority, saturated, invalid)``: int64 raw, bool, bool.

    ``td`` is float32 or its bits as uint32, any shape; ``alpha`` is raw UQ(1, 15), ``epsilon`` raw
    UQ(0, 16).
    """
    td = np.asarray(td)
    shape, (bits,) = flat(
        np.int64, td if td.dtype == np.uint32 else td.astype(np.float32).view(np.uint32)
    )
    results = Priorities(config)(bits, int(alpha), int(epsilon))
    return tuple(each.reshape(shape) for each in results)


class Priorities:
    """``priority`` of many TD errors, with what its config says looked up once."""

    def __init__(self, config):
        log, target = config.log2, config.format
        tables = parts(log.table), parts(config.power.exp2.table)
        self._tables = log.mantissa_width, *tables, _ERROR, _numbers(target)

    def __call__(self, bits, alpha, epsilon):
        """``priority`` of bits of float32, int64 [n]."""
        return priorities(bits, alpha, epsilon, *self._tables)
