"""Comparisons of a value with a limit that a config gives, and the lowest 1 of a word.

Where the type of the value decides one, as ``x > 65535`` of 16 bits, it is the Const 0 or 1: lint
reports a comparison whose result is constant. Numbers of a twin have no type and are compared.
"""

import operator

from amaranth import *
from amaranth.lib import data

__all__ = ["above", "at_least", "below", "beyond", "lowest"]


def below(value, limit):
    """``value < limit``; the Const 0 or 1 if it is the same for every value of the type.

    Parameters
    ----------
    value : Value or number
    limit : int
    """
    return _compare(operator.lt, value, limit)


def above(value, limit):
    """``value > limit``, as ``below``."""
    return _compare(operator.gt, value, limit)


def at_least(value, limit):
    """``value >= limit``, as ``below``."""
    return _compare(operator.ge, value, limit)


def beyond(value, low, high):
    """The conditions ``value < low`` and ``value > high``, each only if its limit is given and the
    type of ``value`` does not keep it.

    Parameters
    ----------
    value : Value or number
    low, high : int or None

    Returns
    -------
    conditions : list of Value, or of bool for a number
    """
    conditions = []
    if low is not None:
        conditions.append(below(value, low))
    if high is not None:
        conditions.append(above(value, high))
    return [each for each in conditions if not isinstance(each, Const) or each.value]


def lowest(bits):
    """``(any, index)``: whether a bit of ``bits`` is 1, and the index of the lowest. A tree: the
    depth of a chain of ``If`` grows with its length."""
    if len(bits) == 1:
        return bits[0], C(0, 0)
    half = 1 << (len(bits) - 1).bit_length() - 1
    (lower, own), (upper, other) = lowest(bits[:half]), lowest(bits[half:])
    return lower | upper, Cat(Mux(lower, own, other), ~lower)


def _compare(compare, value, limit):
    if isinstance(value, (Value, data.View)):
        shape = Value.cast(value).shape()
        half = 1 << max(0, shape.width - 1)
        least, most = (-half, half - 1) if shape.signed else (0, (1 << shape.width) - 1)
        if compare(least, limit) == compare(most, limit):
            return C(compare(most, limit), 1)
    return compare(value, limit)
