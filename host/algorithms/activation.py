"""Activation functions of hidden layers: NumPy's for what acts, torch's for what trains."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

__all__ = ["ACTIVATIONS", "LEAK", "Activation"]


class Activation(NamedTuple):
    """An activation function of hidden layers, in NumPy and in torch.

    function : callable
        Returns the activation of a NumPy array.
    torch : callable
        ``torch(module)`` returns the same function for tensors; ``module`` is the module torch.
    gain : float
        Gain of the first weights of a layer before this function, with which the layer's outputs
        vary as much as its inputs.
    """

    function: Callable
    torch: Callable
    gain: float


LEAK = 1 / 64  # the slope of leaky_relu below 0

#: Name -> Activation, for configs.
ACTIVATIONS = {
    "relu": Activation(lambda z: np.maximum(z, 0), lambda torch: torch.relu, 2**0.5),
    "leaky_relu": Activation(
        lambda z: np.where(z > 0, z, z * np.float32(LEAK)),
        lambda torch: partial(torch.nn.functional.leaky_relu, negative_slope=LEAK),
        (2 / (1 + LEAK**2)) ** 0.5,
    ),
    "tanh": Activation(np.tanh, lambda torch: torch.tanh, 5 / 3),
}
