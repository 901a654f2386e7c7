"""Bit-exact reference for ``hw.arith.exp2`` (integers only, no floats)."""

import numpy as np

from sim.model.arith.interpolate import interpolate

__all__ = ["exp2"]


def exp2(fraction, config):
    """Return the int64 raw mantissas of UQ(1, 24) for raw fractions of UQ(0, 20)."""
    return interpolate(np.asarray(fraction, dtype=np.int64), config.table)
