"""Bit-exact reference for ``hw.arith.power`` (integers only, no floats)."""

import numpy as np

from hw.arith.power import FRACTION_FORMAT, SCALE_FORMAT
from sim.model.arith.exp2 import exp2

__all__ = ["power"]


def power(log, scale, config):
    """Return ``(mantissa, exponent)``, int64, for raw logarithms SQ(7, 20), scale UQ(1, 15)."""
    product = np.asarray(log, dtype=np.int64) * scale
    rounded = (product + (1 << (SCALE_FORMAT.fraction - 1))) >> SCALE_FORMAT.fraction
    fraction = rounded & ((1 << FRACTION_FORMAT.width) - 1)
    return exp2(fraction, config.exp2), rounded >> FRACTION_FORMAT.width
