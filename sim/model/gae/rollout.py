"""Advantages of whole rollouts, bit for bit as launches of ``sim.model.gae.kernel`` give them.

No stack and no slots: arrays are [steps, environments], and each pass is a loop over many elements
with few arrays, which a compiler vectorises.
"""

from typing import NamedTuple

import numpy as np

from hw.gae.standardize import NUMBER
from sim.compiled import compiled
from sim.model.gae.array.estimator import blend, numbers_of, result
from sim.model.gae.intake.intake import square_sums
from sim.model.gae.statistics.mean_deviation import moments, wrapped

__all__ = ["Rollouts", "Survey"]

_MAGNITUDE = 0x7FFFFFFF
#: the bits of infinity; NaN has more
_INFINITE = 0x7F800000
_LOW, _HIGH = float(NUMBER.low), float(NUMBER.high)
#: Elements of a block: its arrays stay in the processor's first cache.
_BLOCK = 2048
#: Elements that are searched for ends of episodes at a time.
_GROUP = 16


class Survey(NamedTuple):
    """Facts about the numbers of a rollout.

    finite : whether all numbers are finite, bootstraps that do not count included.
    reward, value : the largest magnitude of the rewards; of the values and bootstraps that count.
    slots : the most slots of an environment on the stack: steps, and bootstraps that count.
    fits : whether a stack of ``depth`` slots, and one of bootstraps, holds them.
    """

    finite: bool
    reward: float
    value: float
    slots: int
    fits: bool


class Rollouts:
    """Estimates rollouts for a ``config``, a GaeConfig.

    A ``rollout`` is a tuple of arrays [steps, environments], each in C order: rewards, values and
    bootstraps, float32; terminated and truncated, bool. A bootstrap counts where an episode did not
    terminate, and was truncated or is in its last step.
    """

    def __init__(self, config):
        self._depth, self._numbers = config.depth, numbers_of(config)

    def survey(self, rollout):
        """The ``Survey`` of a rollout."""
        numbers = [array.view(np.int32) for array in rollout[:3]]
        return Survey(*_survey(*numbers, *rollout[3:], self._depth))

    def mean_deviation(self, numbers, exponent, prior):
        """STATISTICS: ``((count, sum, squares), mean, deviation)`` of finite numbers, float32 [n],
        to which the sums ``prior`` are added. A sum is in units of ``2**-exponent``, one of squares
        in units of ``2**(-2 * exponent)``; mean and deviation are numbers of float32."""
        numbers, power = numbers.reshape(1, -1), 2.0**exponent
        count, total, low, high, _ = square_sums(numbers, np.ones(numbers.shape, bool), power)
        sums = count, total, (high << 32) + low
        sums = wrapped(*(a + b for a, b in zip(prior, sums, strict=True)))
        return sums, *(float(each) for each in moments(*sums, exponent))

    def estimate(self, rollout, rewards, values, coefficients, mean, line):
        """PUSH, ESTIMATE and PULL: ``(advantages, returns, largest, clipped)``: float32 [steps,
        environments], the largest magnitude of a raw result, and the number of clipped codes; None
        if a result is clipped or a sum wraps.

        rollout : finite numbers
        rewards, values : ``(exponent, mean, factor, shift, limit, scale, offset)``, raw fields of
            PUSH and ESTIMATE; ``exponent`` is at most 100. The code of the number ``x`` in
            units of ``2**-exponent`` is ``clip(floor((x - mean) * factor / 2**shift + 1/2))``, to
            ``limit``; the word is ``offset + scale * code``, or the code if ``scale`` is negative.
        coefficients : raw gamma, decay, decay**lookahead
        mean : raw number that is subtracted from the rewards-to-go
        line : (scale, offset): a result is ``scale`` times its raw number, and a reward-to-go
            ``offset`` more
        """
        advantages, returns = np.empty((2, *rollout[0].shape), np.float32)
        largest, clipped, marks = _estimate(
            tuple(rollout), advantages, returns, rewards, values, coefficients, mean, line,
            *self._numbers,
        )  # fmt: skip
        return None if marks else (advantages, returns, largest, clipped)


@compiled
def _survey(rewards, values, bootstraps, terminated, truncated, depth):
    """``rewards``, ``values`` and ``bootstraps`` are bits."""
    steps, rows = rewards.shape
    reward = value = other = used = np.int32(0)
    slots = np.full(rows, steps)
    for t in range(steps):
        last = t == steps - 1
        for n in range(rows):
            reward = max(reward, np.int32(rewards[t, n] & _MAGNITUDE))
        for n in range(rows):
            value = max(value, np.int32(values[t, n] & _MAGNITUDE))
        for n in range(rows):
            magnitude = np.int32(bootstraps[t, n] & _MAGNITUDE)
            follows = (truncated[t, n] | last) & (not terminated[t, n])
            other = max(other, magnitude)
            used = max(used, magnitude if follows else np.int32(0))
        for n in range(rows):
            slots[n] += (truncated[t, n] | last) & (not terminated[t, n])
    fits = True
    for n in range(rows):
        fits &= slots[n] <= depth or slots[n] == depth + 1 and not terminated[steps - 1, n]
    largest = np.array([reward, max(value, used)], np.int32).view(np.float32)
    finite = max(reward, value, other) < _INFINITE
    return finite, float(largest[0]), float(largest[1]), slots.max(), fits


@compiled
def _words(numbers, line, fraction, width, words):
    """Fills ``words`` with the words of ``numbers``; returns how many codes were clipped, and a
    number that is not 0 if a word has wrapped."""
    exponent, mean, factor, shift, limit, scale, offset = line
    power, half, unit = 2.0**exponent, 2.0 ** (shift - 1), 2.0**-shift
    clipped = marks = np.int64(0)
    for i in range(numbers.size):
        wide = np.float64(numbers[i])
        number = np.floor(wide * power + 0.5)  # 0 of a subnormal number, which the card reads as 0
        x = number if number <= _HIGH else _HIGH
        x = x if x >= _LOW else _LOW
        # A product has 53 bits, and is exact. Its sum with a half is rounded only from 2**53
        # on, and is below 2**53 + 2**shift, so that the code is the same.
        code = np.floor(((x - mean) * factor + half) * unit)
        near = code if code <= limit else limit
        near = near if near >= -limit else -limit
        clipped += (x != number) | (near != code)
        words[i] = np.int64(near)
    if scale >= 0:
        for i in range(numbers.size):
            words[i], mark = blend(offset, scale, words[i], fraction, width)
            marks |= mark
    return clipped, marks


@compiled
def _estimate(rollout, advantages, returns, reward_line, value_line, coefficients, mean, line,
              lookahead, width, fraction, scale_fraction, shift, limit):  # fmt: skip
    """Fills ``advantages`` and ``returns``; returns the largest magnitude of a raw result, how many
    codes were clipped, and a number that is not 0 if anything else was.

    Blocks of steps are taken from the last to the first. After a block's elements, arrays have the
    elements of the three steps that follow. ``linked`` is 1 if the next step is in the same
    episode.
    """
    rewards, values, bootstraps, terminated, truncated = rollout
    gamma, decay, decay_power = coefficients
    scale, offset = line
    steps, rows = rewards.shape
    rewards, values, bootstraps = rewards.ravel(), values.ravel(), bootstraps.ravel()
    terminated, truncated = terminated.ravel(), truncated.ravel()
    advantages, returns = advantages.ravel(), returns.ravel()
    block = max(3, min(steps, _BLOCK // rows))
    size = (block + 3) * rows
    reward, value, following = (
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    )  # fmt: skip
    coefficient, linked = np.zeros(size, np.int64), np.zeros(size, np.int64)
    delta, near, far = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    advantage = np.zeros(size, np.int64)
    largest = clipped = marks = np.int64(0)
    end = steps
    while end:
        begin = max(0, end - block)
        low, high, count = begin * rows, end * rows, (end - begin) * rows
        ended, cut = terminated[low:high], truncated[low:high]
        more, mark = _words(rewards[low:high], reward_line, scale_fraction, width, reward)
        clipped, marks = clipped + more, marks | mark
        more, mark = _words(values[low:high], value_line, scale_fraction, width, value)
        clipped, marks = clipped + more, marks | mark
        for i in range(count):
            linked[i] = 0 if ended[i] | cut[i] else 1
        if end == steps:
            linked[count - rows : count] = 0
        for i in range(count):
            following[i] = value[i + rows]
        for first in range(0, count, _GROUP):
            last, ends = min(first + _GROUP, count), 0
            for i in range(first, last):
                ends += cut[i]
            if ends or end == steps and last > count - rows:
                for i in range(first, last):
                    if not linked[i] and not ended[i]:
                        more, mark = _words(
                            bootstraps[low + i : low + i + 1], value_line, scale_fraction, width,
                            following[i : i + 1],
                        )  # fmt: skip
                        clipped, marks = clipped + more, marks | mark
        for i in range(count):
            coefficient[i] = 0 if ended[i] else gamma
        for i in range(count):
            delta[i], mark = blend(
                reward[i] - value[i], coefficient[i], following[i], fraction, width
            )
            marks |= mark
        addend = delta
        if lookahead > 1:
            addend = near
            for i in range(count):
                near[i], mark = blend(delta[i], decay * linked[i], delta[i + rows], fraction, width)
                marks |= mark
        if lookahead > 2:
            addend = far
            for i in range(count):
                far[i], mark = blend(delta[i], decay * linked[i], near[i + rows], fraction, width)
                marks |= mark
        for i in range(count):
            coefficient[i] = decay_power * linked[i]
        for later in range(rows, lookahead * rows, rows):
            for i in range(count):
                coefficient[i] *= linked[i + later]
        for t in range(count - rows, -1, -rows):
            now, before = advantage[t : t + rows], advantage[t + lookahead * rows :]
            for n in range(rows):
                now[n], mark = blend(addend[t + n], coefficient[t + n], before[n], fraction, width)
                marks |= mark
        place = advantages[low:high]
        for i in range(count):
            number, mark = result(advantage[i], shift, limit)
            place[i] = np.float32(number * scale)
            largest, marks = max(largest, abs(number)), marks | mark
        place = returns[low:high]
        for i in range(count):
            number, mark = result(advantage[i] + value[i] - mean, shift, limit)
            place[i] = np.float32(number * scale + offset)
            largest, marks = max(largest, abs(number)), marks | mark
        end = begin
        behind = min(end, block) * rows
        for i in range(3 * rows - 1, -1, -1):
            value[behind + i], delta[behind + i], near[behind + i] = value[i], delta[i], near[i]
            advantage[behind + i], linked[behind + i] = advantage[i], linked[i]
    return largest, clipped, marks
