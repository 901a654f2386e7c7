"""The results of a batch's loss, as ``hw.learner.network.loss`` gives them."""

from dataclasses import dataclass

import numpy as np

from hw.learner.algorithms.registry import algorithm_of
from sim.model.nn.batch_sum import batch_sum
from sim.model.nn.losses import LOSSES

__all__ = ["LossResult", "loss_of", "result_of"]


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


def loss_of(config):
    """The twin of the pipeline that a LearnerConfig's algorithm names."""
    return LOSSES[algorithm_of(config).loss]


def result_of(delta, td, loss, value, saturated):
    """``LossResult`` of float32 [B] TD errors, losses and values, and of clipped gradients [B]."""
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
