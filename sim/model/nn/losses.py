"""Bit-exact references for the pipelines of losses in ``hw.nn``: binary32, one operation of NumPy
after the other.

If nothing is infinite, NaN or subnormal, which is nearly always, NumPy's operations equal the
card's, and a loss takes a fifth of the time.
"""

import numpy as np

from hw.nn.td_loss import TdLoss
from hw.nn.twin_td import TwinTd
from sim.model.arith.float32 import add, multiply

__all__ = ["LOSSES", "td_loss", "twin_td"]

_HALF = np.float32(0.5)
_MAGNITUDE = np.int32(0x7FFF_FFFF)
_TINY = np.finfo(np.float32).tiny


def td_loss(q, following, scalars, inverse, clip):
    """``(td, gradient, loss)`` of B samples, float32 [B] each, as ``hw.nn.td_loss`` computes them.

    q, following : float32 [B], Q values and bootstrap values.
    scalars : dict of "weight", "reward" and "discount", float32 [B] each.
    inverse : np.float32, reciprocal of the batch's largest weight.
    clip : np.float32, limit of a TD error's magnitude in the gradient; infinity for no limit.
    """
    operands = (q, following, *(scalars[name] for name in ("reward", "discount", "weight")))
    with np.errstate(all="ignore"):
        rows = _formulas(*operands, inverse, clip, np.multiply, np.add)
    if not _is_plain(np.stack([*operands, *rows])):
        rows = _formulas(*operands, inverse, clip, multiply, add)
    return rows[:3]


def twin_td(q, following, scalars, inverse, clip):
    """``(td, gradients, loss)`` of B samples, as ``TwinTd`` in ``hw.nn.twin_td`` computes them: the
    TD error of the larger magnitude, [B], a gradient [B] of each critic, and the sum of both
    losses, [B]. ``q`` has the Q values of both critics, [2][B]; the other arguments are as for
    ``td_loss``."""
    errors, gradients, losses = zip(
        *(td_loss(each, following, scalars, inverse, clip) for each in q), strict=True
    )
    sizes = [error.view(np.int32) & _MAGNITUDE for error in errors]
    larger = np.where(sizes[1] > sizes[0], errors[1], errors[0])
    return larger, gradients, add(*losses)


def _is_plain(values):
    """Whether all numbers are finite and none is subnormal, so that NumPy's arithmetic equals the
    card's."""
    magnitude = np.abs(values)
    return bool((((magnitude >= _TINY) & (magnitude < np.inf)) | (magnitude == 0)).all())


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


#: Pipeline in hardware -> its twin.
LOSSES = {TdLoss: td_loss, TwinTd: twin_td}
