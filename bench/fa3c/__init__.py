"""FA3C's network: clocks of its passes and rounds, the simulated card, area of the kernel."""

from bench.fa3c import card, passes, rounds

__all__ = ["rows"]


def rows(area=False):
    """All rows, half an hour of one core."""
    return [*passes.rows(), *rounds.rows(), *card.rows()]
