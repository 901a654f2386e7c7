"""The learner: clocks of whole gradient steps, the use of its multipliers, clocks by formula,
software, area."""

from bench.learner import area as area_rows
from bench.learner import cycles, ecp5, software, step_clocks, td3, td3_software

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench. If ``area``, also those of synthesis, which takes an
    hour."""
    steps, td3_steps = cycles.rows(), td3.rows()
    rows = [*steps, *td3_steps, *step_clocks.rows(), *area_rows.estimates()]
    rows += [*software.rows(steps), *td3_software.rows(td3_steps)]
    return [*rows, *([*area_rows.rows(), *ecp5.rows()] if area else [])]
