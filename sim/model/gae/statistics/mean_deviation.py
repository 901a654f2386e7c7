"""Bit-exact reference for ``hw.gae.statistics.mean_deviation``: Python's integers, rounded once."""

from math import isqrt

import numpy as np

from hw.gae.statistics.mean_deviation import COUNT_WIDTH, SQUARES_WIDTH, SUM_WIDTH
from sim.model.arith.float32 import flush

__all__ = ["moments", "wrapped"]

_FRACTION = 64  # bits behind the point, more than a quotient needs to show its first 25
_EXACT = 50  # bits of an integer that float64 holds, a sticky one among them


def wrapped(count, sum_, squares):
    """``(count, sum, squares)`` as the hardware's accumulators hold them: ``sum_`` is signed and
    wraps at ``SUM_WIDTH`` bits, the others are unsigned and wrap at theirs."""
    half = 1 << (SUM_WIDTH - 1)
    sum_ = (sum_ + half) % (2 * half) - half
    return count % (1 << COUNT_WIDTH), sum_, squares % (1 << SQUARES_WIDTH)


def moments(count, sum_, squares, exponent):
    """``(mean, deviation)`` of ``count`` numbers, np.float32, each rounded once, to nearest even.

    sum_, squares : the sum of the numbers, and of their squares, where the numbers are integers in
        units of ``2**-exponent``.

    The deviation is ``sqrt(count * squares - sum_**2) / count``, with 0 for a negative radicand. If
    ``count`` is 0, both results are 0.
    """
    if count == 0:
        return np.float32(0), np.float32(0)
    radicand = max(0, count * squares - sum_**2) << 2 * _FRACTION
    root = isqrt(radicand)
    mean = _quotient(abs(sum_) << _FRACTION, count, False, exponent)
    deviation = _quotient(root, count, root * root != radicand, exponent)
    return -mean if sum_ < 0 else mean, deviation


def _quotient(numerator, divisor, inexact, exponent):
    """``numerator / divisor * 2**-(exponent + _FRACTION)``; a remainder only sets the last bit."""
    quotient, remainder = divmod(numerator, divisor)
    drop = max(0, quotient.bit_length() - _EXACT)
    sticky = inexact or remainder != 0 or quotient & ((1 << drop) - 1) != 0
    value = np.ldexp(float(quotient >> drop << 1 | sticky), drop - 1 - _FRACTION - exponent)
    with np.errstate(over="ignore", under="ignore"):
        return flush(np.float32(value))[()]
