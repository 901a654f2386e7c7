"""What an environment shows and what it takes, as everything behind it needs to know it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

__all__ = ["Spec"]


@dataclass(frozen=True)
class Spec:
    """Observations and actions of an environment.

    Parameters
    ----------
    shape : tuple of int
        Of one observation.
    dtype : str
        ``float32``, or ``uint8`` for images and binary planes (bool), which are kept as they are, a
        byte a pixel, unless they were flattened.
    discrete : bool
        Actions are integers 0..action_count-1, or else vectors in [-1, 1].
    action_count : int
        Actions to choose from, or components of a continuous one.
    exponent : int
        To a network a number of an observation counts as ``number * 2**exponent``: -8 for the bytes
        of an image; else 0.
    start : int
        What an environment calls action 0, where actions are integers.
    low, high : tuple of float
        What an environment calls -1 and 1, a number for each component of an action.
    action_dtype : str
        Of those numbers in the environment.
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

    @classmethod
    def of(cls, envs: VectorEnv) -> "Spec":
        """Of a ``gymnasium.vector.VectorEnv``: each of its environments."""
        seen, taken = envs.single_observation_space, envs.single_action_space
        discrete = isinstance(taken, Discrete)
        bytes_ = len(seen.shape) > 1 and seen.dtype in (np.uint8, np.bool_)
        return cls(
            shape=tuple(int(n) for n in seen.shape),
            dtype="uint8" if bytes_ else "float32",
            discrete=discrete,
            action_count=int(taken.n) if discrete else int(taken.shape[0]),
            exponent=-8 if bytes_ and seen.dtype == np.uint8 else 0,
            start=int(taken.start) if discrete else 0,
            low=() if discrete else tuple(taken.low.tolist()),
            high=() if discrete else tuple(taken.high.tolist()),
            action_dtype="float32" if discrete else str(taken.dtype),
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> "Spec":
        """Inverse of ``to_dict``."""
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **lists})

    def to_dict(self) -> dict[str, object]:
        return asdict(self)

    def applied(self, actions: NDArray[np.generic]) -> NDArray[np.generic]:
        """What environments get of actions that are counted from 0, or in [-1, 1]."""
        if self.discrete:
            return actions + self.start
        low, half = self._ends
        return low + (actions + 1) * half

    @cached_property
    def _ends(self) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
        """``low``, and half of the way to ``high``."""
        low, high = (np.array(ends, self.action_dtype) for ends in (self.low, self.high))
        return low, (high - low) / 2

    @property
    def size(self) -> int:
        """Numbers of an observation."""
        return int(np.prod(self.shape))

    @property
    def fields(self) -> dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]:
        """``{name: (dtype, shape)}`` of an experience, in the order that the card stores it.

        The action is one integer, or numbers in [-1, 1]; ``discount`` is gamma^k, 0 where the
        episode terminated. A learner on the card reads the same words
        (``hw.learner.records.record_words``).
        """
        number, seen = np.dtype(np.float32), (np.dtype(self.dtype), self.shape)
        action = (np.dtype(np.uint32), ()) if self.discrete else (number, (self.action_count,))
        return {
            "obs": seen,
            "next_obs": seen,
            "action": action,
            "reward": (number, ()),
            "discount": (number, ()),
        }
