"""Bit-exact reference for ``hw.learner.network.loss``: binary32, one operation of NumPy after the
other.

If nothing is infinite, NaN or subnormal, which is nearly always, NumPy's operations equal the
card's, and a loss takes a fifth of the time.
"""

from dataclasses import dataclass

import numpy as np

from sim.model.arith.arithmetic import twin_of
from sim.model.arith.float32 import add, multiply
from sim.model.nn.batch_sum import batch_sum

__all__ = ["LossResult", "dqn_loss", "ddpg_loss"]

_HALF, _MINUS_ONE = np.float32(0.5), np.float32(-1)
_MAGNITUDE = np.int32(0x7FFF_FFFF)
_TINY = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class LossResult:
    """The results of a batch of B samples.

    delta : backward groups of [B, outputs] gradients (float32, or int64 raw).
    td : float32 [B].
    loss, td_sum, value : float32, sums over the batch in the order of ``batch_sum``.
    diverged : position of the first TD error that is infinite or not a number, or None.
    saturations : gradients that were clipped.
    """

    delta: tuple
    td: np.ndarray
    loss: np.float32
    td_sum: np.float32
    value: np.float32
    diverged: int | None
    saturations: int


def dqn_loss(config, outputs, scalars, inverse, clip):
    """Loss of Q-learning.

    outputs : [B, actions] activations each of online(s), target(s') and, with ``config.double``,
        online(s').
    scalars : "weight", "reward", "discount" float32 [B], "action" integers [B].
    inverse : float32, reciprocal of the batch's largest weight.
    clip : float32, the largest gradient of a TD error; infinity for no limit.
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
    td, gradient, loss = _huber(q, following, scalars, inverse, clip)
    gradient, saturated = arithmetic.quantize(gradient, "gradient")
    delta = np.zeros(online.shape, gradient.dtype)
    delta[row, action] = np.where(is_output, gradient, 0)
    return _result((delta,), td, loss, q, saturated)


def ddpg_loss(config, outputs, scalars, inverse, clip):
    """Loss of the critic, and of the actor through the critic.

    outputs : [B, 1] activations each of critic(s, a), critic(s, actor(s)) and target(s', ..).
    scalars, inverse, clip : as ``dqn_loss``, without "action".
    """
    arithmetic = twin_of(config.arithmetic)
    q, value, following = (arithmetic.to_float(part[:, 0], "activation") for part in outputs)
    td, gradient, loss = _huber(q, following, scalars, inverse, clip)
    gradient, saturated = arithmetic.quantize(gradient, "gradient")
    policy, _ = arithmetic.quantize(np.full(q.shape, _MINUS_ONE), "gradient")
    return _result((gradient[:, None], policy[:, None]), td, loss, value, saturated)


def _is_plain(values):
    """Whether all numbers are finite and none is subnormal, so that NumPy's arithmetic equals the
    card's."""
    magnitude = np.abs(values)
    return bool((((magnitude >= _TINY) & (magnitude < np.inf)) | (magnitude == 0)).all())


def _huber(q, following, scalars, inverse, clip):
    """``(td, gradient, loss)`` of TD learning with weights."""
    operands = (q, following, *(scalars[name] for name in ("reward", "discount", "weight")))
    with np.errstate(all="ignore"):
        rows = _formulas(*operands, inverse, clip, np.multiply, np.add)
    if not _is_plain(np.stack([*operands, *rows])):
        rows = _formulas(*operands, inverse, clip, multiply, add)
    return rows[:3]


def _formulas(q, following, reward, discount, weight, inverse, clip, multiply, add):
    """The results of all operations; the first are TD error, gradient and loss."""
    future = multiply(discount, following)
    y = add(reward, future)
    td = add(q, -y)
    share = multiply(weight, inverse)
    beyond = (td.view(np.int32) & _MAGNITUDE) > (clip.view(np.int32) & _MAGNITUDE)
    clipped = np.where(beyond, np.copysign(clip, td), td)
    half = multiply(_HALF, clipped)
    excess = add(td, -half)
    square = multiply(clipped, excess)
    loss = multiply(square, share)
    return td, multiply(clipped, share), loss, future, y, share, half, excess, square


def _result(delta, td, loss, value, saturated):
    diverged = np.flatnonzero(~np.isfinite(td))
    return LossResult(
        delta=delta,
        td=td,
        loss=batch_sum(loss),
        td_sum=batch_sum(np.abs(td)),
        value=batch_sum(value),
        diverged=int(diverged[0]) if len(diverged) else None,
        saturations=int(np.count_nonzero(saturated)),
    )
