"""An environment whose step takes a millisecond of the processor's time, and nothing else."""

import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

__all__ = ["BURNING", "Burning"]

BURNING = f"{__name__}:rlfabric-bench/Burning-v0"

#: Seconds of a step, of the thread's own processor time: if another program has the core meanwhile,
#: the step is longer.
STEP_S = 1e-3
_EPISODE = 200


class Burning(gymnasium.Env):
    """Spaces as in CartPole. Observes its steps; each of them has a reward of 1."""

    observation_space = Box(-np.inf, np.inf, (4,), np.float32)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        until = time.thread_time() + STEP_S
        while time.thread_time() < until:
            pass
        self._steps += 1
        obs = np.full(4, self._steps / _EPISODE, np.float32)
        return obs, 1.0, False, self._steps == _EPISODE, {}


gymnasium.register(BURNING.partition(":")[2], entry_point=Burning)
