"""The twin of ``hw.learner.play.explore``, for all environments at once.

A number of 64 bits, u, decides for an environment::

    explores = u mod 2^32 < epsilon
    random action = (u div 2^32) * actions div 2^32

Q values are ordered as integers with a sign and a magnitude, as their bits are.
"""

import numpy as np

__all__ = ["Explore"]

_ONE, _MAGNITUDE = 1 << 32, (1 << 31) - 1


class Explore:
    """Actions of a vector step for ``environments``, each with ``actions`` choices.

    Parameters
    ----------
    environments, actions : int
    generator : np.random.SFC64
        The numbers come from its ``random_raw``.

    Attributes
    ----------
    epsilon : int
        Epsilon of the next step, times 2^32: ``start`` of the first step less ``decrement`` for
        each step since, and at least ``end``.
    """

    def __init__(self, environments, actions, generator):
        self.epsilon = 0
        self._count, self._actions, self._generator = environments, actions, generator

    def step(self, decrement, end, start=None):
        """Begins a vector step, whose epsilon is ``start`` unless that is None. All three are
        times 2^32.

        Returns whether an environment takes its greedy action."""
        epsilon = self.epsilon if start is None else start
        numbers = self._generator.random_raw(self._count)
        self._explores = (numbers & np.uint64(_ONE - 1)).astype(np.int64) < epsilon
        # The product has at most 40 bits.
        choice = (numbers >> np.uint64(32)).astype(np.int64) * self._actions // _ONE
        self._random = choice
        self.epsilon = max(epsilon - decrement, end)
        return not self._explores.all()

    def act(self, values=None):
        """The actions, int64 [environments]. ``values`` : Q values, float32 [environments,
        actions]; None if all explore."""
        if values is None:
            return self._random
        bits = np.asarray(values, np.float32).view(np.uint32).astype(np.int64)
        # Zeros of both signs are equal, and NaNs are beyond infinity.
        size = bits & _MAGNITUDE
        greedy = np.where(bits > _MAGNITUDE, -size, size).argmax(axis=1)
        return np.where(self._explores, self._random, greedy)
