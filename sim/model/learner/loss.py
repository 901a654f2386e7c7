"""The results of a batch's loss, as ``hw.learner.network.loss`` gives them."""

from dataclasses import dataclass

import numpy as np

from sim.compiled import compiled
from sim.model.nn.batch_sum import total
from sim.model.nn.losses import LOSSES

__all__ = ["LossResult", "loss_of", "result_of"]


@dataclass(frozen=True)
class LossResult:
    """The results of the loss of a batch of B samples.

    delta : a tuple with an array for each pass with errors whose outputs the loss takes: errors of
        these outputs, [B, outputs], float32, or int64 raw in fixed point.
    td : TD errors, float32 [B].
    loss, td_sum, value : np.float32, sums over the batch of losses, of absolute TD errors and of
        values, in the order of ``batch_sum``.
    diverged : position in the batch of the first TD error that is infinite or NaN; None if all are
        finite.
    saturations : how many gradients were clipped to their format.
    """

    delta: tuple
    td: np.ndarray
    loss: np.float32
    td_sum: np.float32
    value: np.float32
    diverged: int | None
    saturations: int


def loss_of(config, sweep=0):
    """The function that computes TD errors, gradients and losses in a sweep of this LearnerConfig,
    such as ``td_loss``: the twin of the pipeline that the config's algorithm names."""
    return LOSSES[config.plan.losses[sweep].pipeline]


def result_of(delta, td, loss, value, saturated):
    """``LossResult`` with the sums over a batch of B samples.

    delta : as in ``LossResult``.
    td, loss, value : float32 [B], of each sample.
    saturated : bool [B], whether the sample's gradient was clipped.
    """
    terms = (np.ascontiguousarray(each, np.float32) for each in (td, loss, value))
    first, *sums = _sums(*terms)
    loss, td_sum, value = map(np.float32, sums)
    return LossResult(
        delta=delta,
        td=td,
        loss=loss,
        td_sum=td_sum,
        value=value,
        diverged=first if first < len(td) else None,
        saturations=int(np.count_nonzero(saturated)),
    )


@compiled
def _sums(td, loss, value):
    """The position of the first of ``td`` that is infinite or NaN, or their number; and the three
    sums."""
    first = 0
    while first < td.size and np.isfinite(td[first]):
        first += 1
    return first, total(loss), total(np.abs(td)), total(value)
