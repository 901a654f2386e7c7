"""Bit-exact twin of ``hw.learner.algorithms.td3``: a function for each of the two sweeps."""

import numpy as np

from sim.model.arith import float32
from sim.model.arith.arithmetic import twin_of
from sim.model.arith.noise import gaussian
from sim.model.learner.algorithms.gradients import Gradients
from sim.model.learner.loss import loss_of, result_of
from sim.model.nn.activation import derivative

__all__ = ["actor_gradients", "critic_gradients", "smoothed"]

_CRITICS = ("critic", "critic_2")
_ONE = np.float32(1)
_MAGNITUDE = np.uint32(0x7FFF_FFFF)


def critic_gradients(learner, records, scalars, inverse, clip, step):
    """``Gradients`` of both critics for a batch; no parameter changes. The arguments are as
    for every function in ``sim.model.learner.algorithms.registry.GRADIENTS``."""
    config, twin = learner.config, twin_of(learner.config.arithmetic)
    obs, next_obs, action, activations = learner.inputs(records, "obs", "next_obs", "action")
    mean, clipped = _forward(learner, "actor", "target", next_obs)
    activations += clipped
    following = np.concatenate([next_obs, smoothed(config, mean[-1], step)])
    seen = np.concatenate([obs, action])
    passed, q, bootstrap = {}, [], []
    for name in _CRITICS:
        passed[name], clipped = _forward(learner, name, "online", seen)
        later, late_clipped = _forward(learner, name, "target", following)
        activations += clipped + late_clipped
        q.append(twin.to_float(passed[name][-1][0], "activation"))
        bootstrap.append(later[-1][0])
    one, two = bootstrap
    smaller = np.where(twin.order_key(two) < twin.order_key(one), two, one)
    shifts = [int(places) for places in step["shift"][: len(_CRITICS)]]
    td, gradients, loss = loss_of(config)(
        q, twin.to_float(smaller, "activation"), scalars, inverse, clip, shifts
    )
    # dx of the TD errors is of no use, but what is clipped of it counts.
    wasted, back, over = config.arithmetic.saturates, {}, []
    for name, gradient in zip(_CRITICS, gradients, strict=True):
        delta, saturated = twin.quantize(gradient, "gradient")
        over.append(saturated)
        online = learner.weights_of(name, "online")
        back[name] = learner.networks[name].backward(
            online, passed[name], delta[None], input_gradient=wasted
        )
    return Gradients(
        result_of((), td, loss, np.zeros_like(td), np.stack(over)),
        {name: each.gradients for name, each in back.items()},
        activations,
        sum(each.saturations for each in back.values()),
        dict(zip(_CRITICS, shifts, strict=True)),
    )


def actor_gradients(learner, records, scalars, inverse, clip, step):
    """As ``critic_gradients``, of the actor: through the first critic, after its step."""
    config, twin = learner.config, twin_of(learner.config.arithmetic)
    obs, activations = learner.inputs(records, "obs")
    policy, clipped = _forward(learner, "actor", "online", obs)
    passed, more = _forward(learner, "critic", "online", np.concatenate([obs, policy[-1]]))
    value = twin.to_float(passed[-1][0], "activation")
    shift = int(step["shift"][len(_CRITICS)])
    error = np.full((1, len(value)), -(2.0**-shift), np.float32)
    delta, over = twin.quantize(error, "gradient")
    path = learner.networks["critic"].backward(
        learner.weights_of("critic", "online"), passed, delta, trained=False, input_gradient=True
    )
    last = learner.networks["actor"].layers[-1].activation
    dx = derivative(config.arithmetic, last, path.dx[config.observation :], policy[-1])
    back = learner.networks["actor"].backward(learner.weights_of("actor", "online"), policy, dx)
    nothing = np.zeros_like(value)
    return Gradients(
        result_of((), nothing, nothing, value, over),
        {"actor": back.gradients},
        activations + clipped + more,
        path.saturations + back.saturations,
        {"actor": shift},
    )


def smoothed(config, mean, step):
    """``clip(mean + clip(noise * g, -noise_clip, noise_clip), -1, 1)`` of actions ``mean``
    [action, B], as activations: the product in binary32, quantized; the sum in the arithmetic of
    ``config``. The numbers g come from ``gaussian`` with the seed of ``step``, sample by
    sample."""
    twin, (count, batch) = twin_of(config.arithmetic), mean.shape
    g = gaussian(int(step["seed"]), mean.size) * 2.0**-16
    noise = float32.multiply(np.float32(step["noise"]), g.astype(np.float32))
    limit = np.float32(step["noise_clip"])
    # By their magnitudes as integers: a NaN is beyond every number, and a limit has no sign.
    beyond = noise.view(np.uint32) & _MAGNITUDE > limit.view(np.uint32) & _MAGNITUDE
    noise = np.where(beyond, np.copysign(limit, noise), noise)
    noise, _ = twin.quantize(noise.reshape(batch, count).T, "activation")
    total = twin.add(mean, noise)
    if not config.arithmetic.saturates:
        return np.where(np.abs(total) > _ONE, np.copysign(_ONE, total), total)
    target = config.arithmetic.activation
    one = 1 << target.fraction
    return np.clip(total, max(-one, target.low), min(one, target.high))


def _forward(learner, name, weights, x):
    return learner.networks[name].forward(learner.weights_of(name, weights), x)
