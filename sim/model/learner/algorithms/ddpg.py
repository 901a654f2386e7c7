"""Bit-exact twin of ``hw.learner.algorithms.ddpg``.

The actor's gradient goes through the critic as it is before the step (lagged critic), because
parameters are updated when all gradients are complete.
"""

import numpy as np

from sim.model.arith.arithmetic import twin_of
from sim.model.learner.algorithms.gradients import Gradients
from sim.model.learner.loss import loss_of, result_of
from sim.model.nn.activation import derivative

__all__ = ["critic_loss", "ddpg_gradients"]

_MINUS_ONE = np.float32(-1)


def ddpg_gradients(learner, records, scalars, inverse, clip, step):
    """``Gradients`` of critic and actor for a batch; no parameter changes. The arguments are those
    of every function in ``sim.model.learner.algorithms.registry.GRADIENTS``."""
    config, critic, actor = learner.config, learner.networks["critic"], learner.networks["actor"]
    weights = {
        (name, parameter_set): learner.weights_of(name, parameter_set)
        for name in ("critic", "actor")
        for parameter_set in ("online", "target")
    }
    obs, next_obs, action, activations = learner.inputs(records, "obs", "next_obs", "action")

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
    outputs = [numbers[-1].T for numbers in groups]
    loss = critic_loss(loss_of(config), config, outputs, scalars, inverse, clip)

    # The hardware carries both errors back through every layer. The TD errors' dx of the first
    # one is of no use, but what is clipped of it counts.
    online, wasted = weights["critic", "online"], config.arithmetic.saturates
    errors, path_errors = (np.ascontiguousarray(delta.T) for delta in loss.delta)
    td = critic.backward(online, groups[0], errors, input_gradient=wasted)
    path = critic.backward(online, groups[1], path_errors, trained=False, input_gradient=True)
    dx, last = path.dx[config.observation :], actor.layers[-1].activation
    delta = derivative(config.arithmetic, last, dx, policy[-1])
    back = actor.backward(weights["actor", "online"], policy, delta)
    saturations = td.saturations + path.saturations + back.saturations
    gradients = {"critic": td.gradients, "actor": back.gradients}
    return Gradients(loss, gradients, activations, saturations)


def critic_loss(pipeline, config, outputs, scalars, inverse, clip):
    """``LossResult`` of DDPG. Its ``delta`` has the errors at the critic's output of two groups:
    the gradients of the TD errors for critic(s, a), and -1 for critic(s, actor(s)).

    pipeline : the twin of the loss, such as ``td_loss``.
    outputs : three arrays of activations, [B, 1] each: critic(s, a), critic(s, actor(s)) and target
        critic(s', target actor(s')).
    scalars : dict of "weight", "reward" and "discount", float32 [B] each.
    inverse : np.float32, reciprocal of the batch's largest weight.
    clip : np.float32, limit of a TD error's magnitude in the gradient; infinity for no limit.
    """
    arithmetic = twin_of(config.arithmetic)
    q, value, following = (arithmetic.to_float(part[:, 0], "activation") for part in outputs)
    td, gradient, loss = pipeline(q, following, scalars, inverse, clip)
    gradient, saturated = arithmetic.quantize(gradient, "gradient")
    policy, _ = arithmetic.quantize(np.full(q.shape, _MINUS_ONE), "gradient")
    return result_of((gradient[:, None], policy[:, None]), td, loss, value, saturated)
