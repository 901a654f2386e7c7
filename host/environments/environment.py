"""Vectorised gymnasium environments, whose steps are transitions with their true successors."""

import dataclasses
import warnings
from collections.abc import Mapping
from contextlib import closing, contextmanager
from functools import partial
from math import inf

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import OrderEnforcing, TimeLimit
from numpy.typing import ArrayLike, NDArray

from host.environments.border import (
    PASSED,
    all_finite,
    check_finite,
    enclose,
    failed,
    has_own_arrays,
    received,
)
from host.environments.classic_control import CLASSES, ClassicControlEnvs
from host.environments.environment_id import find_spec, missing_packages
from host.environments.minatar import MinAtarEnv, is_minatar
from host.environments.pixels import AtariEnvs, is_atari
from host.environments.spaces import Flattened, flattened, is_flattened, is_image
from host.environments.spec import Spec
from host.environments.task_ids import is_task
from hw.errors import RlfabricError, UsageError
from hw.replay.commands import MAX_GRANULES
from hw.replay.records import GRANULE_BYTES

__all__ = ["Actor", "FlattenedImages", "Transitions", "classic_control"]
__all__ += ["has_continuous_actions", "has_images", "make_envs"]

#: largest experience in the replay memory
_RECORD_BYTES = MAX_GRANULES * GRANULE_BYTES
_FLOAT64, _BOOL = np.dtype(np.float64), np.dtype(np.bool_)


class FlattenedImages(UserWarning):
    """A warning: images are flattened to vectors of their numbers, 0 to 255."""


def make_envs(env, count, algorithm, render_mode=None):
    """A vector environment of ``count`` copies of ``env``, in autoreset mode SAME_STEP.

    Observations are flattened by ``host.environments.spaces.is_flattened``; for images of bytes
    with a warning (FlattenedImages). If the algorithm takes images, games of ALE are
    ``AtariEnvs``; tasks are a ``TaskVectorEnv``, gymnasium's classic control is
    ``ClassicControlEnvs``.

    Parameters
    ----------
    env : str
        As for ``find_spec``.
    count : int
        Copies.
    algorithm : Algorithm
        Decides which action spaces are allowed, and whether images are flattened.
    render_mode : str, optional
        As in gymnasium.

    ValueError if the id is unknown, the algorithm does not take the action space, observations
    cannot be flattened or have no number, an experience is too large to be stored, or a package is
    not installed; EnvironmentFailed if the environment raises an error when it is made.
    """
    spec = find_spec(env)
    how = {} if render_mode is None else {"render_mode": render_mode}

    def make():
        one = gymnasium.make(spec, disable_env_checker=True, **how)
        one = MinAtarEnv(one) if is_minatar(spec) else one
        try:
            return _seen(env, one, algorithm)
        except UsageError:
            one.close()
            raise

    with _installed(env):
        if is_task(spec):
            from host.environments.tasks import (
                TaskVectorEnv,  # numba, which other runs may not need
            )

            limit = spec.max_episode_steps
            envs = TaskVectorEnv(count, **spec.kwargs, max_episode_steps=limit, **how)
        elif algorithm.images and is_atari(spec):
            envs = AtariEnvs(spec, count, **how)
        else:
            made = [make() for _ in range(count)]
            envs = classic_control(made) or SyncVectorEnv(
                [lambda one=one: one for one in made], autoreset_mode=AutoresetMode.SAME_STEP
            )
    try:
        algorithm.check_actions(envs.single_action_space, env)
        if algorithm.learns_from == "replay":
            _check_record(env, algorithm, envs)
    except ValueError:
        envs.close()
        raise
    enclose(envs)
    return envs


def classic_control(envs):
    """The list ``envs`` of environments, as ``gymnasium.make`` gave them, as a vector environment
    in autoreset mode SAME_STEP; None unless all are of one class of classic control itself, no
    subclass, without other wrappers than OrderEnforcing and TimeLimit, and not to be drawn."""
    inner, limits = [], []
    for env in envs:
        limit = inf
        if env.spec is None:
            return None
        if type(env) is TimeLimit:
            limit, env = env.spec.max_episode_steps, env.env
        if type(env) is OrderEnforcing:
            env = env.env
        inner.append(env)
        limits.append(limit)
    kind = type(inner[0])
    if kind not in CLASSES or any(type(env) is not kind or env.render_mode for env in inner):
        return None
    if kind is CartPoleEnv:
        # numba, which other runs may not need
        from host.environments.cart_pole import CartPoleEnvs, is_as_written

        if is_as_written(inner):
            return CartPoleEnvs(inner, limits)
    return ClassicControlEnvs(inner, limits)


@contextmanager
def _installed(env):
    """ValueError if a package of ``env`` is not installed, EnvironmentFailed if it cannot be made
    for another reason."""
    try:
        yield
    except gymnasium.error.DependencyNotInstalled as error:
        cure = missing_packages(env, error)
        raise UsageError(f"env must have its packages installed, not {env!r} ({cure})") from error
    except RlfabricError:
        raise
    except Exception as error:
        raise failed(error, f"env {env}", "when it was made") from error


def has_continuous_actions(env):
    """Whether the action space of ``env``, an id as ``find_spec`` takes it, is a Box. The
    environment is made to find out, and closed again. ValueError if it is unknown, or a package is
    missing."""
    with _installed(env):
        made = gymnasium.make(find_spec(env), disable_env_checker=True)
    with closing(made):
        return isinstance(made.action_space, Box)


def has_images(env, algorithm):
    """Whether ``algorithm`` gets images, bytes that were not flattened, as observations of ``env``.
    The environment is made to find out, and closed again. ValueError as in ``make_envs``."""
    with closing(make_envs(env, 1, algorithm)) as envs:
        return Spec.of(envs).dtype == "uint8"


def _seen(env, one, algorithm):
    """The environment ``one``, called ``env``, with observations that ``algorithm`` takes."""
    space = one.observation_space
    if is_flattened(space, algorithm.images):
        _warn_of_images(env, space)
        try:
            one = Flattened(one)
        except UsageError as error:
            raise UsageError(
                f"env must have observations that can be flattened, not those of {env!r} ({error})"
            ) from error
    if not np.prod(one.observation_space.shape):
        raise UsageError(f"env must have observations of numbers, not without any as {env!r}")
    return one


def _has_bytes(space):
    return is_image(space) and space.dtype == np.uint8


def _warn_of_images(env, space):
    if _has_bytes(space):
        # Python shows a warning of the same text and line once, so once for all copies.
        warnings.warn(
            f"env {env} gives images of {space.shape}: they are flattened to "
            f"{np.prod(space.shape)} numbers, 0 to 255, for a multi-layer perceptron",
            FlattenedImages,
            stacklevel=2,
        )


def _check_record(env, algorithm, envs):
    """ValueError if an experience, with its two observations, is larger than a record."""
    spec = Spec.of(envs)
    size = sum(kind.itemsize * int(np.prod(shape)) for kind, shape in spec.fields.values())
    if size > _RECORD_BYTES:
        wrapper = flattened(envs)
        space = None if wrapper is None else wrapper.env.observation_space
        what = f"images of {space.shape}, flattened to" if _has_bytes(space) else "observations of"
        raise UsageError(
            f"env must have experiences of at most {_RECORD_BYTES} bytes for {algorithm.name}, not "
            f"{size}: each has two of the {what} {spec.size} numbers of {env!r}"
        )


@dataclasses.dataclass(frozen=True)
class Transitions:
    """One step of all environments; arrays [env_count, ...].

    ``obs`` is the observation before the action, ``next_obs`` the one after it, even if the episode
    ended with this step and the environment has been reset since. ``action`` is as ``Actor.step``
    takes it. ``valid`` is False where the environment only reset in this step and ignored the
    action; the other arrays have no meaning there. ``reward``, ``terminated`` and ``truncated`` are
    those of the step. ``restarted``: all environments were lost and replaced, and began new
    episodes in this step (``info["restarted"]``); none of them is valid then.
    """

    obs: NDArray[np.generic]
    action: NDArray[np.generic]
    reward: NDArray[np.generic]
    next_obs: NDArray[np.generic]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    restarted: bool = False


class Actor:
    """Steps a ``gymnasium.vector.VectorEnv`` in any autoreset mode, and returns Transitions whose
    ``next_obs`` is always the observation that follows the action.

    In gymnasium's mode SAME_STEP, when an episode ends, the step's observation is that of the new
    episode, and the final observation is in ``final_obs``. In NEXT_STEP, the step's observation is
    the final one, and the next step only resets. In DISABLED, the actor resets the environment.

    Arrays of the environments are checked (``host.environments.border``). They are copied, so an
    environment may write all its observations into one array; arrays of our own vector environments
    are not (``own_arrays``). The environments of a SyncVectorEnv are wrapped in place, each in a
    Border.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        Its actions are Discrete or a bounded Box; its metadata must name the autoreset mode.
    seed : int
        Seed of environment 0; environment i gets seed + i.

    Attributes
    ----------
    obs : array [env_count, ...]
        Observations for the next action, in the dtype of ``Spec``.
    """

    def __init__(self, envs: VectorEnv, *, seed: int) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode is None:
            raise UsageError("envs must name its autoreset_mode in its metadata, not None")
        self.envs, self.mode = envs, AutoresetMode(mode)
        self._beside = hasattr(envs, "step_async")
        spec = Spec.of(envs)
        self._applied, self._dtype = spec.applied, np.dtype(spec.dtype)
        self._rows = (envs.num_envs,)
        self._shape = (envs.num_envs, *spec.shape)
        self._own_final_obs, self._own_arrays = enclose(envs), has_own_arrays(envs)
        self._resetting = np.zeros(envs.num_envs, bool)
        self._return = np.zeros(envs.num_envs)
        self._length = np.zeros(envs.num_envs, np.int64)
        self.obs = self._reset(seed=seed)

    def begin(self, action: ArrayLike) -> None:
        """Begins a step, whose results ``end`` returns; ``action`` is as for ``step``. Environments
        with ``step_async`` run from now on, parallel to it; others run inside ``end``."""
        self._action = np.asarray(action)
        if self._action.shape[:1] != self._rows:
            raise UsageError(
                f"action must have a row for each of {self._rows[0]} environments, not the shape "
                f"{list(self._action.shape)}"
            )
        self._taken = self._applied(self._action)
        if self._beside:
            try:
                self.envs.step_async(self._taken)
            except PASSED:
                raise
            except Exception as error:
                raise failed(error, "envs", "step_async") from error

    def step(self, action: ArrayLike) -> tuple[Transitions, list[tuple[float, int]]]:
        """Applies actions to all environments: integers [env_count] counted from 0; or numbers
        [env_count, size] in [-1, 1], where -1 stands for the action space's low, 1 for its high.

        Returns
        -------
        Transitions
        episodes : list of (float, int)
            Return and length of each episode that ended with this step, in the order of the
            environments.

        UsageError for actions that are not in the action space, and for results that are not of the
        declared shape, or not finite: all parameters of an agent that learned from them would
        become NaN. EnvironmentFailed, whose ``__cause__`` is the error, if an environment raises
        one.
        """
        self.begin(action)
        return self.end()

    def end(self) -> tuple[Transitions, list[tuple[float, int]]]:
        """Returns the results of the step that was begun, as ``step`` does."""
        action = self._action
        try:
            taken = self.envs.step_wait() if self._beside else self.envs.step(self._taken)
            given, reward, terminated, truncated, info = taken
        except PASSED:
            raise
        except Exception as error:
            raise failed(error, "envs", "step") from error
        rows, at = self._rows, self._at
        terminated = self._received(terminated, "terminated", _BOOL, rows, at)
        truncated = self._received(truncated, "truncated", _BOOL, rows, at)
        reward = self._received(reward, "rewards", _FLOAT64, rows, at)
        if type(info) is not dict and not isinstance(info, Mapping):
            raise UsageError(f"envs must give an info that is a dict, not {info!r}")
        ended = terminated | truncated
        valid, which = ~self._resetting, ended.nonzero()[0]
        mode = self.mode
        fresh = self._resetting if mode is AutoresetMode.NEXT_STEP else ended
        at = partial(at, fresh=None if mode is AutoresetMode.DISABLED else fresh)
        obs = next_obs = self._received(given, "observations", self._dtype, self._shape, at)
        if mode is AutoresetMode.NEXT_STEP:
            self._resetting = ended
        elif which.size:
            next_obs = obs.copy()
            if mode is AutoresetMode.SAME_STEP:
                cut = truncated & ~terminated
                for i in which:
                    next_obs[i] = self._final(info, i, obs, cut[i])
            else:
                obs[which] = self._reset(which, options={"reset_mask": ended})
        restarted = bool(info) and bool(info.get("restarted", False))
        if restarted:
            valid = np.zeros_like(valid)
            self._return[:], self._length[:] = 0, 0
        step = self.obs, action, reward, next_obs, terminated, truncated, valid, restarted
        transitions = Transitions(*step)
        self.obs = obs
        always = mode is AutoresetMode.SAME_STEP and not restarted  # all are valid
        self._return += reward if always else np.where(valid, reward, 0)
        self._length += valid
        if not which.size:
            return transitions, []
        episodes = [(float(self._return[i]), int(self._length[i])) for i in which]
        self._return[which] = 0
        self._length[which] = 0
        return transitions, episodes

    def _received(self, values, name, dtype, shape, place):
        """``received`` of an array of the step, without its copy where the array is ours."""
        own = self._own_arrays and type(values) is np.ndarray
        if own and values.dtype == dtype and values.shape == shape:
            if dtype.kind == "f" and not all_finite(values):
                check_finite(values, name, place)
            return values
        return received(values, name, dtype, shape, place, shape == self._rows)

    def _reset(self, which=None, **how):
        """First observations of new episodes: of the environments ``which``, or of all."""
        try:
            obs, _ = self.envs.reset(**how)
        except PASSED:
            raise
        except Exception as error:
            raise failed(error, "envs", "reset") from error
        shape, everywhere = self._shape, np.ones(self._rows, bool)
        if which is not None and np.shape(obs) == shape:
            # Rows that were not reset have no meaning.
            obs, shape = np.asarray(obs)[which], (len(which), *shape[1:])

        def place(position):
            row = position[:1] if which is None else which[list(position[:1])].tolist()
            return self._at((*row, *position[1:]), everywhere)

        return received(obs, "observations", self._dtype, shape, place)

    def _final(self, info, i, obs, cut):
        """The last observation of environment i's episode in mode SAME_STEP. ``obs``: the
        observations of the step; ``cut``: whether the episode was truncated and did not terminate.

        Without a Border the environment may have written the next episode's first observation into
        the array of the last one. That is supposed if both are equal at a time limit, unless
        observations stand still, or an earlier episode had another last observation.
        """
        final = info["final_obs"][i] if "final_obs" in info else None

        def place(position):
            return self._at((i, *position))

        own = received(final, "observations", self._dtype, self._shape[1:], place)
        if self._own_final_obs:
            return own
        if not np.array_equal(own, obs[i]):
            self._own_final_obs = True
        elif cut and not np.array_equal(self.obs[i], own):
            raise UsageError(
                "envs must give final_obs that a reset does not change, not the first observation "
                f"of the next episode{place(())}: environments that write into one array must "
                "return copies, or autoreset_mode be NEXT_STEP or DISABLED"
            )
        return own

    def _at(self, position, fresh=None):
        """A text: which environment gave the number at ``position`` of a batch, and when.
        ``fresh``: bool [env_count], True where a reset gave it."""
        if not position:
            return ""
        env, *number = position
        number = f"number {', '.join(map(str, number))}, " if number else ""
        when = f"step {self._length[env] + 1} of its episode"
        if fresh is not None and fresh[env]:
            when = "at a reset"
        return f" (environment {env}, {number}{when})"
