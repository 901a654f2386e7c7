"""First-order optimizers on one flat parameter vector; the update rules are PyTorch's.

All arrays are allocated once; ``step`` makes no garbage.
"""

import numpy as np

__all__ = ["OPTIMIZERS", "Adam", "Optimizer", "RMSProp", "SGD"]


class Optimizer:
    """State of one parameter vector.

    Parameters
    ----------
    parameters : array [count]
        Updated in place.

    Attributes
    ----------
    moments : dict of str to array [count]
        What the rule remembers; saved with the agent.
    updates : int
        Steps taken.
    """

    MOMENTS = ()

    def __init__(self, parameters):
        self.parameters, self.updates = parameters, 0
        self.moments = {name: np.zeros_like(parameters) for name in self.MOMENTS}
        self._scratch = np.empty_like(parameters)

    def step(self, gradient, learning_rate):
        """``parameters -= learning_rate * direction(gradient)``; the gradient stays as it is."""
        raise NotImplementedError

    def state_dict(self):
        return {
            "updates": self.updates,
            "moments": {name: moment.copy() for name, moment in self.moments.items()},
        }

    def load_state_dict(self, state):
        self.updates = int(state["updates"])
        for name, moment in self.moments.items():
            moment[...] = state["moments"][name]


class SGD(Optimizer):
    """``b = mu b + g;  p -= lr b``."""

    MOMENTS = ("momentum",)

    def __init__(self, parameters, *, momentum=0.0):
        super().__init__(parameters)
        self.momentum = momentum

    def step(self, gradient, learning_rate):
        self.updates += 1
        moment = self.moments["momentum"]
        moment *= self.momentum
        moment += gradient
        np.multiply(moment, learning_rate, out=self._scratch)
        self.parameters -= self._scratch


class RMSProp(Optimizer):
    """``s = d s + (1 - d) g^2;  p -= lr g / (sqrt(s) + eps)`` (Tieleman and Hinton)."""

    MOMENTS = ("square",)

    def __init__(self, parameters, *, decay=0.99, epsilon=1e-8):
        super().__init__(parameters)
        self.decay, self.epsilon = decay, epsilon

    def step(self, gradient, learning_rate):
        self.updates += 1
        square, scratch = self.moments["square"], self._scratch
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1 - self.decay
        square *= self.decay
        square += scratch
        np.sqrt(square, out=scratch)
        scratch += self.epsilon
        np.divide(gradient, scratch, out=scratch)
        scratch *= learning_rate
        self.parameters -= scratch


class Adam(Optimizer):
    """``m = b1 m + (1 - b1) g;  s = b2 s + (1 - b2) g^2;
    p -= lr / (1 - b1^t) * m / (sqrt(s / (1 - b2^t)) + eps)`` (Kingma and Ba, 2015)."""

    MOMENTS = ("mean", "square")

    def __init__(self, parameters, *, beta1=0.9, beta2=0.999, epsilon=1e-8):
        super().__init__(parameters)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def step(self, gradient, learning_rate):
        self.updates += 1
        mean, square, scratch = self.moments["mean"], self.moments["square"], self._scratch
        np.multiply(gradient, 1 - self.beta1, out=scratch)
        mean *= self.beta1
        mean += scratch
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1 - self.beta2
        square *= self.beta2
        square += scratch
        np.sqrt(square, out=scratch)
        scratch *= (1 - self.beta2**self.updates) ** -0.5
        scratch += self.epsilon
        np.divide(mean, scratch, out=scratch)
        scratch *= learning_rate / (1 - self.beta1**self.updates)
        self.parameters -= scratch


OPTIMIZERS = {"adam": Adam, "rmsprop": RMSProp, "sgd": SGD}
