"""The explorer: how fast it searches, what it chooses, and how far its estimates are from yosys."""

from bench.explore import area as area_rows
from bench.explore import search

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench. If ``area``, also those of synthesis, which take an
    hour."""
    return [*search.rows(), *(area_rows.rows() if area else [])]
