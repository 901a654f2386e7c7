"""The gradients that a sweep of an algorithm's twin computes from a batch."""

from typing import NamedTuple

from sim.model.learner.loss import LossResult

__all__ = ["Gradients"]


class Gradients(NamedTuple):
    """The results of a sweep of an algorithm's twin over a batch.

    loss : LossResult. Of sweeps after the first, only its ``value`` and ``saturations`` count.
    networks : ``{name: gradients}``, the gradients of the layers of each network that this sweep
        trains, as ``Network.backward`` gives them.
    activations : how many activations were clipped in all passes.
    saturations : how many gradients were clipped in backward passes; those of the loss itself are
        counted in ``loss``.
    shifts : ``{name: places}`` of networks whose errors were multiplied by ``2**-places``.
    """

    loss: LossResult
    networks: dict
    activations: int
    saturations: int
    shifts: dict = {}
