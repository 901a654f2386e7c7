"""What an algorithm's twin makes of a batch."""

from typing import NamedTuple

from sim.model.learner.loss import LossResult

__all__ = ["Gradients"]


class Gradients(NamedTuple):
    """What an algorithm's twin computes from a batch.

    loss : LossResult.
    networks : ``{name: gradients}``, the gradients of each network's layers as
        ``Network.backward`` gives them.
    activations : how many activations were clipped in all passes.
    saturations : how many gradients were clipped in backward passes; those of the loss itself are
        counted in ``loss``.
    """

    loss: LossResult
    networks: dict
    activations: int
    saturations: int
