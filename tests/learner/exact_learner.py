"""A gradient step in real numbers (float64), and how far fixed point may be from it.

A number is a ``Near(value, error)``: the learner's is at most ``error`` from ``value``, as long as
nothing saturates. Errors are derived, rounding by rounding, to first order and beyond:

    input    half a unit of the activation
    layer    |W| e_x, plus half a unit of the activation; tanh adds half a unit and its table
    td       e_q + discount e_q', plus binary32's roundings
    delta    weight / largest * e_td, roundings, plus half a unit of the gradient
    dx       |W|^T e_delta, plus half a unit of the gradient; where a relu may be on either side
             of zero, dx itself
    G        sum of |delta| e_x + e_delta |x| + e_delta e_x
    step     rate e_g times the steepest of the optimizer, first gain / floor, and what
             ``nn.exact_optimizer`` says of a step with that gradient
    w        that, plus half a unit of the weight
"""

import numpy as np
from nn import exact_optimizer
from nn.exact_activation import EXACT

__all__ = ["ExactLearner", "Near"]

_UNIT = 2.0**-24  # of a binary32 rounding, relative


class Near(exact_optimizer.Near):
    def __getitem__(self, key):
        if key in (0, 1):
            return tuple.__getitem__(self, key)
        return Near(self.value[key], self.error[key])


class ExactLearner:
    """``config``, a fixed-point LearnerConfig; ``parameters`` as ``Trainer`` has
    them, raw.

    ``train`` sets ``gradients``, network -> [layer] -> (weights, biases), and ``updated``, the
    same with online and target numbers after an update, all of them Near.
    """

    def __init__(self, config, parameters):
        self.config = config
        arithmetic = config.arithmetic
        self.half = {
            kind: 0.5 * getattr(arithmetic, kind).resolution
            for kind in ("weight", "activation", "gradient")
        }
        self.networks = config.networks
        self.parameters = {
            name: [
                {
                    kind: tuple(arithmetic.weight.to_float(part) for part in layer[kind])
                    for kind in ("online", "target")
                }
                for layer in layers
            ]
            for name, layers in parameters.items()
        }
        self.gradients, self.updated = {}, {}

    def train(self, records, weight, step):
        """``(td, chosen)``: Near [B], and where a next action is sure to be the learner's."""
        inputs = [
            Near(value, np.full(value.shape, self.half["activation"]))
            for value in (
                np.asarray(records[name], np.float64).reshape(len(weight), -1).T
                for name in ("obs", "next_obs", "action")
            )
        ]
        train = self._dqn if self.config.algorithm == "dqn" else self._ddpg
        td, sure = train(records, weight, step, *inputs)
        for number, name in enumerate(self.networks):
            self._update(name, step, number)
        return td, sure

    def _dqn(self, records, weight, step, obs, next_obs, _):
        online, target = self._forward("q", "online", obs), self._forward("q", "target", next_obs)
        choice = self._forward("q", "online", next_obs)[-1][1] if self.config.double else None
        values = target[-1][1]
        choice = values if choice is None else choice
        row = np.arange(len(weight))
        best = np.argmax(choice.value, axis=0)
        # Of the others, none can come up to it.
        least = (choice.value - choice.error)[best, row]
        most = choice.value + choice.error
        most[best, row] = -np.inf
        action = np.asarray(records["action"], np.int64)
        td, g = self._loss(records, weight, step, online[-1][1][action, row], values[best, row])
        chosen = np.arange(self.config.action)[:, None] == action
        delta = Near(np.where(chosen, g.value, 0.0), np.where(chosen, g.error, 0.0))
        self.gradients["q"] = self._backward("q", online, delta)[0]
        return td, least > most.max(axis=0)

    def _ddpg(self, records, weight, step, obs, next_obs, action):
        policy = self._forward("actor", "online", obs)
        following = self._forward("actor", "target", next_obs)
        critic = self._forward("critic", "online", _stacked(obs, action))
        path = self._forward("critic", "online", _stacked(obs, policy[-1][1]))
        target = self._forward("critic", "target", _stacked(next_obs, following[-1][1]))
        td, g = self._loss(records, weight, step, critic[-1][1][0, :], target[-1][1][0, :])
        self.gradients["critic"] = self._backward("critic", critic, g[None, :])[0]
        one = np.ones((1, len(weight)))
        dx = self._backward("critic", path, Near(-one, 0 * one))[1]
        dx = dx[self.config.observation :, :]
        delta = self._derivative("tanh", dx, *policy[-1])
        self.gradients["actor"] = self._backward("actor", policy, delta)[0]
        return td, np.ones(len(weight), bool)

    def _forward(self, name, kind, x):
        """Of every layer ``(before, after)`` its activation; the first is ``(None, x)``."""
        seen = [(None, x)]
        for layer, numbers in zip(self.networks[name], self.parameters[name], strict=True):
            weights, biases = numbers[kind]
            x = seen[-1][1]
            y = Near(
                weights @ x.value + biases[:, None],
                np.abs(weights) @ x.error + self.half["activation"],
            )
            seen.append((y, EXACT[layer.activation].near(y, self.half["activation"])))
        return seen

    def _loss(self, records, weight, step, q, following):
        """``(td, g)``, Near [B]."""
        reward, discount = (np.asarray(records[n], np.float64) for n in ("reward", "discount"))
        td = q.value - (reward + discount * following.value)
        sizes = np.abs(reward) + discount * (np.abs(following.value) + following.error)
        sizes += np.abs(q.value) + q.error
        e_td = q.error + discount * following.error + 4 * _UNIT * sizes
        clip = float(step["clip"])
        limited, w = np.clip(td, -clip, clip), np.asarray(weight, np.float64) / weight.max()
        g = limited * w
        e_g = e_td * w + 5 * _UNIT * (np.abs(g) + e_td) + self.half["gradient"]
        return Near(td, e_td), Near(g, e_g)

    def _backward(self, name, seen, delta):
        """``(gradients, dx of the first layer)``."""
        layers, gradients = self.networks[name], []
        for position in reversed(range(len(layers))):
            x = seen[position][1]
            error = np.abs(delta.value) @ x.error.T + delta.error @ (np.abs(x.value) + x.error).T
            total = delta.value @ x.value.T
            error += _UNIT * (np.abs(total) + error)
            bias, bias_error = delta.value.sum(axis=1), delta.error.sum(axis=1)
            bias_error += _UNIT * (np.abs(bias) + bias_error)
            gradients.insert(0, (Near(total, error), Near(bias, bias_error)))
            weights = self.parameters[name][position]["online"][0]
            dx = Near(
                weights.T @ delta.value, np.abs(weights).T @ delta.error + self.half["gradient"]
            )
            activation = layers[position - 1].activation if position else "linear"
            delta = self._derivative(activation, dx, *seen[position])
        return gradients, delta

    def _derivative(self, activation, dx, y, x):
        return EXACT[activation].derived(dx, y, x, self.half["gradient"])

    def _update(self, name, step, number):
        """The first step of an optimizer whose moments are zero."""
        config = self.config
        scale, floor, rate, blend = (
            float(np.atleast_1d(step[field])[number if np.size(step[field]) > 1 else 0])
            for field in ("scale", "floor", "rate", "blend")
        )
        first = 1.0 if config.optimizer == "rmsprop" else float(step["first_gain"])
        names = ("first_decay", "first_gain", "second_decay", "second_gain")
        c = {field: float(step[field]) for field in names}
        c |= dict(scale=scale, rate=rate, floor=floor)
        self.updated[name] = []
        for layer, gradients in zip(self.parameters[name], self.gradients[name], strict=True):
            sets = {"online": [], "target": []}
            for w, t, g in zip(layer["online"], layer["target"], gradients, strict=True):
                unit = config.arithmetic.weight.resolution
                exact = exact_optimizer.ExactOptimizer(config.optimizer, w, unit)
                exact.update(c, g.value)
                steepest = first if config.optimizer == "sgd" else first / floor
                moved, error = exact.weight
                error = error + (1 + 2.0**-14) * rate * steepest * scale * g.error
                sets["online"].append(Near(moved, error))
                # ``blend`` has 17 fraction bits.
                e_t = (blend + 2.0**-18) * error + 2.0**-18 * np.abs(moved - t)
                sets["target"].append(Near(t + blend * (moved - t), e_t + self.half["weight"]))
            self.updated[name].append(sets)


def _stacked(a, b):
    return Near(np.concatenate([a.value, b.value]), np.concatenate([a.error, b.error]))
