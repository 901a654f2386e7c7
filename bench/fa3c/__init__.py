"""Benchmarks of FA3C's network: clocks of passes and rounds, the simulated card, A3C with its host,
and the area of the kernel."""

from bench.fa3c import alternatives, banks, card, own_theta, passes, platform, rounds, sharing
from bench.fa3c import area as area_rows

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench, which takes half an hour on one core. If ``area``, also
    what yosys maps, which takes another half an hour."""
    parts = (passes, rounds, own_theta, alternatives, sharing, banks, card, platform)
    measured = [each for part in parts for each in part.rows()]
    return [*measured, *(area_rows.rows() if area else [])]
