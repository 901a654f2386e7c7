"""Bit-exact reference for ``hw.replay.priority`` (integers only, no floats)."""

import numpy as np

from hw.arith.exp2 import exp2_table
from hw.arith.log2 import LOG2_FORMAT, Log2Config
from hw.replay.priority import ERROR_FORMAT
from sim.compiled import compiled
from sim.model.arith.interpolate import flat, parts
from sim.model.arith.log2 import log2_one
from sim.model.arith.power import power_one
from sim.model.arith.to_fixed import to_fixed_one

__all__ = ["Priorities", "priority", "priority_one"]


def _numbers(of):
    return of.fraction, of.width, of.high


_ERROR_FRACTION, _ERROR_WIDTH, _ERROR_HIGH = _numbers(ERROR_FORMAT)
_LOG_FRACTION, _MANTISSA_WIDTH = LOG2_FORMAT.fraction, Log2Config().mantissa_width
# The tables are the same for every format.
_LOG, _EXP = parts(Log2Config().table), parts(exp2_table())


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
    """A function that computes priorities, as ``priority`` does, for many TD errors.

    format : ``(fraction, width, high)`` of ``config.format``, as ``priority_one`` takes them
    """

    def __init__(self, config):
        self.format = _numbers(config.format)

    def __call__(self, bits, alpha, epsilon):
        """``(raw, saturated, invalid)``, arrays [n] as of ``priority``, from ``bits``, int64 [n]
        that hold the 32 bits of float32 TD errors."""
        return _priorities(bits, alpha, epsilon, *self.format)


@compiled
def priority_one(bits, alpha, epsilon, fraction, width, high):
    """``priority`` of one TD error, whose bits are the int64 ``bits``: ``(raw, saturated,
    invalid)``. ``fraction``, ``width`` and ``high`` are the fraction bits, all bits and the largest
    raw value of the format."""
    biased = (bits >> 23) & 0xFF
    invalid = biased == 0xFF
    mantissa = ((bits & 0x7F_FFFF) | 0x80_0000) << 1
    number, clipped = to_fixed_one(
        mantissa, biased - 127, _ERROR_FRACTION, _ERROR_WIDTH, _ERROR_HIGH
    )
    total = number + epsilon
    log = log2_one(np.uint64(total), _MANTISSA_WIDTH, _LOG) - (_ERROR_FRACTION << _LOG_FRACTION)
    mantissa, exponent = power_one(log, alpha, _EXP)
    result, beyond = to_fixed_one(mantissa, exponent, fraction, width, high)
    if invalid or result == 0 or (total == 0 and alpha != 0):
        result = 1
    return result, (clipped or beyond) and not invalid, invalid


@compiled
def _priorities(bits, alpha, epsilon, fraction, width, high):
    count = len(bits)
    raw = np.empty(count, np.int64)
    saturated, invalid = np.empty(count, np.bool_), np.empty(count, np.bool_)
    for k in range(count):
        raw[k], saturated[k], invalid[k] = priority_one(
            bits[k], alpha, epsilon, fraction, width, high
        )
    return raw, saturated, invalid
