"""The twin of ``hw.learner.play.episodes``: a sum and a count for each episode under
way.

Returns are Python's integers, with the fraction bits of the rewards; they and their sum wrap where
the contract says.
"""

import numpy as np

from sim.model.learner.play.windows import binary32

__all__ = ["EPISODE", "RETURN", "TOTAL", "Episodes", "signed"]

EPISODE = np.dtype("<u4, u1, u1, <u2, <f4, <u4")
#: Bits of a return and of the window's sum, which are signed.
RETURN, TOTAL = 48, 55


def signed(number, width):
    """The low ``width`` bits of an integer, two's complement."""
    number &= (1 << width) - 1
    return number - (number >> (width - 1) << width)


class Episodes:
    """Episodes of ``environments``.

    Attributes
    ----------
    running : list of lists
        Of each environment's episode: the sum of its rewards, and its steps.
    size : int
        Episodes of the window.
    returns : list of int
        Of the episodes that ended since the start, the oldest first; older ones than the window's
        are lost in ``resume``.
    """

    def __init__(self, environments):
        self._count = environments
        self.start(0)

    def start(self, window):
        """All episodes begin anew; the sum is one of the last 2^window."""
        self.resume(window, [(0, 0)] * self._count, 0, 0, [])

    def resume(self, window, running, ended, total, returns):
        """Goes on from ``running``, ``ended``, ``total`` and the returns of the window."""
        self.size = 1 << window
        self.running = [list(each) for each in running]
        self.returns, self._before = list(returns), ended - len(returns)
        self._more = total - sum(returns)

    @property
    def ended(self):
        """Episodes that ended since the start, of 32 bits."""
        return (self._before + len(self.returns)) % (1 << 32)

    @property
    def window(self):
        """The last 2^window returns, or all if they are fewer."""
        return self.returns[-self.size :]

    @property
    def total(self):
        """Sum of ``window``."""
        return signed(sum(self.window) + self._more, TOTAL)

    def met(self, goal):
        """Whether 2^window episodes ended, with a sum of at least ``goal``."""
        return len(self.returns) >= self.size and self.total >= goal

    def push(self, step, reward, fraction, terminated, truncated, records):
        """Takes a step of each environment: ``reward``, int [environments], with ``fraction``
        fraction bits; how episodes end, bool [environments]. ``step`` is its number.

        Returns ``(place, EPISODE)`` of each episode that ends; none if ``records`` is 0.
        """
        ended = []
        for number, episode in enumerate(self.running):
            episode[0] = signed(episode[0] + int(reward[number]), RETURN)
            episode[1] = (episode[1] + 1) % (1 << 16)
            how = int(terminated[number]) + 2 * int(truncated[number])
            if how:
                total, length = episode
                if records:
                    row = step, number, how, length, binary32(total, fraction), 0
                    ended.append((self.ended % records, np.array(row, EPISODE)))
                self.returns.append(total)
                episode[:] = 0, 0
        return ended
