"""n-step experiences of an environment's steps, with the rewards of each step kept apart: they are
normalized when they are drawn, by the statistics of that time, as stable-baselines3 does it."""

import numpy as np

__all__ = ["Windows"]


class Windows:
    """Makes n-step experiences of the steps of ``env_count`` environments.

    Every step opens a window, which closes after n steps or when the episode ends. It is then a
    record with the observation and action of its first step, all its rewards, and the successor of
    its last step. A window also closes, as if its episode was truncated, before a step whose
    observation is not the successor of the step before: the environments were reset in between.

    Parameters
    ----------
    dtype : structured dtype
        A record; ``reward`` has the shape (n,), and ``length`` is the number of rewards.
    n, env_count : int
    seen, followed : lists of str
        The fields of an observation, and of its successor in the same order; all other fields but
        ``reward`` and ``length`` are replaced in each step, too, except for ``action``.
    """

    def __init__(self, dtype, n, env_count, seen, followed):
        self._n, self._seen, self._followed = n, seen, followed
        self._latest = [*followed, "done", "timeout"]
        #: [slot, environment]; the window of a step is in the slot of the step's number modulo n
        self._records = np.zeros((n, env_count), dtype)
        self._open = np.zeros((n, env_count), bool)
        self._slot = 0

    def push(self, step):
        """Takes a step of all environments, records [env_count] with one reward each. Returns the
        records of the windows that it closes, the oldest first, each environment's in order."""
        closed = []
        broken = self._broken(step)
        if broken.any():
            closed.append(self._take(self._open & broken))
        slot, records = self._slot, self._records
        ended = step["done"][:, 0] + step["timeout"][:, 0] > 0
        records[slot], self._open[slot] = step, True
        reward = step["reward"][:, 0]
        for age in range(1, self._n):
            earlier = slot - age
            (rows,) = np.nonzero(self._open[earlier])
            if len(rows):
                window = records[earlier]
                window["reward"][rows, age] = reward[rows]
                window["length"][rows] = age + 1
                for name in self._latest:
                    window[name][rows] = step[name][rows]
        self._slot = (slot + 1) % self._n
        closing = self._open & ended
        closing[self._slot] = self._open[self._slot]  # of n steps
        return np.concatenate([*closed, self._take(closing)])

    def _broken(self, step):
        """Where the step does not continue an open window: bools [env_count]."""
        before = self._records[self._slot - 1]
        differs = np.zeros(self._open.shape[1], bool)
        for one, other in zip(self._seen, self._followed, strict=True):
            pair = step[one] != before[other]
            differs |= pair.reshape(len(pair), -1).any(1)
        return differs & self._open[self._slot - 1]

    def _take(self, closing):
        """Closes the windows where ``closing``, bools [slot, environment], is True."""
        order = (self._slot + np.arange(self._n)) % self._n  # from the oldest slot on
        at, env = np.nonzero(closing[order])
        self._open &= ~closing
        return self._records[order[at], env]

    def clear(self):
        """Forgets all windows."""
        self._open[...] = False
