"""Weights of a policy's networks in the shapes of a kernel, and back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from host.algorithms.policy import Policy
from host.learner.launch_results import Layer, Sets

__all__ = ["flat", "layers_of", "online_of", "set_weights"]


def layers_of(policy: Policy) -> dict[str, list[Layer]]:
    """Weights [outputs, inputs] and biases [outputs] of each layer of the networks of ``policy``,
    by the network's name: what ``LearningReplay.initialize`` takes."""
    return {
        name: [(w.T, b) for w, b in zip(network.weights, network.biases, strict=True)]
        for name, network in policy.networks.items()
    }


def online_of(policy: Policy) -> Sets:
    """``layers_of`` as the online set, which acts and learns: what ``LearningReplay.load``
    takes."""
    return {name: [{"online": pair} for pair in each] for name, each in layers_of(policy).items()}


def set_weights(policy: Policy, sets: Sets) -> None:
    """Gives the networks of ``policy`` that are in ``sets`` the online weights there, as a kernel
    returns them."""
    for name, layers in sets.items():
        policy.networks[name].parameters[...] = flat(layers)


def flat(layers: Sequence[dict[str, Layer]]) -> NDArray[np.float32]:
    """The online weights of a network's ``layers``, as a kernel returns them, in the order of
    ``parameters`` of the policy's network: a vector."""
    online = [layer["online"] for layer in layers]
    found: NDArray[np.float32] = np.concatenate(
        [part for weights, biases in online for part in (weights.T.reshape(-1), biases)]
    )
    return found
