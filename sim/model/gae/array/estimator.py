"""Bit-exact twin of ``hw.gae.array.estimator``: rows are compiled loops over their slots.

Sums are int64 and wrapped to the word; a product has at most 61 bits.
"""

import numpy as np

from hw.gae.records import Kind
from sim.compiled import compiled

__all__ = ["Estimator", "blend", "numbers_of", "result"]

_NONE, _STEP, _TERMINAL = Kind.NONE.value, Kind.STEP.value, Kind.TERMINAL.value


class Estimator:
    """The stack of slots, and the estimates of advantages. A slot has for each row (an environment)
    a kind, a reward and a value. Arrays are [slots, rows], oldest slot first.

    Attributes
    ----------
    fill : int
        How many slots are on the stack.
    busy : int
        How many STEPs and TERMINALs the last ``estimate`` met, in all rows.
    saturated, overflows : int
        In how many slots since ``clear`` a result was clipped (``saturated``), or a sum wrapped
        (``overflows``).
    """

    def __init__(self, config):
        self.config = config
        slots = (config.depth + 1, config.rows)
        self._kinds = np.zeros(slots, np.uint8)
        self._first, self._second = np.zeros((2, *slots), np.int32)
        self.busy = 0
        self.clear()

    def clear(self):
        self.fill = self.saturated = self.overflows = 0

    def push(self, kinds, rewards, values):
        """Pushes slots: kinds, rewards and values, [slots, rows] each. Nothing is checked: at most
        ``config.depth + 1`` slots fit, and the slot number ``config.depth``, the last one, may not
        have a STEP or TERMINAL."""
        where = slice(self.fill, self.fill + len(kinds))
        self._kinds[where], self._first[where], self._second[where] = kinds, rewards, values
        self.fill += len(kinds)

    def rewind(self, fill):
        """Drops the newest slots, so that ``fill`` slots are left."""
        self.fill = fill

    def estimate(self, *, gamma, decay, decay_power, reward_scale=0, reward_mean=0, value_scale=0,
                 value_mean=0, result_mean=0):  # fmt: skip
        """Replaces the rewards and values of all slots by their advantages and rewards-to-go, which
        ``pull`` returns; both are 0 where the kind is not STEP or TERMINAL. The arguments are raw
        numbers in the config's formats, with the names of the members of
        ``hw.gae.array.estimator``."""
        config = self.config
        marks = np.zeros(self.fill, np.uint8)
        self.busy = _estimate(
            self._kinds[: self.fill],
            self._first[: self.fill],
            self._second[: self.fill],
            marks,
            (gamma, decay, decay_power),
            (reward_scale, reward_mean) if config.code_width < 32 else None,
            (value_scale, value_mean) if config.code_width < 32 else None,
            result_mean,
            *numbers_of(config),
        )
        self.saturated += int(np.count_nonzero(marks & 1))
        self.overflows += int(np.count_nonzero(marks & 2))

    def pull(self, count):
        """``(advantages, rewards-to-go)`` of the oldest ``count`` slots after ``estimate``, int32
        [count, rows] each, as copies. The slots stay on the stack."""
        return self._first[:count].copy(), self._second[:count].copy()


def numbers_of(config):
    """The numbers of a GaeConfig that the compiled functions take: ``(lookahead, width, fraction,
    scale_fraction, shift, limit)``."""
    return (
        config.lookahead,
        config.word.width,
        config.coefficient.fraction,
        config.scale.fraction,
        config.result_shift,
        config.result_limit,
    )


@compiled
def blend(addend, coefficient, x, fraction, width):
    """The wrapped sum, and a number that is not 0 if it was wrapped."""
    half = np.int64(1) << (fraction - 1)
    total = ((addend << fraction) + half + coefficient * x) >> fraction
    value = total << (64 - width) >> (64 - width)
    return value, value ^ total


@compiled
def _load(code, line, fraction, width):
    """``line``: scale and mean, or None if codes are words."""
    if line is None:
        return np.int64(code), np.int64(0)
    return blend(np.int64(line[1]), np.int64(line[0]), np.int64(code), fraction, width)


@compiled
def result(number, shift, limit):
    """Rounded and clipped, and a number that is not 0 if it was clipped."""
    rounded = (number + (np.int64(1) << shift >> 1)) >> shift
    clipped = rounded if rounded <= limit else np.int64(limit)
    clipped = clipped if clipped >= -limit else np.int64(-limit)
    return clipped, clipped ^ rounded


@compiled
def _estimate(kinds, first, second, marks, coefficients, reward_line, value_line, mean, lookahead,
              width, fraction, scale_fraction, shift, limit):  # fmt: skip
    """Estimates in place; returns the number of steps. ``marks`` of a slot: 1, a result was
    clipped; 2, a sum wrapped.

    A name ends in how many slots ago its slot was popped: ``a_2`` is of two slots ago.
    """
    gamma, decay, power = coefficients
    busy = 0
    for row in range(kinds.shape[1]):
        value_1 = a_1 = a_2 = a_3 = b1_1 = b2_1 = np.int64(0)
        active_1 = linked_1 = linked_2 = False
        for t in range(kinds.shape[0] - 1, -1, -1):
            kind, wrapped = kinds[t, row], np.int64(0)
            step = kind == _STEP
            active = step or kind == _TERMINAL
            linked = step and active_1
            value = delta = np.int64(0)
            if kind != _NONE:
                value, wrapped = _load(second[t, row], value_line, scale_fraction, width)
            if active:
                reward, over = _load(first[t, row], reward_line, scale_fraction, width)
                wrapped |= over
                delta, over = blend(
                    reward - value, np.int64(gamma if step else 0), value_1, fraction, width
                )
                wrapped |= over
                busy += 1
            near = np.int64(decay if linked else 0)
            total = b2 = delta
            if lookahead > 1:
                total, over = blend(delta, near, b1_1, fraction, width)
                wrapped |= over
                b2 = total
            if lookahead > 2:
                total, over = blend(delta, near, b2_1, fraction, width)
                wrapped |= over
            before, chained = a_1, linked
            if lookahead == 2:
                before, chained = a_2, linked and linked_1
            if lookahead == 3:
                before, chained = a_3, linked and linked_1 and linked_2
            advantage, over = blend(
                total, np.int64(power if chained else 0), before, fraction, width
            )
            wrapped |= over
            clipped, first[t, row], second[t, row] = np.int64(0), 0, 0
            if active:
                first[t, row], clipped = result(advantage, shift, limit)
                second[t, row], over = result(advantage + value - mean, shift, limit)
                clipped |= over
            marks[t] |= 2 * (wrapped != 0) + (clipped != 0)
            value_1, b1_1, b2_1 = value, delta, b2
            a_1, a_2, a_3 = advantage, a_1, a_2
            active_1, linked_1, linked_2 = active, linked, linked_1
    return busy
