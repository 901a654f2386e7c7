"""Bit-exact twin of ``hw.learner.algorithms.dqn``."""

import numpy as np

from sim.compiled import compiled
from sim.model.arith.arithmetic import twin_of
from sim.model.learner.algorithms.gradients import Gradients
from sim.model.learner.loss import loss_of, result_of

__all__ = ["dqn_gradients", "dqn_loss"]


def dqn_gradients(learner, records, scalars, inverse, clip, step):
    """``Gradients`` of Q-learning for a batch; no parameter changes. The arguments are those of
    every function in ``sim.model.learner.algorithms.registry.GRADIENTS``."""
    config, network = learner.config, learner.networks["q"]
    online, target = learner.weights_of("q", "online"), learner.weights_of("q", "target")
    obs, next_obs, clipped = learner.inputs(records, "obs", "next_obs")
    batch = obs.shape[1]
    seen = np.concatenate([obs, next_obs], axis=1) if config.double else obs
    numbers, activations = network.forward(online, seen)
    values, target_activations = network.forward(target, next_obs)
    outputs = [numbers[-1][:, :batch], values[-1]]
    if config.double:
        outputs.append(numbers[-1][:, batch:])
    loss = dqn_loss(config, [o.T for o in outputs], scalars, inverse, clip)
    delta = np.ascontiguousarray(loss.delta[0].T)
    back = network.backward(online, [x[:, :batch] for x in numbers], delta)
    clipped += activations + target_activations
    return Gradients(loss, {"q": back.gradients}, clipped, back.saturations)


def dqn_loss(config, outputs, scalars, inverse, clip):
    """``LossResult`` of Q-learning. Its ``delta`` has one group, which is the gradient at the
    action's output and 0 at all others. If an action is not one of the outputs, its Q value counts
    as 0 and no output has an error.

    outputs : arrays of activations, [B, actions] each: online(s), target(s') and, if
        ``config.double``, online(s').
    scalars : dict of "weight", "reward" and "discount", float32 [B] each, and "action", integers
        [B].
    inverse : np.float32, reciprocal of the batch's largest weight.
    clip : np.float32, limit of a TD error's magnitude in the gradient; infinity for no limit.
    """
    arithmetic = twin_of(config.arithmetic)
    online, target, keys = map(
        np.ascontiguousarray, (outputs[0], outputs[1], arithmetic.order_key(outputs[-1]))
    )
    action = np.asarray(scalars["action"], dtype=np.int64)
    q, following = arithmetic.to_float(_values(online, target, keys, action), "activation")
    td, gradient, loss = loss_of(config)(q, following, scalars, inverse, clip)
    gradient, saturated = arithmetic.quantize(gradient, "gradient")
    return result_of((_at(action, gradient, online.shape[1]),), td, loss, q, saturated)


@compiled
def _values(online, target, keys, action):
    """``online`` of the ``action``, and ``target`` of the first action with the largest of
    ``keys``, of each sample."""
    values = np.zeros((2, len(action)), online.dtype)
    for s in range(len(action)):
        if action[s] < online.shape[1]:
            values[0, s] = online[s, action[s]]
        values[1, s] = target[s, np.argmax(keys[s])]
    return values


@compiled
def _at(action, gradient, actions):
    """[B, actions]: zeros, and ``gradient`` [B] at the ``action`` of each sample."""
    delta = np.zeros((len(action), actions), gradient.dtype)
    for s in range(len(action)):
        if action[s] < actions:
            delta[s, action[s]] = gradient[s]
    return delta
