"""Observation spaces: which ones are flattened to vectors, and how.

A vector is the one that ``gymnasium.spaces.flatten`` makes: the numbers of a Box or MultiBinary in
C order, a one-hot vector for each integer of a Discrete or MultiDiscrete, the parts of a Dict or
Tuple one after another. A policy's file describes the space that was flattened, so that the policy
can flatten what the environment gives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from gymnasium.vector import SyncVectorEnv, VectorEnv
from gymnasium.wrappers import FlattenObservation
from numpy.typing import NDArray

from hw.errors import UsageError

__all__ = ["Choices", "Described", "Flattened", "Misshapen", "Numbers", "SpaceParts"]
__all__ += ["describe", "flattened", "is_flattened", "is_image", "read_space"]

_RULE = "a Box, Discrete, MultiBinary or MultiDiscrete, or a Dict or Tuple of these"


def is_image(space: Space[object]) -> bool:
    """Whether an observation of ``space`` is an image: a Box of bytes or bools with two or more
    dimensions. Where images are not flattened, a pixel is stored as a byte."""
    return isinstance(space, Box) and len(space.shape) > 1 and space.dtype in (np.uint8, np.bool_)


def is_flattened(space: Space[object], images: bool) -> bool:
    """Whether ``make_envs`` flattens observations of ``space``: all but vectors, unless the
    algorithm that learns takes a Box of any shape (``images``, as ``Algorithm.images``). On the
    card such a Box is learned from as a vector, whose words in memory are the same
    (``host.learner.learning_replay``), unless it has images."""
    return not (isinstance(space, Box) and (images or len(space.shape) == 1))


class Misshapen(UsageError):
    """An observation has another structure, shape or type than its space."""


def _is_integers(values: object, low: int) -> bool:
    limits = range(low, 1 << 62)
    return isinstance(values, tuple) and all(type(n) is int and n in limits for n in values)


@dataclass(frozen=True)
class _Leaf:
    kind: str
    shape: tuple[int, ...]
    dtype: str

    def __post_init__(self) -> None:
        if not _is_integers(self.shape, 0):
            raise UsageError(f"shape must be integers of at least 0, not {self.shape!r}")
        if not isinstance(self.dtype, str) or np.dtype(self.dtype).kind not in "biuf":
            raise UsageError(f"dtype must be the name of a type of numbers, not {self.dtype!r}")

    def _array(self, observation: object, name: str) -> tuple[NDArray[np.generic], bool]:
        """``observation`` as an array [n, *shape], and whether it is a single one; Misshapen if it
        has another shape, and for values that are not numbers."""
        try:
            values = np.asarray(observation)
        except (TypeError, ValueError):  # lists of unequal lengths
            values = np.empty(0, object)
        if values.dtype.kind not in "biuf":
            raise Misshapen(f"{name} must be an array of numbers, not {type(observation).__name__}")
        if values.shape == self.shape:
            return values[None], True
        if not values.ndim or values.shape[1:] != self.shape:
            rows = ", ".join(["n", *map(str, self.shape)])
            raise Misshapen(
                f"{name} must have the shape {list(self.shape)}, or [{rows}], "
                f"not {list(values.shape)}"
            )
        return values, False


@dataclass(frozen=True)
class Numbers(_Leaf):
    """A space of arrays: a Box or MultiBinary.

    Parameters
    ----------
    kind : str
        Name of gymnasium's class.
    shape, dtype : tuple of int, str
        As of the space.
    """

    @property
    def size(self) -> int:
        """Numbers of a vector."""
        return prod(self.shape)

    def rows(self, observation: object, name: str) -> tuple[NDArray[np.generic], bool]:
        """One or n observations, [n, *shape], as an array [n, *shape] of ``dtype``; and
        whether it was one.

        Misshapen, whose text calls the observation ``name``, if it is misshapen; UsageError for
        numbers that are not finite, or that ``dtype`` cannot hold.
        """
        values, one = self._array(observation, name)
        with np.errstate(over="ignore", invalid="ignore"):
            found = values.astype(self.dtype)
        right = np.isfinite(found) if found.dtype.kind == "f" else found == values
        if not right.all():
            if not np.isfinite(values).all():
                raise UsageError(f"{name} must be finite, not infinite or NaN")
            raise UsageError(f"{name} must be numbers of {self.dtype}, not {values[~right][0]}")
        return found, one


@dataclass(frozen=True)
class Choices(_Leaf):
    """A space of integers, each encoded as a one-hot vector: Discrete or MultiDiscrete.

    Parameters
    ----------
    kind, shape, dtype
        As of Numbers; the shape of Discrete is ().
    counts, starts : tuple of int
        How many values each integer may have, and the lowest one; in C order.
    """

    counts: tuple[int, ...]
    starts: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low in (("counts", 1), ("starts", -(1 << 62))):
            values, size = getattr(self, name), prod(self.shape)
            if not _is_integers(values, low) or len(values) != size:
                raise UsageError(f"{name} must be {size} integers of at least {low}, not {values}")

    @property
    def size(self) -> int:
        return sum(self.counts)

    def rows(self, observation: object, name: str) -> tuple[NDArray[np.generic], bool]:
        """As ``Numbers.rows``, but the array is [n, size] of zeros and ones; UsageError for an
        integer that the space does not have."""
        values, one = self._array(observation, name)
        if values.dtype.kind not in "iu":
            raise Misshapen(f"{name} must be integers, not {values.dtype}")
        counts, starts = np.array(self.counts, np.int64), np.array(self.starts, np.int64)
        given = values.reshape(len(values), len(counts))
        chosen = given.astype(np.int64) - starts
        wrong = (chosen < 0) | (chosen >= counts)
        if wrong.any():
            row, place = np.argwhere(wrong)[0]
            low = self.starts[place]
            rule = f"{low}..{low + self.counts[place] - 1}"
            raise UsageError(f"{name} must be in {rule}, not {given[row, place]}")
        vectors = np.zeros((len(values), self.size), self.dtype)
        vectors[np.arange(len(values))[:, None], chosen + counts.cumsum() - counts] = 1
        return vectors, one


@dataclass(frozen=True)
class SpaceParts:
    """A space of several: a Dict or Tuple.

    Parameters
    ----------
    kind : str
        Name of gymnasium's class.
    parts : tuple of Numbers, Choices or SpaceParts
    keys : tuple of str or int, optional
        The key of each part of a Dict; None for a Tuple.
    """

    kind: str
    parts: tuple["Described", ...]
    keys: tuple[str | int, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple) or not self.parts:
            raise UsageError(f"parts of a {self.kind} must be one or more, not {self.parts!r}")
        if self.kind == "Tuple":
            if self.keys is not None:
                raise UsageError(f"keys of a Tuple must be None, not {self.keys!r}")
            return
        texts = isinstance(self.keys, tuple) and all(type(key) in (str, int) for key in self.keys)
        if not texts or not len(self.parts) == len(self.keys) == len(set(self.keys)):
            raise UsageError(
                f"keys of a Dict must be texts or integers, one for each of {len(self.parts)} "
                f"parts, not {self.keys!r}"
            )

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def rows(self, observation: object, name: str) -> tuple[NDArray[np.generic], bool]:
        """As ``Numbers.rows``, but the array is [n, size]; n observations are a dict or tuple of
        arrays [n, ...], as a vector environment gives them."""
        keys = range(len(self.parts)) if self.keys is None else self.keys
        given = self._given(observation, name)
        found = [
            part.rows(given[key], f"{name}[{key!r}]")
            for key, part in zip(keys, self.parts, strict=True)
        ]
        counts = [None if one else len(array) for array, one in found]
        if len(set(counts)) > 1:
            raise Misshapen(
                f"{name} must have one observation or equally many in all parts, not {counts}"
            )
        vectors = [
            array.reshape(len(array), part.size)
            for (array, _), part in zip(found, self.parts, strict=True)
        ]
        return np.concatenate(vectors, axis=1), counts[0] is None

    def _given(self, observation, name):
        """``observation``, whose parts are found by keys, or by places; else Misshapen."""
        if self.keys is None:
            if isinstance(observation, (tuple, list)) and len(observation) == len(self.parts):
                return observation
            raise Misshapen(
                f"{name} must be a tuple of {len(self.parts)}, not {type(observation).__name__}"
            )
        if not isinstance(observation, Mapping):
            raise Misshapen(f"{name} must be a dict, not {type(observation).__name__}")
        if set(observation) != set(self.keys):
            raise Misshapen(f"{name} must have the keys {[*self.keys]}, not {[*observation]}")
        return observation


#: The description of a space.
Described: TypeAlias = Numbers | Choices | SpaceParts


def describe(space: Space[object], name: str = "observations") -> Described:
    """The description of ``space``. ``name`` is what an error's text calls the space's elements.

    UsageError for a space that is none of Box, Discrete, MultiBinary, MultiDiscrete, Dict and
    Tuple, or has such a part. gymnasium flattens Text and OneOf, too, but to indexes of characters
    and of parts, which are no quantities.
    """
    for kind in (Box, MultiBinary):
        if isinstance(space, kind):
            return Numbers(kind.__name__, tuple(map(int, space.shape)), str(space.dtype))
    if isinstance(space, Discrete):
        one = (int(space.n),), (int(space.start),)
        return Choices("Discrete", (), str(space.dtype), *one)
    if isinstance(space, MultiDiscrete):
        each = (tuple(array.ravel().tolist()) for array in (space.nvec, space.start))
        return Choices("MultiDiscrete", space.nvec.shape, str(space.dtype), *each)
    if isinstance(space, Dict):
        parts = tuple(describe(part, f"{name}[{key!r}]") for key, part in space.spaces.items())
        return SpaceParts("Dict", parts, tuple(space.spaces))
    if isinstance(space, Tuple):
        numbered = enumerate(space.spaces)
        return SpaceParts("Tuple", tuple(describe(part, f"{name}[{i}]") for i, part in numbered))
    raise UsageError(f"{name} must be of {_RULE}, not of {type(space).__name__}")


_CLASSES = {
    **dict.fromkeys(("Box", "MultiBinary"), Numbers),
    **dict.fromkeys(("Discrete", "MultiDiscrete"), Choices),
    **dict.fromkeys(("Dict", "Tuple"), SpaceParts),
}


def read_space(values: object) -> Described:
    """Inverse of ``dataclasses.asdict``, for ``values`` that went through JSON. UsageError or
    TypeError if they do not describe a space."""
    if not isinstance(values, dict):
        raise UsageError(f"space must be a dict, not {values!r}")
    kind = values.get("kind")
    if kind not in _CLASSES:
        raise UsageError(f"kind must be one of {', '.join(_CLASSES)}, not {kind!r}")
    lists = {name: tuple(each) for name, each in values.items() if isinstance(each, list)}
    if "parts" in lists:
        lists["parts"] = tuple(map(read_space, lists["parts"]))
    return _CLASSES[kind](**{**values, **lists})


class Flattened(FlattenObservation):
    """An environment whose observations ``make_envs`` flattens. ``space`` describes those of the
    environment itself; UsageError if that is not possible."""

    def __init__(self, env: gymnasium.Env[object, object]) -> None:
        self.space = describe(env.observation_space)
        super().__init__(env)

    def observation(self, observation: object) -> NDArray[np.generic]:
        """The vector of ``observation``; Misshapen if the observation or a part has another shape
        than its space, even one with the same number of elements."""
        _check_shapes(self.space, observation, "observations")
        return super().observation(observation)


def _check_shapes(space, observation, name):
    if isinstance(space, SpaceParts):
        keys = range(len(space.parts)) if space.keys is None else space.keys
        for key, part in zip(keys, space.parts, strict=True):
            _check_shapes(part, observation[key], f"{name}[{key!r}]")
    elif space.kind != "Discrete":
        shape = np.shape(observation)
        if shape != space.shape:
            raise Misshapen(f"{name} of shape {list(space.shape)}, not of shape {list(shape)}")


def flattened(envs: VectorEnv) -> Flattened | None:
    """The wrapper that flattens observations of the first environment of ``envs``; None if
    ``make_envs`` did not have to."""
    env = envs.envs[0] if isinstance(envs, SyncVectorEnv) else None
    while isinstance(env, gymnasium.Wrapper) and not isinstance(env, Flattened):
        env = env.env
    return env if isinstance(env, Flattened) else None
