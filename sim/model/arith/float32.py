"""Bit-exact reference for ``hw.arith.float32``: NumPy's own float32, between flushes.

All functions take and return float32 arrays of one shape, or of shapes that broadcast. NaNs leave
as 0x7fc00000, subnormals count and leave as zeros of their sign.
"""

import numpy as np
from numba import njit, vectorize

__all__ = ["add", "flush", "multiply", "reciprocal", "rsqrt"]

_TINY = np.finfo(np.float32).tiny
_ZERO, _ONE = np.float32(0), np.float32(1)
_NAN = np.array(0x7FC00000, dtype=np.uint32).view(np.float32)[()]


# Compiled: NumPy alone takes ten passes over the arrays for what is one operation.


@njit(cache=True)
def _flushed(x):
    x = np.copysign(_ZERO, x) if abs(x) < _TINY else x
    return x if x == x else _NAN


@vectorize(["float32(float32)"], cache=True)
def _flush(x):
    return _flushed(x)


@vectorize(["float32(float32, float32)"], cache=True)
def _multiply(a, b):
    return _flushed(_flushed(a) * _flushed(b))


@vectorize(["float32(float32, float32)"], cache=True)
def _add(a, b):
    return _flushed(_flushed(a) + _flushed(b))


def flush(x):
    """``x`` as the hardware sees it: subnormals as zeros of their sign, NaN as 0x7fc00000."""
    with np.errstate(all="ignore"):
        return _flush(np.asarray(x, dtype=np.float32))


def multiply(a, b):
    """``a * b``."""
    with np.errstate(all="ignore"):
        return _multiply(np.asarray(a, dtype=np.float32), np.asarray(b, dtype=np.float32))


def add(a, b):
    """``a + b``."""
    with np.errstate(all="ignore"):
        return _add(np.asarray(a, dtype=np.float32), np.asarray(b, dtype=np.float32))


def reciprocal(x):
    """``1 / x``, rounded to nearest even."""
    with np.errstate(all="ignore"):
        return flush(_ONE / flush(x))


def rsqrt(x):
    """``1 / sqrt(x)``, rounded to nearest even; ``-0`` gives minus infinity, ``x < 0`` NaN.

    In float64 this is at most 2^-52 off, and no float32 has its ``1 / sqrt`` so near to the middle
    between two others (tested with integers, over all of them).
    """
    with np.errstate(all="ignore"):
        return flush((1 / np.sqrt(flush(x).astype(np.float64))).astype(np.float32))
