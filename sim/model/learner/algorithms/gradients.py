"""What an algorithm's twin makes of a batch."""

from typing import NamedTuple

from sim.model.learner.loss import LossResult

__all__ = ["Gradients"]


class Gradients(NamedTuple):
    """
    loss : LossResult.
    networks : network name -> gradients of its layers, as ``Network.backward`` gives them.
    activations, saturations : numbers clipped: activations, and gradients behind the loss.
    """

    loss: LossResult
    networks: dict
    activations: int
    saturations: int
