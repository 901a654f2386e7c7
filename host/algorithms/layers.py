"""The computation of a policy as plain layers, for programs that write it in another form: ONNX, C,
torch (``host.export``)."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

__all__ = ["Activate", "Clip", "Convolve", "Dense", "Described", "Dueling", "Normalize", "Part"]
__all__ += ["Planes", "Scale"]


class Scale(NamedTuple):
    """``x * factor``, in float32."""

    factor: float


class Normalize(NamedTuple):
    """``clip((x - mean) / deviation, -limit, limit)``, in float64; the result is float32."""

    mean: np.ndarray
    deviation: np.ndarray
    limit: float


class Planes(NamedTuple):
    """An image [height, width, channels] as planes [channels, height, width]."""

    shape: tuple


class Convolve(NamedTuple):
    """A convolution without padding: ``weight`` [filters, channels, y, x], ``bias`` [filters]."""

    weight: np.ndarray
    bias: np.ndarray
    stride: int


class Dense(NamedTuple):
    """``weight x + bias``: ``weight`` [outputs, inputs], ``bias`` [outputs]; x is flattened."""

    weight: np.ndarray
    bias: np.ndarray


class Dueling(NamedTuple):
    """``v + a - mean(a)``; ``value`` reads the first half of the numbers, ``advantage`` the
    rest."""

    value: Dense
    advantage: Dense


class Activate(NamedTuple):
    """An activation function, by its name in ``host.algorithms.activation.ACTIVATIONS``."""

    name: str


class Part(NamedTuple):
    """The numbers from ``begin`` to ``end``."""

    begin: int
    end: int


class Clip(NamedTuple):
    """``clip(x, -1, 1)``."""


@dataclass(frozen=True)
class Described:
    """A policy's greedy action: ``layers`` are applied to an observation, and then the layers of
    each of ``heads``, name -> layers.

    The action is the index of the largest number of the head ``acts``, or, for continuous actions,
    its numbers, in [-1, 1] (``Spec.applied``).
    """

    layers: list
    acts: str
    heads: dict = field(default_factory=dict)
