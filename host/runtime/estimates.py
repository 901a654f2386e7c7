"""The results of an advantage estimator, with statistics of its inputs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimates", "TrajectoryEstimates"]


class Estimates(NamedTuple):
    """``advantages``, ``returns``: float32, with the shape of the rewards. ``statistics``: a dict
    of floats, None for those that were not computed."""

    advantages: NDArray[np.float32]
    returns: NDArray[np.float32]
    statistics: dict[str, float | None]


class TrajectoryEstimates(NamedTuple):
    """``Estimates`` of trajectories: a list of arrays [n]."""

    advantages: list[NDArray[np.float32]]
    returns: list[NDArray[np.float32]]
    statistics: dict[str, float | None]
