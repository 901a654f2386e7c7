"""Helpers of tests of environments: actions that follow from what is seen, and equal seeds."""

import numpy as np

from host.environments.environment import Actor


class Summing:
    """A policy: the sum of an observation's numbers decides."""

    def __init__(self, count):
        self._count = count

    def act(self, obs, *, greedy):
        return obs.reshape(len(obs), -1).astype(np.int64).sum(axis=1) % self._count


def check_seeds(envs, one):
    """Environment i of the three ``envs`` is what the ``one`` alone is from its seed plus i, also
    after other episodes, at the last seed of 31 bits, and at one of more than 32."""

    def play(envs, seed):
        actor, seen = Actor(envs, seed=seed), []
        for _ in range(30):
            seen.append(actor.obs)
            actor.step(Summing(3).act(actor.obs, greedy=True))
        return np.array(seen)

    first, other = play(envs, 7), play(envs, 70)
    assert (first != other).any()
    for i in range(3):
        np.testing.assert_array_equal(play(one, 7 + i)[:, 0], first[:, i])
    last = play(one, 2**31 - 1)[:, 0]
    np.testing.assert_array_equal(play(envs, 2**31 - 2)[:, 1], last)
    judges = play(one, 2**32)[:, 0]
    np.testing.assert_array_equal(play(envs, 2**32 - 1)[:, 1], judges)
    assert (judges != play(one, 0)[:, 0]).any(), "it does not begin again"
