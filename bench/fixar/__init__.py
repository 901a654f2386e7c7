"""FIXAR: clocks of iterations and of ACT, software, timesteps with MuJoCo, area of the kernel."""

from bench.fixar import area as area_rows
from bench.fixar import cycles, intra_layer, platform, software

__all__ = ["rows"]


def rows(area=False):
    """The list of all rows of this bench, which takes twenty minutes on one core. If ``area``, also
    what yosys maps, which takes another five minutes."""
    measured = cycles.rows()
    result = [*measured, *software.rows(cycles.largest_ips(measured)), *platform.rows()]
    result += intra_layer.rows()
    return [*result, *(area_rows.rows() if area else [])]
