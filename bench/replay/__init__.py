"""The replay manager and kernel: clocks of the RTL, the simulator's speed, peers, area."""

from bench.replay import area as area_rows
from bench.replay import kernel, manager, peers

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench. If ``area``, also those of synthesis, which take some
    minutes."""
    cycles = manager.rows()
    return [*cycles, *kernel.rows(), *peers.rows(cycles), *(area_rows.rows() if area else [])]
