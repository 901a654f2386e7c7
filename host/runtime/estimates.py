"""What an advantage estimator gives, and the numbers that it has seen on the way."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimates", "TrajectoryEstimates"]


class Estimates(NamedTuple):
    """``advantages``, ``returns``: float32, shaped as the rewards; ``statistics``: dict of what was
    seen on the way, floats, None where not taken."""

    advantages: NDArray[np.float32]
    returns: NDArray[np.float32]
    statistics: dict[str, float | None]


class TrajectoryEstimates(NamedTuple):
    """``Estimates`` of trajectories: a list of arrays [n]."""

    advantages: list[NDArray[np.float32]]
    returns: list[NDArray[np.float32]]
    statistics: dict[str, float | None]
