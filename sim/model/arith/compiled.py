"""Logarithm, power and conversions of fixed point, compiled: their steps, and the loops over them.

One file, for numba keeps what it has compiled by the file of the function, not of those it calls.
``table`` is what ``parts`` gives of a ``hw.arith.interpolate.Table``.
"""

import numpy as np
from numba import njit

from hw.arith.exp2 import MANTISSA_FORMAT
from hw.arith.log2 import LOG2_FORMAT
from hw.arith.power import FRACTION_FORMAT, SCALE_FORMAT

__all__ = ["convert_all", "flat", "interpolate_all", "log2_all", "parts", "power_all"]
__all__ += ["priorities", "weights"]

_LOG_FRACTION, _LOG_LIMIT = LOG2_FORMAT.fraction, (1 << LOG2_FORMAT.fraction) - 1
_MANTISSA_FRACTION = MANTISSA_FORMAT.fraction
_SCALE_FRACTION, _POWER_FRACTION = SCALE_FORMAT.fraction, FRACTION_FORMAT.width
_ONE, _TOP = np.uint64(1), np.uint64(63)


def parts(table):
    """``(base, slope, remainder_width, drop)``."""
    return table.base, table.slope, table.remainder_width, table.drop


def flat(kind, *arrays):
    """``(shape, arrays)``: of one shape, as lists of ``kind``."""
    arrays = [np.asarray(array, kind) for array in arrays]
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        arrays = [np.broadcast_to(array, shape) for array in arrays]
    return shape, [np.ascontiguousarray(array).reshape(-1) for array in arrays]


@njit(cache=True)
def _interpolate(x, table):
    base, slope, remainder_width, drop = table
    index = x >> remainder_width
    remainder = x & ((1 << remainder_width) - 1)
    total = (base[index] << remainder_width) + slope[index] * remainder + (1 << (drop - 1))
    return total >> drop


@njit(cache=True)
def _log2(x, mantissa_width, table):
    """Of uint64; 0 is taken as 1."""
    word, exponent = max(x, _ONE), 63
    while not word >> _TOP:
        word, exponent = word << _ONE, exponent - 1
    # What follows the leading one, at the top of the word.
    mantissa = np.int64((word << _ONE) >> np.uint64(64 - mantissa_width))
    fraction = min(_interpolate(mantissa, table), _LOG_LIMIT)
    return (exponent << _LOG_FRACTION) + fraction


@njit(cache=True)
def _power(log, scale, table):
    """``(mantissa, exponent)``."""
    rounded = (log * scale + (1 << (_SCALE_FRACTION - 1))) >> _SCALE_FRACTION
    fraction = rounded & ((1 << _POWER_FRACTION) - 1)
    return _interpolate(fraction, table), rounded >> _POWER_FRACTION


@njit(cache=True)
def _convert(mantissa, exponent, fraction, width, high):
    """``(raw, saturated)``."""
    shift = exponent + (fraction + 1)
    # Twice the result, with the bit to round by; a result below one half has shift < 0.
    twice = (mantissa << min(max(shift, 0), width)) >> _MANTISSA_FRACTION
    raw = 0 if shift < 0 else (twice + 1) >> 1
    if raw > high or shift > width:
        return high, True
    return raw, False


@njit(cache=True)
def interpolate_all(x, table):
    values = np.empty_like(x)
    for k in range(len(x)):
        values[k] = _interpolate(x[k], table)
    return values


@njit(cache=True)
def log2_all(x, mantissa_width, table):
    values = np.empty(len(x), np.int64)
    for k in range(len(x)):
        values[k] = _log2(x[k], mantissa_width, table)
    return values


@njit(cache=True)
def power_all(log, scale, table):
    mantissa, exponent = np.empty_like(log), np.empty_like(log)
    for k in range(len(log)):
        mantissa[k], exponent[k] = _power(log[k], scale[k], table)
    return mantissa, exponent


@njit(cache=True)
def convert_all(mantissa, exponent, fraction, width, high):
    raw, saturated = np.empty_like(mantissa), np.empty(len(mantissa), np.bool_)
    for k in range(len(mantissa)):
        raw[k], saturated[k] = _convert(mantissa[k], exponent[k], fraction, width, high)
    return raw, saturated


@njit(cache=True)
def priorities(bits, alpha, epsilon, mantissa_width, log_table, exp_table, error, target):
    """``(raw, saturated, invalid)`` of float32 bits; ``error`` and ``target`` are formats'
    ``(fraction, width, high)``."""
    count = len(bits)
    raw = np.empty(count, np.int64)
    saturated, invalid = np.empty(count, np.bool_), np.empty(count, np.bool_)
    for k in range(count):
        biased = (bits[k] >> 23) & 0xFF
        invalid[k] = biased == 0xFF
        mantissa = ((bits[k] & 0x7F_FFFF) | 0x80_0000) << 1
        number, clipped = _convert(mantissa, biased - 127, *error)
        total = number + epsilon
        log = _log2(np.uint64(total), mantissa_width, log_table) - (error[0] << _LOG_FRACTION)
        result, beyond = _convert(*_power(log, alpha, exp_table), *target)
        least = invalid[k] or result == 0 or (total == 0 and alpha != 0)
        raw[k] = 1 if least else result
        saturated[k] = (clipped or beyond) and not invalid[k]
    return raw, saturated, invalid


@njit(cache=True)
def weights(priority, total, count, beta, mantissa_width, log_table, exp_table):
    """Bits of float32, of raw numbers (uint64); ``total`` and ``count`` may be one for all."""
    bits = np.zeros(len(priority), np.uint32)
    for k in range(len(priority)):
        whole, among = total[k % len(total)], count[k % len(count)]
        if priority[k] and whole and among:
            log = _log2(whole, mantissa_width, log_table)
            log -= _log2(priority[k], mantissa_width, log_table)
            log -= _log2(among, mantissa_width, log_table)
            mantissa, exponent = _power(log, beta, exp_table)
            value = ((exponent + 127) << 23) + ((mantissa >> 1) & 0x7F_FFFF) + (mantissa & 1)
            bits[k] = np.uint32(value)
    return bits
