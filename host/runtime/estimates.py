"""The results of an advantage estimator, with statistics of its inputs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimates", "TrajectoryEstimates"]


class Estimates(NamedTuple):
    """``advantages`` and ``returns``, the rewards-to-go: float32, with the shape of the rewards.

    ``statistics`` has ``reward_mean``, ``reward_deviation``, ``value_mean`` and ``value_deviation``
    of the numbers, None where the standardization needs none; and counts over the whole estimate:
    ``clipped`` codes, slots in which a result was ``saturated``, and ``overflows``, which is 0.
    """

    advantages: NDArray[np.float32]
    returns: NDArray[np.float32]
    statistics: dict[str, float | None]


class TrajectoryEstimates(NamedTuple):
    """``Estimates`` of trajectories: ``advantages`` and ``returns`` are lists with an array for
    each trajectory, [its steps]."""

    advantages: list[NDArray[np.float32]]
    returns: list[NDArray[np.float32]]
    statistics: dict[str, float | None]
