"""Bit-exact reference for ``hw.arith.log2`` (integers only)."""

import numpy as np

from hw.arith.log2 import LOG2_FORMAT
from sim.model.arith.interpolate import interpolate

__all__ = ["log2"]

_ONE = np.uint64(1)
_FRACTION_MAX = (1 << LOG2_FORMAT.fraction) - 1


def log2(x, config):
    """Return ``(log2, zero)``, int64 raw values of UQ(6, 20) and bool, for uint64 ``x``."""
    x = np.asarray(x, dtype=np.uint64)
    zero = x == 0
    x = np.maximum(x, _ONE)
    # Without the bit below the leading one, the conversion to float cannot round up an octave.
    leading = (x & ~(x >> _ONE)).astype(np.float64)
    exponent = (leading.view(np.int64) >> 52) - 1023
    # Aligned to the top of the word; the mask takes the leading one away.
    aligned = (x << (63 - exponent).view(np.uint64)).view(np.int64)
    mantissa = (aligned >> (63 - config.mantissa_width)) & ((1 << config.mantissa_width) - 1)
    fraction = np.minimum(interpolate(mantissa, config.table), _FRACTION_MAX)
    return (exponent << LOG2_FORMAT.fraction) + fraction, zero
