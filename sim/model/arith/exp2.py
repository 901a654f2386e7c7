"""Bit-exact reference for ``hw.arith.exp2`` (integers only, no floats)."""

import numpy as np

from sim.model.arith.interpolate import interpolate

__all__ = ["exp2"]


def exp2(fraction, config):
    """``2**fraction``, int64 raw values of UQ(1, 24), for raw ``fraction`` of UQ(0, 20), an array
    or an integer. ``config.table`` is the table in which it is interpolated."""
    return interpolate(np.asarray(fraction, dtype=np.int64), config.table)
