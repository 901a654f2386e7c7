"""The computation of a policy as plain layers, for programs that write it in another form: ONNX, C,
torch (``host.export``)."""

from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np

from host.algorithms.activation import ACTIVATIONS
from host.rules import check_choice
from hw.errors import UsageError

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
    its numbers, in [-1, 1] (``Spec.applied``). UsageError for a layer that is not of this module,
    and for an activation function that is not of ACTIVATIONS.
    """

    layers: list
    acts: str
    heads: dict = field(default_factory=dict)

    def __post_init__(self):
        check_choice("acts", self.acts, self.heads)
        for layer in chain(self.layers, *self.heads.values()):
            if type(layer) not in _LAYERS:
                known = ", ".join(each.__name__ for each in _LAYERS)
                raise UsageError(f"a layer must be {known}, not {type(layer).__name__}")
            if isinstance(layer, Activate):
                check_choice("activation", layer.name, ACTIVATIONS)

    def outputs(self, spec):
        """The outputs that are not the action, name -> numbers of one observation: ``value`` has
        one, any other head one for each action. The head of continuous actions is the action, and
        no output of its own."""
        return {
            name: 1 if name == "value" else spec.action_count
            for name in self.heads
            if spec.discrete or name != self.acts
        }


_LAYERS = (Scale, Normalize, Planes, Convolve, Dense, Dueling, Activate, Part, Clip)
