"""What an environment shows and what it takes, as everything behind it needs to know it."""

from dataclasses import asdict, dataclass

import numpy as np
from gymnasium.spaces import Discrete

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
    """

    shape: tuple
    dtype: str
    discrete: bool
    action_count: int
    exponent: int = 0

    @classmethod
    def of(cls, envs):
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
        )

    @classmethod
    def from_dict(cls, values):
        """Inverse of ``to_dict``."""
        return cls(**{**values, "shape": tuple(values["shape"])})

    def to_dict(self):
        return asdict(self)

    @property
    def size(self):
        """Numbers of an observation."""
        return int(np.prod(self.shape))

    @property
    def fields(self):
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
