"""n-step experiences from vectorised environments.

Every transition opens a window; a window closes after n rewards or with its episode.
"""

import numpy as np

__all__ = ["NStep"]


class NStep:
    """``R = sum_{i<k} gamma^i r_i``, ``discount = gamma^k`` with k = n, or fewer where the episode
    ended first (Sutton and Barto, Reinforcement Learning, 2018, 7.1).

    The learner bootstraps ``R + discount (1 - terminated) Q(next_obs)``, so a truncated episode
    (time limit) bootstraps from its final observation and a terminated one does not.

    Parameters
    ----------
    env_count, n : int
    gamma : float
    observation_size : int
    action_size : int, optional
        Components of a continuous action (float32); None: an action is one integer (int32).

    One window per step and environment, n slots an environment: a slot is free again when its
    window has closed, because a window is open for at most n steps.
    """

    def __init__(self, env_count, n, gamma, *, observation_size, action_size=None):
        for name, value in (("env_count", env_count), ("n", n)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1, not {value!r}")
        self.n = n
        self._powers = gamma ** np.arange(n + 1, dtype=np.float64)
        self._rows = np.arange(env_count)
        self._cursor = np.zeros(env_count, np.int64)
        self._open = np.zeros((env_count, n), bool)
        self._age = np.zeros((env_count, n), np.int64)
        self._reward = np.zeros((env_count, n), np.float64)
        self._obs = np.zeros((env_count, n, observation_size), np.float32)
        shape, kind = ((), np.int32) if action_size is None else ((action_size,), np.float32)
        self._action = np.zeros((env_count, n, *shape), kind)
        self._last_obs = np.zeros((env_count, observation_size), np.float32)

    def push(self, obs, action, reward, next_obs, terminated, truncated, valid=None):
        """Take one vector step, return the experiences it completes, oldest first in each
        environment.

        Parameters
        ----------
        obs, next_obs : array [env_count, observation_size]
            ``next_obs`` is the true successor, the final observation where an episode ended.
        action : array [env_count] or [env_count, action_size]
        reward, terminated, truncated : array [env_count]
        valid : bool array [env_count], optional
            False where the step was only a reset; such steps are left out.

        Returns
        -------
        dict
            ``obs``, ``action``, ``reward``, ``next_obs``, ``terminated``, ``discount``, each
            [experiences, ...]; possibly none.
        """
        rows, slot = self._rows, self._cursor
        valid = np.ones(len(rows), bool) if valid is None else np.asarray(valid, bool)
        self._obs[rows, slot] = obs
        self._action[rows, slot] = action
        self._reward[rows, slot] = 0
        self._age[rows, slot] = 0
        self._open[rows, slot] |= valid
        active = self._open & valid[:, None]
        gain = self._powers[self._age] * np.asarray(reward, np.float64)[:, None]
        self._reward += np.where(active, gain, 0)
        self._age += active
        self._last_obs[valid] = next_obs[valid]
        ended = np.logical_or(terminated, truncated)
        closing = active & ((self._age == self.n) | ended[:, None])
        self._cursor = (slot + valid) % self.n
        return self._take(closing, np.asarray(terminated, bool))

    def flush(self):
        """Close every open window as if its episode was truncated here; return the experiences.

        For actors that are about to be reset: what they have seen is not lost.
        """
        return self._take(self._open.copy(), np.zeros(len(self._rows), bool))

    def _take(self, closing, terminated):
        # Rolled so that column 0 is the oldest window: order is by environment, then age.
        order = (self._cursor[:, None] + np.arange(self.n)) % self.n
        env, column = np.nonzero(closing[self._rows[:, None], order])
        slot = order[env, column]
        self._open &= ~closing
        return {
            "obs": self._obs[env, slot],
            "action": self._action[env, slot],
            "reward": self._reward[env, slot].astype(np.float32),
            "next_obs": self._last_obs[env],
            "terminated": terminated[env],
            "discount": self._powers[self._age[env, slot]].astype(np.float32),
        }

    _STATE = ("_cursor", "_open", "_age", "_reward", "_obs", "_action", "_last_obs")

    def state_dict(self):
        return {name[1:]: getattr(self, name).copy() for name in self._STATE}

    def load_state_dict(self, state):
        for name in self._STATE:
            mine, theirs = getattr(self, name), np.asarray(state[name[1:]])
            if mine.shape != theirs.shape:
                raise ValueError(f"{name[1:]} must be {list(mine.shape)}, not {list(theirs.shape)}")
            mine[...] = theirs
