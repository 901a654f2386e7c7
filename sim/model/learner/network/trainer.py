"""Bit-exact twin of the learner: gradient steps of an algorithm, as ``hw.learner`` makes them."""

from typing import NamedTuple

import numpy as np

from hw.errors import UsageError
from sim.compiled import compiled
from sim.model.arith.float32_steps import ONE, flush, leave
from sim.model.learner.algorithms.registry import gradients_of
from sim.model.learner.network.network import Network
from sim.model.learner.parameters.parameter_sets import ParameterSets

__all__ = ["Trainer", "Trained"]


class Trained(NamedTuple):
    """The results of training on a batch of B experiences.

    td : TD errors, float32 [B].
    loss, td_sum, value : np.float32, sums over the batch as REPORT has them.
        ``value`` is 0 if the last sweep was left out.
    weight : np.float32, the largest importance weight.
    diverged : position in the batch of the first TD error that is infinite or NaN; None if all are
        finite. If it is not None, no parameter has changed.
    saturations : ``(weights, activations, gradients)``, how many were clipped; zeros in binary32.
    """

    td: np.ndarray
    loss: np.float32
    td_sum: np.float32
    value: np.float32
    weight: np.float32
    diverged: int | None
    saturations: tuple


class Trainer(ParameterSets):
    """The learner's twin: the networks of a LearnerConfig with their ``ParameterSets``. It acts and
    makes gradient steps, which change the parameters in place."""

    def __init__(self, config):
        super().__init__(config)
        self.networks = {name: Network(config, layers) for name, layers in config.networks.items()}
        self._sweeps = gradients_of(config)

    # -- acting

    def act(self, observations):
        """The online network's outputs but for free ones, float32 [n, action], for observations
        float32 [n, observation]."""
        arithmetic, name = self._arithmetic, self.config.acts
        x, _ = arithmetic.quantize(np.asarray(observations, np.float32).T, "activation")
        numbers, _ = self.networks[name].forward(self.weights_of(name, "online"), x)
        return arithmetic.to_float(numbers[-1][: self.config.action].T, "activation")

    # -- a gradient step

    def train(self, records, index, weight, step, update=True):
        """Trains on a batch of B experiences; returns ``Trained``. Afterwards ``gradients`` has the
        gradients of the batch. The networks that a sweep trains are updated before the next one.

        records : dict of float32 arrays: "obs" and "next_obs" [B, observation], "action" [B,
            action], "reward" and "discount" [B]. A discrete action is an integer array [B].
        index : ignored here; the hardware sends it with the TD errors.
        weight : float32 [B], importance weights.
        step : a record of ``config.step_record``; of a STEP, ``sweeps`` says which sweeps run.
        update : whether parameters are updated. They are not if a TD error is infinite or NaN.

        Raises UsageError, a ValueError, if B is not a multiple of the lanes in 1..config.batch, or
        if ``sweeps`` is even.
        """
        batch = len(weight)
        if batch % self.config.lanes or not 0 < batch <= self.config.batch:
            raise UsageError(
                f"batch must be a multiple of lanes ({self.config.lanes}) in "
                f"1..{self.config.batch}, not {batch!r}"
            )
        weight = np.ascontiguousarray(weight, np.float32)
        scalars = {"weight": weight}
        scalars |= {name: records[name] for name in ("action", "reward", "discount")}
        largest, inverse = map(np.float32, _largest(weight))
        clip = np.float32(step["clip"])
        first, clipped = None, np.zeros(3, np.int64)
        wanted = -1
        if len(self._sweeps) > 1 and "sweeps" in step.dtype.names:
            wanted = int(step["sweeps"])
            if wanted % 2 == 0:
                raise UsageError(f"sweeps must have bit 0, not {wanted:#x}")
        value = np.float32(0)
        for number, gradients in enumerate(self._sweeps):
            if not wanted >> number & 1:
                continue
            sweep = gradients(self, records, scalars, inverse, clip, step)
            loss = sweep.loss
            if number == len(self._sweeps) - 1:
                value = loss.value
            first = first or loss
            for name in sweep.networks:
                self._keep(name, sweep.networks[name])
            weights = 0
            if update and first.diverged is None:
                networks = self.config.plan.networks
                weights = sum(
                    self.step(name, step, networks[name].rate, sweep.shifts.get(name, 0))
                    for name in sweep.networks
                )
            clipped += weights, sweep.activations, loss.saturations + sweep.saturations
            if first.diverged is not None:
                break
        return Trained(
            td=first.td,
            loss=first.loss,
            td_sum=first.td_sum,
            value=value,
            weight=largest,
            diverged=first.diverged,
            saturations=tuple(map(int, clipped)),
        )

    def inputs(self, records, *names):
        """The fields ``names`` of ``records`` as activations: a tuple with an array [features, B]
        for each of them, and at its end how many numbers were clipped."""
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


@compiled
def _largest(weights):
    """The largest of the weights, and its reciprocal as of ``arith.float32``."""
    largest = weights.max()
    return largest, leave(flush(ONE / flush(largest)))
