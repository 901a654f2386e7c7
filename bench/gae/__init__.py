"""Advantage estimation: clocks of the array, the time of software, area and speed of the rows."""

from bench.gae import area as area_rows
from bench.gae import estimator, software

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench. If ``area``, also those of synthesis, place and route,
    which take some minutes."""
    measured = estimator.rows()
    (cycles,) = (
        row["value"]
        for row in measured
        if row["metric"] == "gae_cycles" and row["case"].endswith("steps, k=2")
    )
    measured += estimator.kernel_rows()
    return [*measured, *software.rows(cycles), *(area_rows.rows() if area else [])]
