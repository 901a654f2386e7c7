"""The learner: clocks of whole gradient steps, the use of its multipliers, clocks by formula,
software, area."""

from bench.learner import area as area_rows
from bench.learner import cycles, software, step_clocks

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench. If ``area``, also those of synthesis, which take some
    minutes."""
    steps = cycles.rows()
    rows = [*steps, *step_clocks.rows(), *software.rows(steps)]
    return [*rows, *(area_rows.rows() if area else [])]
