"""The twin of ``hw.learner.play.windows``: integers of Python, of any size."""

from math import ldexp

import numpy as np

__all__ = ["Windows", "binary32"]

_ONE = 1 << 31


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
    open : list of lists
        Steps of each environment that are in a window: observation, action, reward.
    settings : tuple of int
        n, discount and scale of the last start; after a reset zeros.
    """

    def __init__(self, environments):
        self.open, self.settings = [[] for _ in range(environments)], (0, 0, 0)

    def start(self, n, discount, scale):
        """Forgets all windows. ``discount`` and ``scale`` are times 2^31."""
        self.weigh(n, discount, scale)
        for steps in self.open:
            steps.clear()

    def weigh(self, n, discount, scale):
        """Sets the three numbers, as ``start``, and keeps the windows."""
        self.settings = n, discount, scale
        self._n, self._powers, self._weights = n, [_ONE], [scale]
        for _ in range(n):
            for numbers in (self._powers, self._weights):
                numbers.append((numbers[-1] * discount + _ONE // 2) // _ONE)

    def push(self, obs, next_obs, action, reward, fraction, terminated, truncated):
        """Takes a transition of each environment.

        obs, next_obs, action : words, uint32 [environments, words].
        reward : int [environments], with ``fraction`` fraction bits.
        terminated, truncated : bool [environments].

        Returns the words of the experiences that it completes, a list of uint32 arrays.
        """
        experiences = []
        for number, steps in enumerate(self.open):
            steps.append((obs[number], action[number], int(reward[number])))
            ends = terminated[number] or truncated[number]
            while steps and (ends or len(steps) == self._n):
                total = sum(w * step[2] for w, step in zip(self._weights, steps, strict=False))
                bootstraps = 0 if terminated[number] else self._powers[len(steps)]
                numbers = binary32(total, 31 + fraction), binary32(bootstraps, 31)
                oldest = steps.pop(0)
                words = oldest[0], next_obs[number], oldest[1], np.array(numbers).view(np.uint32)
                experiences.append(np.concatenate(words).astype(np.uint32))
        return experiences
