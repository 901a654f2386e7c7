"""The composer: whether profiles predict runs, and replay memories and plans beside libraries."""

from bench.compose import eps, memory, prediction

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench; ``area`` adds nothing."""
    return [*memory.rows(), *eps.rows(), *prediction.rows()]
