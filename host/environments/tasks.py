"""Tasks as environments of gymnasium: one, and many at once, which are stepped by compiled code."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from host.environments.task_ids import program_of
from hw.errors import UsageError
from sim.model.environment.twin import Environments, seeded

__all__ = ["TaskEnv", "TaskVectorEnv"]

_MODES = ("rgb_array", "human")
#: A limit that no episode reaches: TimeLimit has the one that counts.
_UNLIMITED = (1 << 63) - 1


def _spaces(task):
    """Spaces of observations and of actions."""
    low, high = np.array(list(task.observation.values()), np.float32).T
    seen = Box(low, high, dtype=np.float32)
    if isinstance(task.actions, int):
        return seen, Discrete(task.actions)
    low, high = np.array(list(task.actions.values()), np.float32).T
    return seen, Box(low, high, dtype=np.float32)


class _Picture:
    """Draws states of a task by the environment of gymnasium that it names."""

    def __init__(self, task, mode):
        if task.drawn_as is None:
            raise UsageError(f"render_mode must be None for {type(task).__name__}, not {mode!r}")
        self._formats = task.formats.values()
        self._env = gymnasium.make(task.drawn_as, render_mode=mode).unwrapped
        self._env.reset()

    def draw(self, state):
        """The picture of the words ``state`` [state_count], bytes [height, width, 3]."""
        pairs = zip(self._formats, state, strict=True)
        self._env.state = np.array([form.to_float(word) for form, word in pairs])
        return self._env.render()

    def close(self):
        self._env.close()


class TaskEnv(gymnasium.Env):
    """A task as one environment: the words that a card would compute, on the CPU. Episodes are
    truncated by the TimeLimit that ``gymnasium.make`` puts around it, and by nothing else.

    A seed decides all that follows. Without one, the first reset takes a random seed, and later
    resets go on with the environment's random numbers.

    Parameters
    ----------
    task : type or str
        A subclass of ``hw.environment.task.Task``, or ``MODULE:CLASS``.
    render_mode : str, optional
        ``rgb_array`` or ``human``, if gymnasium has an environment with this picture.
    """

    metadata = {"render_modes": [*_MODES], "render_fps": 50}

    def __init__(self, task, render_mode=None):
        made, program = program_of(task)
        self.observation_space, self.action_space = _spaces(made)
        self.render_mode = render_mode
        self._picture = _Picture(made, render_mode) if render_mode else None
        self._twin, self._begun = Environments(program, _UNLIMITED, made.actions, 1), False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is None and not self._begun:
            seed = int(self.np_random.integers(1 << 62))
        if seed is not None:
            self._twin.generator[:] = seeded([seed])
        self._begun = True
        (obs,) = self._twin.reset()
        self._shown()
        return obs, {}

    def step(self, action):
        if not self._begun:
            raise UsageError("reset must be called before step")
        action = np.asarray(action).reshape(1, *self.action_space.shape)
        obs, reward, terminated, truncated, *_ = self._twin.step(action, autoreset=False)
        self._shown()
        return obs[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), {}

    def render(self):
        """The picture, bytes [height, width, 3], in mode ``rgb_array``; else None."""
        return self._picture.draw(self._twin.state[:, 0]) if self._picture else None

    def close(self):
        if self._picture:
            self._picture.close()

    def _shown(self):
        if self.render_mode == "human":
            self.render()


class TaskVectorEnv(VectorEnv):
    """``num_envs`` environments of a task, thousands at once if need be, in autoreset
    mode SAME_STEP. Environment i with seed s is a ``TaskEnv`` with seed s + i, to the bit.

    Parameters
    ----------
    num_envs : int
    task, render_mode
        As of TaskEnv. Environment 0 is shown.
    max_episode_steps : int, optional
        Instead of the task's limit.

    ``step`` raises UsageError for actions that are not in the space.
    """

    own_arrays = True  # arrays are made anew in each step

    def __init__(self, num_envs, task, render_mode=None, max_episode_steps=None):
        made, program = program_of(task)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = {
            "autoreset_mode": AutoresetMode.SAME_STEP,
            "render_modes": [*_MODES],
            "render_fps": 50,
        }
        self.single_observation_space, self.single_action_space = _spaces(made)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._picture = _Picture(made, render_mode) if render_mode else None
        limit = max_episode_steps or made.limit
        self._twin, self._begun = Environments(program, limit, made.actions, num_envs), False
        self._shape = (num_envs, *self.single_action_space.shape)

    def reset(self, *, seed=None, options=None):
        """Resets all environments. ``seed``: an integer, of environment 0; a list with a seed for
        each; or None, to go on with their random numbers."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        if seed is None and not self._begun:
            seed = int(self.np_random.integers(1 << 62))
        if seed is not None:
            seeds = range(seed, seed + self.num_envs) if np.ndim(seed) == 0 else seed
            if len(seeds) != self.num_envs:
                raise UsageError(f"seed must have {self.num_envs} seeds, not {len(seeds)}")
            self._twin.generator[:] = seeded(seeds)
        self._begun = True
        obs = self._twin.reset()
        self._shown()
        return obs, {}

    def step(self, actions):
        if not self._begun:
            raise UsageError("reset must be called before step")
        actions = np.asarray(actions)
        if actions.shape != self._shape:
            raise UsageError(f"actions must have the shape {self._shape}, not {actions.shape}")
        obs, reward, terminated, truncated, final, ended = self._twin.step(actions)
        info = {}
        if ended:
            info = {"final_obs": final, "_final_obs": terminated | truncated}
        self._shown()
        return obs, reward, terminated, truncated, info

    def render(self):
        """A tuple with the picture of environment 0; None without ``render_mode``."""
        return (self._picture.draw(self._twin.state[:, 0]),) if self._picture else None

    def close_extras(self, **kwargs):
        if self._picture:
            self._picture.close()

    def _shown(self):
        if self.render_mode == "human":
            self.render()
