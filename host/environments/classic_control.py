"""Gymnasium's classic control without the layers around it, which take most of a step's time.

The environments are gymnasium's own objects; seeds, episodes and numbers equal a
``SyncVectorEnv``'s to the byte. Only CartPole is stepped by formulas of our own
(``host.environments.cart_pole``), as long as its ``step`` has the source that they were written
from.
"""

import numpy as np
from gymnasium.envs.classic_control import (
    AcrobotEnv,
    CartPoleEnv,
    Continuous_MountainCarEnv,
    MountainCarEnv,
    PendulumEnv,
)
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hw.errors import UsageError

__all__ = ["CLASSES", "ClassicControlEnvs"]


class ClassicControlEnvs(VectorEnv):
    """Environments of classic control as a vector, in autoreset mode SAME_STEP.

    Parameters
    ----------
    envs : list of gymnasium.Env
        Objects of one of gymnasium's classes, without wrappers.
    limits : list of int or infinity
        Steps after which an episode of each is truncated.
    """

    own_arrays = True  # arrays are made anew in each step

    def __init__(self, envs, limits):
        self.envs, self.num_envs, self.render_mode = envs, len(envs), None
        self.metadata = {**envs[0].metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = envs[0].observation_space
        self.single_action_space = envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._limits, self._steps = np.array(limits, np.float64), None
        self._shape = (self.num_envs, *self.single_observation_space.shape)

    def reset(self, *, seed=None, options=None):
        """Resets all environments. ``seed``: an integer, of environment 0, environment i gets
        ``seed + i``; a list with a seed for each; or None, to go on with their random numbers."""
        count = self.num_envs
        if seed is None or isinstance(seed, int):
            seed = [seed] * count if seed is None else range(seed, seed + count)
        if len(seed) != count:
            raise UsageError(f"seed must have {count} seeds, not {len(seed)}")
        self._steps, obs = np.zeros(count, np.int64), np.empty(self._shape, np.float32)
        for i, env in enumerate(self.envs):
            obs[i] = env.reset(seed=seed[i], options=options)[0]
            self._begun(i)
        return obs, {}

    def step(self, actions):
        """Steps as a SyncVectorEnv does. ``info`` has ``final_obs``, float32 [num_envs, ...], whose
        rows have a meaning where an episode ended, and ``_final_obs``, which says where."""
        if self._steps is None:
            raise UsageError("reset must be called before step")
        obs, reward, terminated, truncated, ended = self._stepped(actions)
        if not ended:
            return obs, reward, terminated, truncated, {}
        final, both = obs.copy(), terminated | truncated
        for i in both.nonzero()[0].tolist():
            obs[i], self._steps[i] = self.envs[i].reset()[0], 0
            self._begun(i)
        return obs, reward, terminated, truncated, {"final_obs": final, "_final_obs": both}

    def _stepped(self, actions):
        """Observations, rewards and ends of a step, both kinds, as new arrays; and whether an
        episode ended."""
        obs, reward = np.empty(self._shape, np.float32), np.empty(self.num_envs)
        terminated = np.empty(self.num_envs, bool)
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            obs[i], reward[i], terminated[i], _, _ = env.step(action)
        self._steps += 1
        truncated = self._steps >= self._limits
        return obs, reward, terminated, truncated, True in terminated or True in truncated

    def _begun(self, i):
        """Called after each reset of environment i."""

    def close_extras(self, **kwargs):
        for env in self.envs:
            env.close()


CLASSES = AcrobotEnv, CartPoleEnv, Continuous_MountainCarEnv, MountainCarEnv, PendulumEnv
