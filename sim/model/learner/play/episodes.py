"""The twin of ``hw.learner.play.episodes``: a list of rewards for each episode under way.

Returns are Python's integers, with the fraction bits of the rewards.
"""

import numpy as np

from sim.model.learner.play.windows import binary32

__all__ = ["EPISODE", "Episodes"]

EPISODE = np.dtype("<u4, u1, u1, <u2, <f4, <u4")


class Episodes:
    """Episodes of ``environments``.

    Attributes
    ----------
    returns : list of int
        Of all episodes that ended since the start, the oldest first.
    """

    def __init__(self, environments):
        self._count = environments
        self.start(0)

    def start(self, window):
        """All episodes begin anew; the sum is one of the last 2^window."""
        self._last = 1 << window
        self._rewards = [[] for _ in range(self._count)]
        self.returns = []

    @property
    def total(self):
        """Sum of the last 2^window returns, or of all if they are fewer."""
        return sum(self.returns[-self._last :])

    def met(self, goal):
        """Whether 2^window episodes ended, with a sum of at least ``goal``."""
        return len(self.returns) >= self._last and self.total >= goal

    def push(self, step, reward, fraction, terminated, truncated, records):
        """Takes a step of each environment: ``reward``, int [environments], with ``fraction``
        fraction bits; how episodes end, bool [environments]. ``step`` is its number.

        Returns ``(place, EPISODE)`` of each episode that ends; none if ``records`` is 0.
        """
        ended = []
        for number, rewards in enumerate(self._rewards):
            rewards.append(int(reward[number]))
            how = int(terminated[number]) + 2 * int(truncated[number])
            if how:
                total = sum(rewards)
                if records:
                    row = step, number, how, len(rewards), binary32(total, fraction), 0
                    ended.append((len(self.returns) % records, np.array(row, EPISODE)))
                self.returns.append(total)
                rewards.clear()
        return ended
