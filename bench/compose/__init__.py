"""The composer: whether profiles predict runs, replay memories and plans beside libraries, and
clocks of PEARL's networks."""

from bench.compose import eps, memory, networks, prediction

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench; ``area`` adds nothing."""
    return [*memory.rows(), *eps.rows(), *networks.rows(), *prediction.rows()]
