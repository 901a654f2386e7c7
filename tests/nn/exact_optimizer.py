"""Optimizers in real numbers (float64), and how far those of fixed arithmetic may be from them.

Relative errors, u = 2^-24 being half a unit of binary32 (``hw.nn.fixed_*`` has the widths)::

    gain      2^-17, to 17 bits, and u for each product of scale
    gradient  2 u, to 24 bits; its square, 24 bits by 17, 2^-16 and 2 u
    loss      2^-16 of (1 - decay) * old; a unit of 2^-27 of it dropped
    sum       a unit of 2^-27 of the old moment or 2^-25 of what is gained, dropped or by complement
    word      u, rounded; below 2^-125 zero
    root      2^-18.5 by the table's chords and its floor; floor 2^-20, to 20 bits
    divisor   2^-19 for what is dropped of the smaller, 2^-20 of their sum
    inverse   2^-16.4 by the table's chords and 17 bits
    step      2^-17, the rate to 17 bits; 2^-23 by cuts; half a unit of the weight
"""

from typing import NamedTuple

import numpy as np

__all__ = ["ExactOptimizer", "Near", "moment", "step"]

_GAINED = {"first": 2.0**-17 + 2.0**-21, "second": 3 * 2.0**-17 + 2.0**-20}
_ROUNDED = 2.0**-23
_DIVISOR = 2.0**-18.5 + 2.0**-19 + 2 * 2.0**-20
_STEP = {"sgd": 2.0**-17 + 2.0**-22, "else": 2.0**-16.4 + 2.0**-17 + 2.0**-22}


class Near(NamedTuple):
    """A number in fixed arithmetic is at most ``error`` from ``value``."""

    value: np.ndarray
    error: np.ndarray


def moment(kind, old, decay, gained):
    """Near of a new ``kind``, "first" or "second"; old : Near."""
    lossy = (1 - decay) * 2.0**-16 + _ROUNDED
    error = decay * old.error + lossy * (np.abs(old.value) + old.error)
    return Near(decay * old.value + gained, error + _GAINED[kind] * np.abs(gained) + 2.0**-125)


def step(first, second, rate, floor):
    """Near of ``rate * first / (sqrt(second) + floor)``; second : Near, or None for sgd."""
    if second is None:
        value = rate * first.value
        relative = _STEP["sgd"]
        error = rate * first.error
    else:
        root = np.sqrt(second.value)
        with np.errstate(divide="ignore", invalid="ignore"):
            root_error = np.fmin(second.error / root, np.sqrt(second.error))
        divisor = root + floor
        divisor_error = root_error + _DIVISOR * (divisor + root_error)
        least = np.maximum(divisor - divisor_error, 0.5 * floor)
        value = rate * first.value / divisor
        relative = _STEP["else"]
        error = rate * first.error / least + np.abs(value) * divisor_error / least
    return Near(value, error + relative * (np.abs(value) + error))


class ExactOptimizer:
    """``count`` parameters from weight ``w`` on, whose moments are zero.

    weight, first, second : Near; ``update(c, gradient)`` does a step, c a dict of float64
    ``COEFFICIENTS``, ``gradient`` real numbers that fixed arithmetic has exactly.
    """

    def __init__(self, optimizer, weight, resolution):
        zero = np.zeros_like(weight)
        self.optimizer, self._half = optimizer, 0.5 * resolution
        self.weight = Near(weight, zero)
        self.first = self.second = Near(zero, zero)

    def update(self, c, gradient):
        g = c["scale"] * gradient
        first = Near(g, _GAINED["first"] * np.abs(g))
        if self.optimizer != "rmsprop":
            first = moment("first", self.first, c["first_decay"], c["first_gain"] * g)
            self.first = first
        second = None
        if self.optimizer != "sgd":
            second = moment("second", self.second, c["second_decay"], c["second_gain"] * g**2)
            self.second = second
        moved = step(first, second, c["rate"], c["floor"])
        self.weight = Near(
            self.weight.value - moved.value, self.weight.error + moved.error + self._half
        )
