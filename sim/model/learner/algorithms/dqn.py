"""Bit-exact twin of ``hw.learner.algorithms.dqn``."""

import numpy as np

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
    online, target = outputs[0], outputs[1]
    row = np.arange(len(online))
    action = np.asarray(scalars["action"], dtype=np.int64)
    chosen = np.argmax(arithmetic.order_key(outputs[-1]), axis=1)
    # An action that is no output has no Q value and no error.
    is_output = action < online.shape[1]
    action = np.where(is_output, action, 0)
    q = arithmetic.to_float(np.where(is_output, online[row, action], 0), "activation")
    following = arithmetic.to_float(target[row, chosen], "activation")
    td, gradient, loss = loss_of(config)(q, following, scalars, inverse, clip)
    gradient, saturated = arithmetic.quantize(gradient, "gradient")
    delta = np.zeros(online.shape, gradient.dtype)
    delta[row, action] = np.where(is_output, gradient, 0)
    return result_of((delta,), td, loss, q, saturated)
