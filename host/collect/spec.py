"""Observations and actions of an environment, as the rest of the host needs to know them."""

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
        Type of the numbers of a continuous action in the environment.
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
        """The Spec of each environment of a ``gymnasium.vector.VectorEnv``."""
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
        """Converts ``actions``, integers counted from 0 or numbers in [-1, 1], to the environment's
        own actions."""
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
        action = (np.dtype(np.uint32), ()) if self.discrete else (number, (self.action_count,))
        return {
            "obs": seen,
            "next_obs": seen,
            "action": action,
            "reward": (number, ()),
            "discount": (number, ()),
        }
