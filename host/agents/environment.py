"""Vectorised gymnasium environments, seen as transitions with their true successors."""

import dataclasses

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode

__all__ = ["Actor", "Transitions", "evaluate", "make_envs", "reward_threshold"]


def make_envs(env, count):
    """``count`` synchronous copies with flat observations and discrete actions.

    ValueError if the id is unknown, the action space not Discrete or observations not numbers.
    """
    try:
        spec = gymnasium.spec(env)
    except gymnasium.error.Error as error:
        raise ValueError(
            f"env must be the id of a registered gymnasium environment, not {env!r} ({error})"
        ) from error

    def make():
        one = gymnasium.make(spec, disable_env_checker=True)
        space = one.observation_space
        plain = isinstance(space, Box) and len(space.shape) == 1
        return one if plain else gymnasium.wrappers.FlattenObservation(one)

    try:
        envs = gymnasium.vector.SyncVectorEnv(
            [make] * count, autoreset_mode=AutoresetMode.SAME_STEP
        )
    except gymnasium.error.DependencyNotInstalled as error:
        raise ValueError(f"env must have its packages installed, not {env!r} ({error})") from error
    if not isinstance(envs.single_action_space, Discrete):
        space = envs.single_action_space
        envs.close()
        raise ValueError(f"env must have a Discrete action space for dqn, not {space} of {env!r}")
    return envs


def reward_threshold(env):
    """Mean return that gymnasium calls solved, or None."""
    return gymnasium.spec(env).reward_threshold


@dataclasses.dataclass(frozen=True)
class Transitions:
    """One vector step; arrays [env_count, ...].

    ``next_obs`` is what the action led to, also where the episode ended and the environment has
    been reset since. ``valid`` is False where the environment spent the step on its reset.
    """

    obs: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_obs: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    valid: np.ndarray


class Actor:
    """Steps a ``gymnasium.vector.VectorEnv`` in any autoreset mode.

    SAME_STEP: the step's observation is the new episode's, the final one is in ``final_obs``.
    NEXT_STEP: the step's observation is the final one, the next step only resets.
    DISABLED: the actor resets.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        With Discrete actions; its metadata names the autoreset mode.
    seed : int
        Of environment 0; environment i gets seed + i.

    Attributes
    ----------
    obs : array [env_count, size], float32
        What the next action answers to.
    """

    def __init__(self, envs, *, seed):
        mode = envs.metadata.get("autoreset_mode")
        if mode is None:
            raise ValueError("envs must name its autoreset_mode in its metadata, not None")
        self.envs, self.mode = envs, AutoresetMode(mode)
        self._first_action = int(envs.single_action_space.start)
        obs, _ = envs.reset(seed=seed)
        self.obs = np.asarray(obs, np.float32)
        self._resetting = np.zeros(envs.num_envs, bool)
        self._return = np.zeros(envs.num_envs)
        self._length = np.zeros(envs.num_envs, np.int64)

    def step(self, action):
        """Apply actions [env_count] counted from 0.

        Returns
        -------
        Transitions
        episodes : list of (float, int)
            Return and length of each episode that ended, by environment.
        """
        action = np.asarray(action)
        obs, reward, terminated, truncated, info = self.envs.step(action + self._first_action)
        obs = np.asarray(obs, np.float32)
        valid, ended = ~self._resetting, np.logical_or(terminated, truncated)
        next_obs = obs
        if self.mode == AutoresetMode.NEXT_STEP:
            self._resetting = ended
        elif ended.any():
            next_obs = obs.copy()
            if self.mode == AutoresetMode.SAME_STEP:
                for i in np.flatnonzero(ended):
                    next_obs[i] = info["final_obs"][i]
            else:
                fresh, _ = self.envs.reset(options={"reset_mask": ended})
                obs = np.where(ended[:, None], np.asarray(fresh, np.float32), obs)
        transitions = Transitions(self.obs, action, reward, next_obs, terminated, truncated, valid)
        self.obs = obs
        self._return += np.where(valid, reward, 0)
        self._length += valid
        episodes = [(float(self._return[i]), int(self._length[i])) for i in np.flatnonzero(ended)]
        self._return[ended] = 0
        self._length[ended] = 0
        return transitions, episodes


def evaluate(agent, envs, *, seed):
    """Return of one greedy episode in each environment, array [env_count].

    Environment i starts from ``seed + i``; the agent neither learns nor counts the steps.
    """
    actor = Actor(envs, seed=seed)
    returns, running = np.zeros(envs.num_envs), np.ones(envs.num_envs, bool)
    while running.any():
        taken, _ = actor.step(agent.act(actor.obs, greedy=True))
        returns += np.where(running & taken.valid, taken.reward, 0)
        running &= ~(taken.terminated | taken.truncated)
    return returns
