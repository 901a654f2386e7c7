"""What an advantage estimator gives, and the numbers that it has seen on the way."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimates", "TrajectoryEstimates", "moments_of", "statistics_of"]


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


def moments_of(record, exponent):
    """``(mean, deviation)`` of a MOMENTS record; the mean is exact where all numbers are equal."""
    mean, deviation = float(record["mean"]), float(record["deviation"])
    if not deviation:
        mean = math.ldexp(int(record["sum"]) // int(record["count"]), -exponent)
    return mean, deviation


def statistics_of(moments, counts):
    """``statistics`` of Estimates: two pairs as of ``moments_of``, and three counts."""
    names = ("reward", "value")
    result = {}
    for name, own in zip(names, moments, strict=True):
        mean, deviation = own or (None, None)
        result |= {f"{name}_mean": mean, f"{name}_deviation": deviation}
    return result | dict(zip(("clipped", "saturated", "overflows"), counts.tolist(), strict=True))
