"""Bit-exact twin of the learner: gradient steps of an algorithm, as ``hw.learner`` makes them."""

from typing import NamedTuple

import numpy as np

from hw.errors import UsageError
from sim.model.arith import float32
from sim.model.learner.algorithms.registry import gradients_of
from sim.model.learner.network.network import Network
from sim.model.learner.parameters.parameter_sets import ParameterSets

__all__ = ["Trainer", "Trained"]


class Trained(NamedTuple):
    """The results of training on a batch of B experiences.

    td : float32 [B].
    loss, td_sum, value : float32, sums over the batch as REPORT has them.
    weight : float32, the largest importance weight.
    diverged : position of the first TD error that is infinite or not a number, or None. If there
        is one, parameters are as before.
    saturations : (weights, activations, gradients) clipped; zeros in float32.
    """

    td: np.ndarray
    loss: np.float32
    td_sum: np.float32
    value: np.float32
    weight: np.float32
    diverged: int | None
    saturations: tuple


class Trainer(ParameterSets):
    """Gradient steps of a LearnerConfig on the ``ParameterSets`` of its networks."""

    def __init__(self, config):
        super().__init__(config)
        self.networks = {name: Network(config, layers) for name, layers in config.networks.items()}
        self._algorithm = gradients_of(config)

    # -- acting

    def act(self, observations):
        """The online network's outputs, float32 [n, action], for observations float32 [n,
        observation]."""
        arithmetic, name = self._arithmetic, self.config.acts
        x, _ = arithmetic.quantize(np.asarray(observations, np.float32).T, "activation")
        numbers, _ = self.networks[name].forward(self.weights_of(name, "online"), x)
        return arithmetic.to_float(numbers[-1].T, "activation")

    # -- a gradient step

    def train(self, records, index, weight, step, update=True):
        """Train on a batch; ``Trained``.

        records : obs, next_obs [B, observation], action ([B] discrete, [B, action] continuous),
            reward, discount [B]: arrays by name, float32 (a discrete action: integers).
        index : ignored here; it accompanies the TD errors.
        weight : float32 [B], importance weights.
        step : record of ``hw.learner.commands.HYPERPARAMETERS``.
        update : parameters are updated; else the gradients alone are there.
        """
        batch = len(weight)
        if batch % self.config.lanes or not 0 < batch <= self.config.batch:
            raise UsageError(
                f"batch must be a multiple of lanes ({self.config.lanes}) in "
                f"1..{self.config.batch}, not {batch!r}"
            )
        largest = np.float32(np.max(weight))
        scalars = {"weight": np.asarray(weight, np.float32)}
        scalars |= {name: records[name] for name in ("action", "reward", "discount")}
        inverse, clip = float32.reciprocal(largest), np.float32(step["clip"])
        loss, gradients, activations, saturations = self._algorithm(
            self, records, scalars, inverse, clip
        )
        for name in gradients:
            self._keep(name, gradients[name])
        weights = 0
        if update and loss.diverged is None:
            weights = self._update(step)
        return Trained(
            td=loss.td,
            loss=loss.loss,
            td_sum=loss.td_sum,
            value=loss.value,
            weight=largest,
            diverged=loss.diverged,
            saturations=(weights, activations, loss.saturations + saturations),
        )

    def inputs(self, records, *names):
        """Activations [features, B] of fields, and how many were clipped."""
        batch = len(records["reward"])
        fields = [np.asarray(records[n], np.float32).reshape(batch, -1).T for n in names]
        values, saturated = zip(
            *(self._arithmetic.quantize(field, "activation") for field in fields), strict=True
        )
        return *values, sum(int(np.count_nonzero(part)) for part in saturated)

    def _keep(self, name, gradients):
        """Set the gradients of a network; a bias's gradient has fewer fraction bits, by those of an
        activation."""
        one = self._arithmetic.times_one
        self.keep(name, [(weights, one(biases)) for weights, biases in gradients])

    def _update(self, step):
        """One optimizer step of every network; weights clipped."""
        return sum(self.step(name, step) for name in self.config.networks)
