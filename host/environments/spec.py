"""Observations and actions of an environment, as the rest of the host needs to know them."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from host.environments.spaces import Described, Misshapen, Numbers, flattened, is_image, read_space
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["Spec"]

#: Integers up to this magnitude are numbers of float64.
_EXACT = 1 << 53


@dataclass(frozen=True)
class Spec:
    """Observations and actions of an environment.

    Parameters
    ----------
    shape : tuple of int
        Shape of one observation.
    dtype : str
        ``float32``, or ``uint8`` for images and binary planes (bool), which are stored as they are,
        with a byte for each pixel, unless they were flattened.
    discrete : bool
        Whether actions are integers 0..action_count-1; if not, they are vectors in [-1, 1].
    action_count : int
        Number of discrete actions, or of components of a continuous action.
    exponent : int
        For a network a number of an observation stands for ``number * 2**exponent``: -8 for the
        bytes of an image, else 0.
    start : int
        The environment's number of action 0, if actions are integers.
    low, high : tuple of float
        The environment's numbers for -1 and 1, one for each component of an action.
    action_dtype : str
        Type of the numbers of an action in the environment; ``float32`` for discrete actions stands
        for int64.
    space : Numbers, Choices, SpaceParts or None
        The environment's own observations, if they are flattened (``host.environments.spaces``);
        None if they are as the environment gives them. Two Specs are equal whatever their spaces
        are.
    """

    shape: tuple[int, ...]
    dtype: str
    discrete: bool
    action_count: int
    exponent: int = 0
    start: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    action_dtype: str = "float32"
    space: Described | None = field(default=None, compare=False)

    @classmethod
    def of(cls, envs: VectorEnv) -> "Spec":
        """The Spec of each environment of a ``gymnasium.vector.VectorEnv``. UsageError if
        observations are not arrays, or actions are a Box that cannot be scaled."""
        seen, taken = envs.single_observation_space, envs.single_action_space
        if seen.shape is None:
            raise UsageError(f"envs must have arrays as observations (a Box), not {seen}")
        discrete, bytes_, wrapper = isinstance(taken, Discrete), is_image(seen), flattened(envs)
        if isinstance(taken, Box):
            _check_scale(taken)
        return cls(
            shape=tuple(int(n) for n in seen.shape),
            dtype="uint8" if bytes_ else "float32",
            discrete=discrete,
            action_count=int(taken.n) if discrete else int(taken.shape[0]),
            exponent=-8 if bytes_ and seen.dtype == np.uint8 else 0,
            start=int(taken.start) if discrete else 0,
            low=() if discrete else tuple(taken.low.tolist()),
            high=() if discrete else tuple(taken.high.tolist()),
            action_dtype="float32" if taken.dtype == np.int64 and discrete else str(taken.dtype),
            space=None if wrapper is None else wrapper.space,
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> "Spec":
        """Inverse of ``to_dict``, for ``values`` that went through JSON. UsageError for a value
        that no Spec has; TypeError for a missing or unknown one."""
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        if values.get("space") is not None:
            lists["space"] = read_space(values["space"])
        found = cls(**{**values, **lists})
        found._check()
        return found

    def _check(self):
        _ = self._seen  # checks shape and dtype
        ends = self.low + self.high
        rules = {
            "shape": min(self.shape, default=1) > 0,
            "dtype": self.dtype in ("float32", "uint8"),
            "discrete": isinstance(self.discrete, bool),
            "low": all(type(number) in (int, float) for number in ends),
            "high": len(self.low) == len(self.high) in (0, self.action_count),
            "action_dtype": isinstance(self.action_dtype, str)
            and np.dtype(self.action_dtype).kind in "biuf",
            "space": self.space is None or self.shape == (self.space.size,),
        }
        for name, right in rules.items():
            if not right:
                raise UsageError(f"{name} must be one of a policy, not {getattr(self, name)!r}")
        check_range("action_count", self.action_count, 1, 1 << 32)
        check_range("exponent", self.exponent, -64, 64)
        check_range("start", self.start, -(1 << 62), 1 << 62)

    def to_dict(self) -> dict[str, object]:
        """The fields as a dict, without ``space`` if it is None."""
        values = asdict(self)
        if self.space is None:
            del values["space"]
        return values

    def rows(self, observation: object) -> tuple[NDArray[np.generic], bool]:
        """One or n observations, as the environment or its vector environment gives them, as
        an array [n, *shape] of ``dtype``; and whether it was one.

        Where observations are flattened, vectors are taken, too, unless they have the shape and
        type of what the environment gives: n integers are n observations of a Discrete. UsageError
        for an observation that the environment cannot give, or has a number that is not finite.
        """
        vectors = self._seen
        if self.space is None:
            return vectors.rows(observation, "observation")
        try:
            found, one = self.space.rows(observation, "observation")
        except Misshapen as wrong:
            with suppress(Misshapen):
                return vectors.rows(observation, "observation")
            raise wrong
        found, _ = vectors.rows(found.reshape(len(found), *self.shape), "observation")
        return found, one

    @cached_property
    def _seen(self) -> Numbers:
        return Numbers("Box", self.shape, self.dtype)

    def applied(self, actions: NDArray[np.generic]) -> NDArray[np.generic]:
        """Converts ``actions`` [rows, ...], integers counted from 0 or numbers in [-1, 1], to
        actions that its action space contains.

        Integers become ``start + a``. Numbers become ``low + (a + 1) (high - low) / 2``, rounded to
        the nearest integer for a Box of integers, then clipped to low and high: rounding passes
        them by one unit in the last place in every sixth Box, and so do numbers out of [-1, 1].

        UsageError for another shape, for integers that stand for no action, and for NaN.
        """
        if actions.shape[1:] != self.action_shape or not actions.ndim:
            rows = ", ".join(["rows", *map(str, self.action_shape)])
            raise UsageError(f"actions must be [{rows}], not {list(actions.shape)}")
        if self.discrete:
            wrong = (actions < 0) | (actions >= self.action_count)
            if actions.dtype != np.int64:
                wrong |= actions % 1 != 0
        else:
            low, half, high = self.ends
            taken = low + (actions + 1) * half
            if self.applied_dtype.kind != "f":
                taken = np.rint(taken)
            taken = np.minimum(np.maximum(taken, low), high)
            wrong = np.isnan(taken)
        if np.logical_or.reduce(wrong, axis=None):
            self._refuse(actions, wrong)
        if self.discrete:
            taken = (
                actions if actions.dtype == np.int64 else actions.astype(np.int64)
            ) + self.start
        return taken if taken.dtype == self.applied_dtype else taken.astype(self.applied_dtype)

    def _refuse(self, actions, wrong):
        row, *component = np.argwhere(wrong)[0].tolist()
        rule = f"integers in 0..{self.action_count - 1}" if self.discrete else "numbers in [-1, 1]"
        number = f", component {component[0]}" if component else ""
        found = actions[(row, *component)]
        raise UsageError(f"actions must be {rule}, not {found} (row {row}{number})")

    @cached_property
    def action_shape(self) -> tuple[int, ...]:
        """Shape of one action."""
        return () if self.discrete else (self.action_count,)

    @cached_property
    def applied_dtype(self) -> np.dtype[np.generic]:
        """The dtype of the environment's actions."""
        plain = self.discrete and self.action_dtype == "float32"
        return np.dtype(np.int64 if plain else self.action_dtype)

    @cached_property
    def ends(self) -> tuple[NDArray[np.generic], NDArray[np.generic], NDArray[np.generic]]:
        """``low``, half of the way to ``high``, and ``high``, in the arithmetic of ``applied``."""
        low, high = (
            np.array(ends, _arithmetic(self.applied_dtype)) for ends in (self.low, self.high)
        )
        return low, (high - low) / 2, high

    @cached_property
    def size(self) -> int:
        """Numbers of an observation."""
        return int(np.prod(self.shape))

    @property
    def image(self) -> tuple[int, int, int]:
        """Height, width and channels of an observation; one that is no image is a pixel."""
        height, width, channels = self.shape if len(self.shape) == 3 else (1, 1, self.size)
        return height, width, channels

    @property
    def fields(self) -> dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]:
        """``{name: (dtype, shape)}`` of an experience, in the order of the card's memory: obs,
        next_obs, action, reward, discount.

        The action is one integer, or numbers in [-1, 1]. ``discount`` is gamma^k for k steps of
        reward, or 0 if the episode terminated. A learner on the card reads the same words
        (``hw.learner.records.record_words``).
        """
        number, seen = np.dtype(np.float32), (np.dtype(self.dtype), self.shape)
        action = (np.dtype(np.uint32) if self.discrete else number, self.action_shape)
        return {
            "obs": seen,
            "next_obs": seen,
            "action": action,
            "reward": (number, ()),
            "discount": (number, ()),
        }


def _arithmetic(dtype):
    """The arithmetic that scales actions for a Box of ``dtype``."""
    return np.result_type(dtype, np.float32) if dtype.kind == "f" else np.dtype(np.float64)


def _check_scale(space):
    """UsageError unless ``Spec.applied`` can reach ``space``, a Box, and stays in it."""
    dtype = space.dtype
    if len(space.shape) != 1:
        scaled, rule = False, "of one dimension"
    elif dtype.kind == "f" and dtype.itemsize <= 8:
        kind = _arithmetic(dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            span = space.high.astype(kind) - space.low.astype(kind)
        scaled, rule = np.isfinite(span).all(), f"of a finite high - low in {kind}"
    elif dtype.kind in "biu":
        ends = [int(end) for end in (*space.low.flat, *space.high.flat)]
        scaled, rule = all(abs(end) <= _EXACT for end in ends), "of integers within -2^53..2^53"
    else:
        scaled, rule = False, "of float16, float32, float64 or integers"
    if not scaled:
        raise UsageError(f"env must have actions in a Box {rule}, not {space}")
