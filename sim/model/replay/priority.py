"""Bit-exact reference for ``hw.replay.priority`` (integers only, no floats)."""

import numpy as np

from hw.arith.log2 import LOG2_FORMAT
from hw.replay.priority import ERROR_FORMAT
from sim.compiled import compiled
from sim.model.arith.interpolate import flat, parts
from sim.model.arith.log2 import log2_one
from sim.model.arith.power import power_one
from sim.model.arith.to_fixed import to_fixed_one

__all__ = ["Priorities", "priority"]


def _numbers(of):
    return of.fraction, of.width, of.high


_ERROR = _numbers(ERROR_FORMAT)
_LOG_FRACTION = LOG2_FORMAT.fraction


def priority(td, alpha, epsilon, config):
    """The priorities of TD errors, about ``(abs(td) + epsilon) ** alpha`` and at least one unit, as
    arrays ``(priority, saturated, invalid)``: int64 raw values of ``config.format``; bool, whether
    a number was too large and was clipped; bool, whether the TD error is infinite or NaN (its
    priority is then one unit).

    ``td`` is float32, or its bits as uint32, of any shape; ``alpha`` is raw UQ(1, 15), ``epsilon``
    raw UQ(0, 16). ``config`` is a PriorityConfig.
    """
    td = np.asarray(td)
    shape, (bits,) = flat(
        np.int64, td if td.dtype == np.uint32 else td.astype(np.float32).view(np.uint32)
    )
    results = Priorities(config)(bits, int(alpha), int(epsilon))
    return tuple(each.reshape(shape) for each in results)


class Priorities:
    """A function that computes priorities, as ``priority`` does, for many TD errors. The tables of
    ``config``, a PriorityConfig, are looked up once."""

    def __init__(self, config):
        log, target = config.log2, config.format
        tables = parts(log.table), parts(config.power.exp2.table)
        self._tables = log.mantissa_width, *tables, _ERROR, _numbers(target)

    def __call__(self, bits, alpha, epsilon):
        """``(raw, saturated, invalid)``, arrays [n] as of ``priority``, from ``bits``, int64 [n]
        that hold the 32 bits of float32 TD errors."""
        return _priorities(bits, alpha, epsilon, *self._tables)


@compiled
def _priorities(bits, alpha, epsilon, mantissa_width, log_table, exp_table, error, target):
    """``(raw, saturated, invalid)``; ``error`` and ``target`` are ``_numbers`` of formats."""
    count = len(bits)
    raw = np.empty(count, np.int64)
    saturated, invalid = np.empty(count, np.bool_), np.empty(count, np.bool_)
    for k in range(count):
        biased = (bits[k] >> 23) & 0xFF
        invalid[k] = biased == 0xFF
        mantissa = ((bits[k] & 0x7F_FFFF) | 0x80_0000) << 1
        number, clipped = to_fixed_one(mantissa, biased - 127, *error)
        total = number + epsilon
        log = log2_one(np.uint64(total), mantissa_width, log_table)
        log -= error[0] << _LOG_FRACTION
        result, beyond = to_fixed_one(*power_one(log, alpha, exp_table), *target)
        least = invalid[k] or result == 0 or (total == 0 and alpha != 0)
        raw[k] = 1 if least else result
        saturated[k] = (clipped or beyond) and not invalid[k]
    return raw, saturated, invalid
