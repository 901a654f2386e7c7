"""The border to environments: all that comes from one passes ``received``, which copies it, and
checks dtype, shape, and that it is finite."""

import sys
import traceback
from collections.abc import Mapping
from copy import deepcopy
from math import isfinite
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import SyncVectorEnv

from host.environments.spaces import Misshapen
from host.values import REAL, is_masked, quietly
from hw.errors import Failure, RlfabricError, UsageError

__all__ = ["PASSED", "Border", "EnvironmentFailed", "all_finite", "check_finite", "enclose"]
__all__ += ["failed", "has_own_arrays", "received"]

#: Errors that pass the border as they are: messages of rlfabric, and missing packages.
PASSED = (RlfabricError, DependencyNotInstalled)

_INF, _MOST = float("inf"), sys.float_info.max
_NUMBERS = frozenset([float, bool, *(np.dtype(code).type for code in "?bhilqBHILQefd")])
_FLAGS = frozenset([bool, np.bool_])
#: Spaces whose observations are one array.
_ARRAYS = (Box, Discrete, MultiBinary, MultiDiscrete)
_FLOAT64, _BOOL = np.dtype(np.float64), np.dtype(np.bool_)


class EnvironmentFailed(Failure):
    """An environment raised an error, which is ``__cause__``."""


def failed(error, who, when):
    """The EnvironmentFailed for an ``error`` that the environment called ``who`` raised; ``when``
    is a text such as ``step 3 of its episode``. The message names the innermost line of code."""
    what = " ".join(traceback.format_exception_only(error)[-1].split())
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name} line {frame.lineno}"
    return EnvironmentFailed(f"{who} raised {what} ({when}; {place})")


def received(values, name, dtype, shape, place, scalar=False):
    """``values`` of an environment as an array of ``dtype`` and ``shape`` that nothing else refers
    to. Numbers are rounded to a dtype of floats; a dtype of integers or bool must hold them as they
    are.

    Parameters
    ----------
    values : array_like
        What the environment gave.
    name : str
        The field, for messages: ``observations``, ``rewards``.
    dtype : numpy.dtype
    shape : tuple of int
    place : callable
        ``place(position)`` returns a text for the number at ``position``, a tuple of int that may
        be empty: which environment, and when.
    scalar : bool
        Whether a further axis of length 1 is dropped: ``reward = -np.abs(action)`` has one.

    UsageError, in one line, if this is not possible, or if a number is not finite.
    """
    if type(values) is np.ndarray and values.dtype == dtype and values.shape == shape:
        array = values.copy()
    else:
        array = _cast(values, name, dtype, shape, place, scalar)
    if dtype.kind == "f" and not all_finite(array):
        check_finite(array, name, place, values)
    return array


def all_finite(array):
    """Whether all numbers of ``array`` are finite."""
    # The sum of squares has no temporary array; it may overflow where all are finite.
    return isfinite(np.vdot(array, array)) or np.logical_and.reduce(np.isfinite(array), axis=None)


def check_finite(array, name, place, values=None):
    """UsageError unless all numbers of ``array`` are finite; the message has the number as it was
    in ``values``, before it was rounded."""
    bad = ~np.isfinite(array)
    if bad.any():
        position = tuple(np.argwhere(bad)[0].tolist())
        found = np.asarray(array if values is None else values)[position]
        raise UsageError(f"env must give finite {name}, not {found}{place(position)}")


def _cast(values, name, dtype, shape, place, scalar):
    if is_masked(values):
        raise UsageError(f"env must give {name} without masked numbers{place(())}")
    try:
        found = np.asarray(values)
    except Exception as error:  # ragged lists, tensors with gradients or of another device
        kind = type(values).__name__
        message = f"env must give {name} that are an array, not a {kind}{place(())}"
        raise UsageError(message) from error
    if scalar and found.shape == (*shape, 1):
        found = found[..., 0]
    if found.shape != shape:
        wanted = f"of shape {list(shape)}" if shape else "that are scalars"
        shape = f"of shape {list(found.shape)}" if found.shape else repr(values)
        raise UsageError(f"env must give {name} {wanted}, not {shape}{place(())}")
    if found.dtype.kind not in REAL:
        raise UsageError(f"env must give {name} that are numbers, not {values!r}{place(())}")
    array = quietly(found.astype, dtype)
    if dtype.kind != "f" and (bad := array != found).any():
        position = tuple(np.argwhere(bad)[0].tolist())
        rule = f"env must give {name} that are numbers of {dtype}"
        raise UsageError(f"{rule}, not {found[position]}{place(position)}")
    return array


class Border(gymnasium.Wrapper):
    """A wrapper around an environment whose observations are arrays of their own, in the dtype and
    shape of ``observation_space``, and whose rewards are finite scalars, whatever the environment
    does with its arrays. Observations of ``step`` are not checked for numbers that are not finite:
    that is quicker for all environments of a vector at once. Attributes that it does not have are
    those of the environment.

    Parameters
    ----------
    env : gymnasium.Env
    who : str
        The environment's name in messages.

    ``reset`` and ``step`` raise UsageError for what cannot be taken, EnvironmentFailed for errors
    of the environment, both with ``who`` and the step of the episode.
    """

    def __init__(self, env, who):
        super().__init__(env)
        self.who, self._steps, self._resets = who, 0, True
        space = env.observation_space
        array = isinstance(space, _ARRAYS)
        self._dtype, self._shape = (space.dtype, space.shape) if array else (None, None)

    def reset(self, **options):
        self._steps, self._resets = 0, True
        try:
            obs, info = self.env.reset(**options)
        except Misshapen as error:  # of an observation that was to be flattened
            raise UsageError(f"env must give {error}{self.place(())}") from None
        except PASSED:
            raise
        except Exception as error:
            raise failed(error, self.who, self.when) from error
        return self._own(obs), self._info(info)

    def step(self, action):
        self._steps += 1
        self._resets = False
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
        except Misshapen as error:
            raise UsageError(f"env must give {error}{self.place(())}") from None
        except PASSED:
            raise
        except Exception as error:
            raise failed(error, self.who, self.when) from error
        if type(obs) is np.ndarray and obs.dtype == self._dtype and obs.shape == self._shape:
            obs = obs.copy()
        else:
            obs = self._own(obs)
        if type(reward) is int:
            plain = -_MOST <= reward <= _MOST  # a NumPy number cannot be compared with _MOST
        else:
            plain = type(reward) in _NUMBERS and -_INF < reward < _INF
        if not plain:
            reward = received(reward, "rewards", _FLOAT64, (), self.place, True)[()]
        if type(terminated) not in _FLAGS:
            terminated = self._flag(terminated, "terminated")
        if type(truncated) not in _FLAGS:
            truncated = self._flag(truncated, "truncated")
        if type(info) is not dict:
            info = self._info(info)
        return obs, reward, terminated, truncated, info

    def __getattr__(self, name):
        if name == "env":  # before __init__
            raise AttributeError(name)
        return getattr(self.env, name)

    @property
    def when(self):
        """A text: which step of the episode was the last."""
        return "at a reset" if self._resets else f"step {self._steps} of its episode"

    def place(self, position):
        """A text for the number of an observation at ``position``."""
        number = f"number {', '.join(map(str, position))}, " if position else ""
        return f" ({self.who}, {number}{self.when})"

    def _own(self, obs):
        if self._shape is None:
            return deepcopy(obs)
        return received(obs, "observations", self._dtype, self._shape, self.place)

    def _flag(self, flag, name):
        if flag is None:
            return False
        return bool(received(flag, name, _BOOL, (), self.place, True))

    def _info(self, info):
        if not isinstance(info, Mapping):
            raise UsageError(f"env must give an info that is a dict, not {info!r}{self.place(())}")
        return info


def enclose(envs):
    """Puts a Border around each environment of a SyncVectorEnv, which may be wrapped, unless there
    is one. Returns whether the vector environment's ``final_obs`` are arrays of their own."""
    inner = getattr(envs, "unwrapped", envs)
    if isinstance(inner, SyncVectorEnv):
        for i, env in enumerate(inner.envs):
            if isinstance(env, gymnasium.Env) and not isinstance(env, Border):
                inner.envs[i] = Border(env, f"environment {i}")
        return True
    return bool(getattr(envs, "own_final_obs", False)) or has_own_arrays(envs)


def has_own_arrays(envs):
    """Whether all arrays that ``envs``, a vector environment, gives are made anew in each step, so
    that they need no copy. The attribute counts where the class itself has it, which is one of
    ours: no wrapper and no subclass takes it over."""
    return bool(vars(type(envs)).get("own_arrays", False))
