"""A network in training: what it is now, the target that follows it, and its optimizer."""

import numpy as np

__all__ = ["Pair"]


class Pair:
    """
    Parameters
    ----------
    config : AgentConfig
    make : callable
        ``make()`` gives an ``MLP``; the target takes the online network's parameters.

    Attributes
    ----------
    online, target : MLP
    optimizer : Optimizer
        Of the online network.
    """

    def __init__(self, config, make):
        self.config = config
        self.online, self.target = make(), make()
        self.target.parameters[...] = self.online.parameters
        self.optimizer = config.make_optimizer(self.online.parameters)
        self._scratch = np.empty_like(self.online.parameters)

    def descend(self, learning_rate):
        """One optimizer step along ``online.gradient``, its norm limited as configured."""
        gradient, limit = self.online.gradient, self.config.max_gradient_norm
        if limit is not None:
            norm = float(np.sqrt(np.dot(gradient, gradient)))
            if norm > limit:
                gradient *= limit / norm
        self.optimizer.step(gradient, learning_rate)

    def synchronize(self):
        """``target += tau (online - target)``."""
        tau = self.config.target_tau
        if tau == 1:
            self.target.parameters[...] = self.online.parameters
        else:
            np.subtract(self.online.parameters, self.target.parameters, out=self._scratch)
            self._scratch *= tau
            self.target.parameters += self._scratch

    def state_dict(self):
        return {
            "online": self.online.parameters.copy(),
            "target": self.target.parameters.copy(),
            "optimizer": self.optimizer.state_dict(),
        }

    def load_state_dict(self, state):
        if len(state["online"]) != len(self.online.parameters):
            raise ValueError(
                f"parameters must be {len(self.online.parameters)} numbers for this network, "
                f"not {len(state['online'])}"
            )
        self.online.parameters[...] = state["online"]
        self.target.parameters[...] = state["target"]
        self.optimizer.load_state_dict(state["optimizer"])
