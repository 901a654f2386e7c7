"""Bit-exact twin of the learner: gradient steps of DQN and DDPG, as ``hw.learner`` makes them.

The actor's gradient goes through the critic as it is before the step (lagged critic): parameters
are updated when all gradients are there.
"""

from typing import NamedTuple

import numpy as np

from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import pack, sections, unpack
from sim.model.arith import float32
from sim.model.learner.network.loss import ddpg_loss, dqn_loss
from sim.model.learner.network.network import Network
from sim.model.nn.activation import derivative, quantize, to_float
from sim.model.nn.optimizer import coefficients, update

__all__ = ["Trainer", "Trained"]


class Trained(NamedTuple):
    """What came of a batch of B experiences.

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


class Trainer:
    """Networks and optimizer state of a LearnerConfig, all zeros at first.

    parameters : network name -> [layer] -> set -> (weights [outputs, inputs], biases [outputs]),
        views to read and to write: float32, of fixed point int64 raw for weights and targets.
        There are the sets that the optimizer has.
    gradients : the same without sets, float32: sums over the batch trained last, of fixed point
        as binary32 has them.
    """

    def __init__(self, config):
        self.config = config
        plans = config.networks
        self._networks = {name: Network(config, layers) for name, layers in plans.items()}
        moments = {"sgd": ("first",), "rmsprop": ("second",), "adam": ("first", "second")}
        self._sets = ("online", "target", *moments[config.optimizer])
        sizes = {
            name: sum(layer.weights + layer.outputs for layer in layers)
            for name, layers in plans.items()
        }
        # One array for a network and parameter_set: the optimizer takes all its layers at once.
        self._numbers = {
            name: {
                parameter_set: np.zeros(size, self._dtype(parameter_set))
                for parameter_set in self._sets
            }
            for name, size in sizes.items()
        }
        kind = np.float32 if config.arithmetic.is_float else np.int64
        self._sums = {name: np.zeros(size, kind) for name, size in sizes.items()}
        self.parameters = {}
        for name, layers in plans.items():
            views = {
                parameter_set: _views(values, layers)
                for parameter_set, values in self._numbers[name].items()
            }
            self.parameters[name] = [
                {parameter_set: pairs[position] for parameter_set, pairs in views.items()}
                for position in range(len(layers))
            ]

    def _dtype(self, parameter_set):
        is_raw = parameter_set in ("online", "target") and not self.config.arithmetic.is_float
        return np.int64 if is_raw else np.float32

    @property
    def gradients(self):
        arithmetic = self.config.arithmetic
        fraction = arithmetic.fraction("activation", "gradient")
        return {
            name: _views(to_float(arithmetic, fraction, self._sums[name]), layers)
            for name, layers in self.config.networks.items()
        }

    # -- the parameter image

    def load(self, numbers, sets=PARAMETER_SETS):
        """Take the image ``numbers`` (an array of 4-byte numbers) of ``parameter_image``.

        Kinds that the optimizer lacks are dropped, bits above a fixed-point weight's as well.
        """
        numbers = np.ascontiguousarray(numbers)
        for section in sections(self.config, sets):
            if section.parameter_set in self._sets:
                part = numbers.view(np.uint8)[section.offset : section.offset + section.size]
                part = part.view(self._stored(section.parameter_set))
                pair = self.parameters[section.network][section.position][section.parameter_set]
                for own, new in zip(pair, unpack(section.layer, part), strict=True):
                    if own.dtype == np.int64:
                        unused = 32 - self.config.arithmetic.weight.width
                        new = (new << unused) >> unused
                    own[...] = new

    def store(self, sets=PARAMETER_SETS):
        """The image as uint32; zeros for sets that the optimizer lacks."""
        parts = []
        for section in sections(self.config, sets):
            if section.parameter_set in self._sets:
                pair = self.parameters[section.network][section.position][section.parameter_set]
                pair = (part.astype(self._stored(section.parameter_set)) for part in pair)
                parts.append(pack(section.layer, *pair).view(np.uint32))
            else:
                parts.append(np.zeros(section.size // 4, np.uint32))
        return np.concatenate(parts)

    def _stored(self, parameter_set):
        """dtype in the image."""
        return np.float32 if self._dtype(parameter_set) == np.float32 else np.int32

    # -- acting

    def act(self, observations):
        """What the online network does with float32 [n, observation]: float32 [n, action]."""
        arithmetic, name = self.config.arithmetic, self.config.acts
        x, _ = quantize(arithmetic, "activation", np.asarray(observations, np.float32).T)
        numbers, _ = self._networks[name].forward(self._weights(name, "online"), x)
        return to_float(arithmetic, "activation", numbers[-1].T)

    # -- a gradient step

    def train(self, records, index, weight, step, update=True):
        """Train on a batch; ``Trained``.

        records : obs, next_obs [B, observation], action ([B] discrete, [B, action] continuous),
            reward, discount [B]: arrays by name, float32 (a discrete action: integers).
        index : not read; it goes with the TD errors.
        weight : float32 [B], importance weights.
        step : record of ``hw.learner.commands.HYPERPARAMETERS``.
        update : parameters are updated; else the gradients alone are there.
        """
        batch = len(weight)
        if batch % self.config.lanes or not 0 < batch <= self.config.batch:
            raise ValueError(
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
        online, target = self._weights("q", "online"), self._weights("q", "target")
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
            (name, parameter_set): self._weights(name, parameter_set)
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
        wasted = not config.arithmetic.is_float
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

    def _weights(self, name, parameter_set):
        return [layer[parameter_set] for layer in self.parameters[name]]

    def _inputs(self, records, *names):
        """Activations [features, B] of fields, and how many were clipped."""
        batch = len(records["reward"])
        fields = [np.asarray(records[n], np.float32).reshape(batch, -1).T for n in names]
        values, saturated = zip(
            *(quantize(self.config.arithmetic, "activation", field) for field in fields),
            strict=True,
        )
        return *values, sum(int(np.count_nonzero(part)) for part in saturated)

    def _keep(self, name, gradients):
        """Set the gradients of a network; a bias's has an activation's fraction less."""
        arithmetic = self.config.arithmetic
        shift = 0 if arithmetic.is_float else arithmetic.fraction("activation")
        sums = _views(self._sums[name], self.config.networks[name])
        for (weights, biases), (new_weights, new_biases) in zip(sums, gradients, strict=True):
            weights[...] = new_weights
            biases[...] = new_biases << shift if shift else new_biases

    def _update(self, step):
        """One optimizer step of every network; weights clipped."""
        saturations = 0
        for number, (name, values) in enumerate(self._numbers.items()):
            result = update(
                self.config,
                coefficients(step, number),
                self._sums[name],
                values["online"],
                values["target"],
                values.get("first"),
                values.get("second"),
            )
            values["online"][:], values["target"][:] = result.weight, result.target
            for parameter_set in self._sets[2:]:
                values[parameter_set][:] = getattr(result, parameter_set)
            saturations += result.saturations
        return saturations


def _views(numbers, layers):
    """(weights, biases) a layer, one after the other in ``numbers``."""
    views, offset = [], 0
    for layer in layers:
        weights = numbers[offset : offset + layer.weights].reshape(layer.outputs, layer.inputs)
        offset += layer.weights
        views.append((weights, numbers[offset : offset + layer.outputs]))
        offset += layer.outputs
    return views


def _delta(loss, group):
    return np.ascontiguousarray(loss.delta[group].T)
