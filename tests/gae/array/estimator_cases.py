"""Stacks of slots, settings of an ESTIMATE, and scripts of both for the RTL and its twin."""

import numpy as np

from hw.gae.array.estimator import Estimator
from hw.gae.records import Kind
from sim.model.gae.array.estimator import Estimator as Twin

__all__ = ["Script", "any_slots", "legal_slots", "ordinary", "wild"]

NONE, STEP, TERMINAL, BOOTSTRAP = (kind.value for kind in Kind)


def codes(config, rng, count):
    """Rewards and values, [2, count, rows], the limits among them."""
    size = (2, count, config.rows)
    numbers = rng.integers(-config.code_limit, config.code_limit + 1, size)
    limits = rng.choice([-config.code_limit, 0, config.code_limit], size)
    return np.where(rng.random(size) < 0.2, limits, numbers)


def any_slots(config, rng, count):
    """Kinds in any order, ``count`` slots, which is more than a host may push."""
    kinds = rng.integers(0, 4, (count, config.rows))
    kinds[config.depth :] = rng.choice([NONE, BOOTSTRAP], kinds[config.depth :].shape)
    return kinds, *codes(config, rng, count)


def legal_slots(config, rng, count, mean_length=5):
    """Trajectories in every row, one after another, of which some end and others are cut off."""
    kinds = np.zeros((count, config.rows), np.int64)
    for row in range(config.rows):
        slot = rng.integers(0, 3) if rng.random() < 0.5 else 0
        while (room := min(count, config.depth + 1) - slot) > 1:
            steps = min(int(rng.geometric(1 / mean_length)), room - 1)
            kinds[slot : slot + steps, row] = STEP
            if rng.random() < 0.5:
                kinds[slot + steps - 1, row] = TERMINAL
                slot += steps
            else:
                kinds[slot + steps, row] = BOOTSTRAP
                slot += steps + 1
            if rng.random() < 0.2:
                break
    return kinds, *codes(config, rng, count)


def ordinary(config, rng):
    """Settings with discounts below 1, of a unit in which nothing leaves the words."""
    one = 1 << config.coefficient.fraction
    gamma, trace = rng.uniform(0.8, 1, 2)
    unit = 1 << max(0, config.word.width - 11 - config.code_width)
    unit = unit << config.scale.fraction >> 2
    decay = gamma * trace
    result = dict(
        gamma=round(gamma * one),
        decay=round(decay * one),
        decay_power=round(decay**config.lookahead * one),
    )
    if config.code_width == 32:
        return result
    limit = 1 << (config.word.width - 12)
    return result | dict(
        reward_scale=int(rng.integers(0, unit)),
        reward_mean=int(rng.integers(-limit, limit)),
        value_scale=int(rng.integers(0, unit)),
        value_mean=int(rng.integers(-limit, limit)),
        result_mean=int(rng.integers(-limit, limit)),
    )


def wild(config, rng):
    """Settings of the whole formats, their limits among them: most sums wrap."""

    def number(shape, high):
        low = -high - 1 if shape.signed else 0
        return int(rng.choice([low, 0, high, int(rng.integers(low, high, endpoint=True))]))

    one = 1 << config.coefficient.fraction
    result = {name: number(config.coefficient, one) for name in ("gamma", "decay", "decay_power")}
    if config.code_width < 32:
        for name in ("reward", "value"):
            result[f"{name}_scale"] = number(config.scale, config.scale.high)
            result[f"{name}_mean"] = number(config.word, config.word.high)
    return result | dict(result_mean=number(config.word, config.word.high))


def side_by_side(config, fields):
    """An int a slot: ``fields``, (array [slots, rows], width), of every row."""
    words = []
    for slot in range(len(fields[0][0])):
        word, offset = 0, 0
        for row in range(config.rows):
            for values, width in fields:
                word |= (int(values[slot, row]) & (1 << width) - 1) << offset
                offset += width
        words.append(word)
    return words


class Script:
    """What to do with an estimator, and what it must answer: the twin's answers."""

    def __init__(self, config):
        self.config, self.twin, self.steps = config, Twin(config), []

    def _add(self, name, **values):
        self.steps.append(dict(step=name, fill=self.twin.fill, **values))

    def push(self, kinds, rewards, values):
        self.twin.push(kinds, rewards, values)
        width = self.config.code_width
        fields = [(kinds, 2), (rewards, width), (values, width)]
        self._add("push", words=side_by_side(self.config, fields))

    def rewind(self, fill):
        self.twin.rewind(fill)
        self._add("rewind", to=fill)

    def clear(self):
        self.twin.clear()
        self._add("clear")

    def estimate(self, settings):
        self.twin.estimate(**settings)
        counts = {name: getattr(self.twin, name) for name in ("busy", "saturated", "overflows")}
        cycles = Estimator.cycles_of(self.config, self.twin.fill)
        self._add("estimate", settings=settings, counts=dict(counts, cycles=cycles))

    def pull(self, count, gap=0.0):
        width = self.config.result_width
        fields = [(result, width) for result in self.twin.pull(count)]
        self._add("pull", count=count, gap=gap, words=side_by_side(self.config, fields))
