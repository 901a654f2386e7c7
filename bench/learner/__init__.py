"""The learner: clocks of whole gradient steps, the use of its multipliers, clocks by formula,
software, area."""

from bench.learner import area as area_rows
from bench.learner import cycles, ecp5, software, step_clocks, td3

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench. If ``area``, also those of synthesis, which takes an
    hour."""
    steps = cycles.rows()
    rows = [*steps, *td3.rows(), *step_clocks.rows(), *area_rows.estimates()]
    rows += software.rows(steps)
    return [*rows, *([*area_rows.rows(), *ecp5.rows()] if area else [])]
