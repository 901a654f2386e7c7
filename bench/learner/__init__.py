"""The learner: clocks of whole gradient steps, the use of its multipliers, software, area."""

from bench.learner import area as area_rows
from bench.learner import cycles, software

__all__ = ["rows"]


def rows(area=False):
    """All rows; ``area`` adds synthesis, some minutes."""
    measured = cycles.rows()
    return [*measured, *software.rows(measured), *(area_rows.rows() if area else [])]
