"""The twin of ``hw.learner.play.windows``: a ring of steps for each environment, compiled.

A sum of 16 products of 32 bits each has 68 bits; it is kept in two integers, the lower one of 16
bits.
"""

from math import ldexp

import numpy as np

from sim.compiled import compiled

__all__ = ["Windows", "binary32"]

_ONE = 1 << 31
#: Most rewards of a window.
_LONGEST = 16


def binary32(raw, fraction):
    """``raw * 2**-fraction`` of an integer, rounded to nearest even, as np.float32."""
    size, sign = abs(raw), -1 if raw < 0 else 1
    low = max(0, size.bit_length() - 24)
    kept, rest = divmod(size, 1 << low)
    half = 1 << low >> 1
    kept += low > 0 and (rest > half or (rest == half and kept & 1))
    return np.float32(ldexp(sign * kept, low - fraction))


class Windows:
    """Windows of ``environments``.

    Attributes
    ----------
    settings : tuple of int
        n, discount and scale of the last start; after a reset zeros.
    """

    def __init__(self, environments):
        self.settings = 0, 0, 0
        self._count, self._rings = np.zeros(environments, np.int64), None
        self._first = np.zeros(environments, np.int64)

    @property
    def open(self):
        """Steps of each environment that are in a window, the oldest first: lists of observation,
        action, reward."""
        found = [[] for _ in self._count]
        for number, count in enumerate(self._count):
            for k in range(count):
                words, rewards = (each[number, (self._first[number] + k) % _LONGEST]
                                  for each in self._rings[:2])  # fmt: skip
                split = self._rings[2]
                found[number].append((words[:split].copy(), words[split:].copy(), int(rewards)))
        return found

    @open.setter
    def open(self, steps):
        for number, own in enumerate(steps):
            self._count[number], self._first[number] = len(own), 0
            for k, (obs, action, reward) in enumerate(own):
                words, rewards, _ = self._made(len(obs), len(action))
                words[number, k] = *obs, *action
                rewards[number, k] = reward

    def _made(self, observation, action):
        """Rings of words and of rewards, and the words of an observation."""
        if self._rings is None:
            shape = len(self._count), _LONGEST
            words = np.zeros((*shape, observation + action), np.uint32)
            self._rings = words, np.zeros(shape, np.int64), observation
        return self._rings

    def start(self, n, discount, scale):
        """Forgets all windows. ``discount`` and ``scale`` are times 2^31."""
        self._count[:] = 0
        self.settings, powers, weights = (n, discount, scale), [_ONE], [scale]
        for _ in range(n):
            for numbers in (powers, weights):
                numbers.append((numbers[-1] * discount + _ONE // 2) // _ONE)
        self._weights = np.array(weights, np.int64)
        self._powers = np.array([binary32(power, 31) for power in powers])

    def push(self, obs, next_obs, action, reward, fraction, terminated, truncated):
        """Takes a transition of each environment.

        obs, next_obs, action : words, uint32 [environments, words].
        reward : int [environments], with ``fraction`` fraction bits.
        terminated, truncated : bool [environments].

        Returns the words of the experiences that it completes, a list of uint32 arrays.
        """
        words, rewards, split = self._made(obs.shape[1], action.shape[1])
        new = np.concatenate([obs, action], axis=1).astype(np.uint32)
        most = len(self._count) + int(self._count.sum())
        numbers = np.zeros((most, 2), np.float32)
        experiences = np.zeros((most, words.shape[2] + split + 2), np.uint32)
        closed = _push(
            words, rewards, self._count, self._first, self.settings[0], new,
            np.asarray(next_obs, np.uint32), np.asarray(reward, np.int64), fraction,
            np.asarray(terminated, np.bool_), np.asarray(truncated, np.bool_), self._weights,
            self._powers, split, experiences, numbers,
        )  # fmt: skip
        experiences[:, -2:] = numbers.view(np.uint32)
        return list(experiences[:closed])


@compiled
def _push(words, rewards, count, first, n, new, following, reward, fraction, terminated, truncated,
          weights, powers, split, experiences, numbers):  # fmt: skip
    """Writes experiences without their last two numbers, and these to ``numbers``; returns their
    count."""
    closed = 0
    for e in range(len(count)):
        place = (first[e] + count[e]) % _LONGEST
        words[e, place], rewards[e, place] = new[e], reward[e]
        count[e] += 1
        ends = terminated[e] or truncated[e]
        while count[e] and (ends or count[e] == n):
            high, low = np.int64(0), np.int64(0)
            for k in range(count[e]):
                each = rewards[e, (first[e] + k) % _LONGEST]
                high += weights[k] * (each >> 16)
                low += weights[k] * (each & 0xFFFF)
            numbers[closed, 0] = _rounded(high + (low >> 16), low & 0xFFFF, 31 + fraction)
            if not terminated[e]:
                numbers[closed, 1] = powers[count[e]]
            oldest, row = words[e, first[e]], experiences[closed]
            row[:split] = oldest[:split]
            row[split : 2 * split] = following[e]
            row[2 * split : split + len(oldest)] = oldest[split:]
            first[e] = (first[e] + 1) % _LONGEST
            count[e] -= 1
            closed += 1
    return closed


@compiled
def _rounded(high, low, fraction):
    """``(high 2^16 + low) 2^-fraction`` as float32, rounded to nearest even."""
    sign = 1.0
    if high < 0:
        sign, high, low = -1.0, -high - (low > 0), (65536 - low) & 0xFFFF
    if high >> 46:  # bits far below the last one that is kept only say that they are there
        size, up = high << 1 | (low > 0), 15
    else:
        size, up = high << 16 | low, 0
    length = 0
    while size >> length:
        length += 1
    drop = max(0, length - 24)
    kept, rest = size >> drop, size & ((1 << drop) - 1)
    half = (1 << drop) >> 1
    if drop and (rest > half or (rest == half and kept & 1)):
        kept += 1
    return np.float32(sign * kept * 2.0 ** (drop + up - fraction))
