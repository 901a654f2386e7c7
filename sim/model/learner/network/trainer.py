"""Bit-exact twin of the learner: gradient steps of DQN and DDPG, as ``hw.learner`` makes them.

The actor's gradient goes through the critic as it is before the step (lagged critic), because
parameters are updated when all gradients are complete.
"""

from typing import NamedTuple

import numpy as np

from hw.errors import UsageError
from sim.model.arith import float32
from sim.model.learner.network.loss import ddpg_loss, dqn_loss
from sim.model.learner.network.network import Network
from sim.model.learner.parameters.parameter_sets import ParameterSets
from sim.model.nn.activation import derivative

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
        self._networks = {name: Network(config, layers) for name, layers in config.networks.items()}

    # -- acting

    def act(self, observations):
        """The online network's outputs, float32 [n, action], for observations float32 [n,
        observation]."""
        arithmetic, name = self._arithmetic, self.config.acts
        x, _ = arithmetic.quantize(np.asarray(observations, np.float32).T, "activation")
        numbers, _ = self._networks[name].forward(self.weights_of(name, "online"), x)
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
        train = self._dqn if self.config.algorithm == "dqn" else self._ddpg
        loss, activations, gradients = train(
            records, scalars, float32.reciprocal(largest), np.float32(step["clip"])
        )
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
            saturations=(weights, activations, loss.saturations + gradients),
        )

    def _dqn(self, records, scalars, inverse, clip):
        """``(loss, activations clipped, gradients clipped beyond the loss's)``; sets gradients."""
        config, network = self.config, self._networks["q"]
        online, target = self.weights_of("q", "online"), self.weights_of("q", "target")
        obs, next_obs, clipped = self._inputs(records, "obs", "next_obs")
        batch = obs.shape[1]
        seen = np.concatenate([obs, next_obs], axis=1) if config.double else obs
        numbers, activations = network.forward(online, seen)
        values, target_activations = network.forward(target, next_obs)
        outputs = [numbers[-1][:, :batch], values[-1]]
        if config.double:
            outputs.append(numbers[-1][:, batch:])
        loss = dqn_loss(config, [o.T for o in outputs], scalars, inverse, clip)
        back = network.backward(online, [x[:, :batch] for x in numbers], _delta(loss, 0))
        self._keep("q", back.gradients)
        return loss, clipped + activations + target_activations, back.saturations

    def _ddpg(self, records, scalars, inverse, clip):
        config, critic, actor = self.config, self._networks["critic"], self._networks["actor"]
        weights = {
            (name, parameter_set): self.weights_of(name, parameter_set)
            for name in ("critic", "actor")
            for parameter_set in ("online", "target")
        }
        obs, next_obs, action, activations = self._inputs(records, "obs", "next_obs", "action")

        policy, clipped = actor.forward(weights["actor", "online"], obs)
        next_policy, next_clipped = actor.forward(weights["actor", "target"], next_obs)
        activations += clipped + next_clipped
        groups = []
        for parameter_set, state, act in (
            ("online", obs, action),
            ("online", obs, policy[-1]),
            ("target", next_obs, next_policy[-1]),
        ):
            numbers, clipped = critic.forward(
                weights["critic", parameter_set], np.concatenate([state, act])
            )
            groups.append(numbers)
            activations += clipped
        loss = ddpg_loss(config, [numbers[-1].T for numbers in groups], scalars, inverse, clip)

        # The hardware carries both errors back through every layer. The TD errors' dx of the first
        # one is of no use, but what is clipped of it counts.
        online = weights["critic", "online"]
        wasted = config.arithmetic.saturates
        td = critic.backward(online, groups[0], _delta(loss, 0), input_gradient=wasted)
        path = critic.backward(
            online, groups[1], _delta(loss, 1), trained=False, input_gradient=True
        )
        delta = derivative(
            config.arithmetic,
            actor.layers[-1].activation,
            path.dx[config.observation :],
            policy[-1],
        )
        back = actor.backward(weights["actor", "online"], policy, delta)
        self._keep("critic", td.gradients)
        self._keep("actor", back.gradients)
        return loss, activations, td.saturations + path.saturations + back.saturations

    def _inputs(self, records, *names):
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


def _delta(loss, group):
    return np.ascontiguousarray(loss.delta[group].T)
