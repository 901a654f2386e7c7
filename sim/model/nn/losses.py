"""Bit-exact references for the pipelines of losses in ``hw.nn``: a compiled loop over the samples,
with the operations of ``float32_steps``. A NaN leaves as 0x7fc00000."""

import numpy as np

from hw.nn.td_loss import TdLoss
from hw.nn.twin_td import TwinTd
from sim.compiled import compiled
from sim.model.arith.float32 import add as added
from sim.model.arith.float32_steps import ONE, add, flush, leave, multiply

__all__ = ["LOSSES", "td_loss", "twin_td"]

_HALF = np.float32(0.5)
_MAGNITUDE = np.int32(0x7FFF_FFFF)


def td_loss(q, following, scalars, inverse, clip, power=ONE):
    """``(td, gradient, loss)`` of B samples, float32 [B] each, as ``hw.nn.td_loss`` computes them.

    q, following : float32 [B], Q values and bootstrap values.
    scalars : dict of "weight", "reward" and "discount", float32 [B] each.
    inverse : np.float32, reciprocal of the batch's largest weight.
    clip : np.float32, limit of a TD error's magnitude in the gradient; infinity for no limit.
    power : np.float32, a power of two; the sample's weight in its gradient is so many times as
        large.
    """
    operands = (q, following, *(scalars[name] for name in ("reward", "discount", "weight")))
    operands = (np.ascontiguousarray(each, np.float32) for each in operands)
    return tuple(_td_loss(*operands, np.float32(inverse), np.float32(clip), np.float32(power)))


@compiled
def _td_loss(q, following, reward, discount, weight, inverse, clip, power):
    results = np.empty((3, q.size), np.float32)
    for s in range(q.size):
        y = add(flush(reward[s]), multiply(discount[s], following[s], True), True)
        td = leave(add(flush(q[s]), -y, True))
        share = multiply(weight[s], inverse, True)
        # A NaN is beyond every limit.
        clipped = np.copysign(clip, td) if td != td or abs(td) > abs(clip) else td
        excess = add(td, -multiply(_HALF, clipped, True), True)
        square = multiply(clipped, excess, True)
        gradient = multiply(clipped, multiply(share, power, True), True)
        results[0, s], results[1, s] = td, leave(gradient)
        results[2, s] = leave(multiply(square, share, True))
    return results


def twin_td(q, following, scalars, inverse, clip, shifts):
    """``(td, gradients, loss)`` of B samples, as ``TwinTd`` in ``hw.nn.twin_td`` computes them: the
    TD error of the larger magnitude, [B], a gradient [B] of each critic, and the sum of both
    losses, [B]. ``q`` has the Q values of both critics, [2][B], ``shifts`` an integer for each; the
    other arguments are as for ``td_loss``."""
    errors, gradients, losses = zip(
        *(
            td_loss(each, following, scalars, inverse, clip, np.float32(2.0**-shift))
            for each, shift in zip(q, shifts, strict=True)
        ),
        strict=True,
    )
    sizes = [error.view(np.int32) & _MAGNITUDE for error in errors]
    larger = np.where(sizes[1] > sizes[0], errors[1], errors[0])
    return larger, gradients, added(*losses)


#: Pipeline in hardware -> its twin.
LOSSES = {TdLoss: td_loss, TwinTd: twin_td}
