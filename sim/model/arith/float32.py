"""Bit-exact reference for ``hw.arith.float32``: NumPy's own float32, between flushes.

All functions take and return float32 arrays of one shape, or of shapes that broadcast. NaNs leave
as 0x7fc00000, subnormals count and leave as zeros of their sign.
"""

import numpy as np

from sim.compiled import elementwise
from sim.model.arith.float32_steps import ONE, leave, product
from sim.model.arith.float32_steps import flush as flush_one

__all__ = ["add", "flush", "multiply", "reciprocal", "rsqrt"]


# Compiled: NumPy alone takes ten passes over the arrays for what is one operation.


@elementwise
def _flush(x):
    return leave(flush_one(x))


@elementwise
def _multiply(a, b):
    return leave(product(flush_one(a), flush_one(b)))


@elementwise
def _add(a, b):
    return leave(flush_one(flush_one(a) + flush_one(b)))


@elementwise
def _reciprocal(x):
    return leave(flush_one(ONE / flush_one(x)))


def flush(x):
    """A copy of ``x`` as the hardware sees it: a subnormal becomes a zero of its sign, every NaN
    becomes 0x7fc00000."""
    with np.errstate(all="ignore"):
        return _flush(np.asarray(x, dtype=np.float32))


def multiply(a, b):
    """``a * b``, rounded to nearest even."""
    with np.errstate(all="ignore"):
        return _multiply(np.asarray(a, dtype=np.float32), np.asarray(b, dtype=np.float32))


def add(a, b):
    """``a + b``, rounded to nearest even."""
    with np.errstate(all="ignore"):
        return _add(np.asarray(a, dtype=np.float32), np.asarray(b, dtype=np.float32))


def reciprocal(x):
    """``1 / x``, rounded to nearest even."""
    with np.errstate(all="ignore"):
        return _reciprocal(np.asarray(x, dtype=np.float32))


def rsqrt(x):
    """``1 / sqrt(x)``, rounded to nearest even; ``-0`` gives minus infinity, ``x < 0`` NaN.

    Computed in float64, the error is at most 2^-52, and no float32 has a ``1 / sqrt`` so near to
    the middle between two float32 numbers (tested with integers, over all of them).
    """
    with np.errstate(all="ignore"):
        return flush((1 / np.sqrt(flush(x).astype(np.float64))).astype(np.float32))
