"""Bit-exact reference for ``hw.fa3c.memory``'s RMSProp: binary32 in its order, flushed at every
step.

A compiled loop over the parameters. Operations are IEEE's, one by one: no contraction, no
reordering. Subnormals count and leave as zeros of their sign, NaNs leave as 0x7fc00000.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from hw.fa3c.rows import ROW

__all__ = ["Coefficients", "update", "update_layer"]

_TINY = np.finfo(np.float32).tiny
_ZERO = np.float32(0)
_NAN = np.array(0x7FC00000, dtype=np.uint32).view(np.float32)[()]

# numpy's error model: a division by zero is an infinity, not an exception, and costs no branch.
_compiled = njit(cache=True, error_model="numpy")


class Coefficients(NamedTuple):
    """``RMS_COEFFICIENTS`` as numbers."""

    rate: float
    decay: float
    gain: float
    epsilon: float


def update(coefficients, gradient, g, theta):
    """Replace ``g`` and ``theta`` by what ``hw.fa3c.memory.rms_unit`` makes of them; returns 1 if a
    number of theta is then infinite or a NaN, plus 2 if one of g is.

    coefficients : Coefficients
    gradient, g, theta : float32 arrays of one size, the latter two in C order
    """
    for name, array in (("g", g), ("theta", theta)):
        if not array.flags.c_contiguous:
            raise ValueError(f"{name} must be in C order, not of strides {array.strides!r}")
    values = map(np.float32, coefficients)
    _update(*values, np.ravel(gradient), g.reshape(-1), theta.reshape(-1))
    return int(not np.isfinite(theta).all()) | int(not np.isfinite(g).all()) << 1


def update_layer(config, layer, coefficients, gradients, g, theta):
    """An UPDATE: ``gradients`` are the rows of a layer as they come; the rows that fill up a group
    are not touched. Returns what ``update`` says of any of the others.

    config : Fa3cConfig
    layer : int
    gradients : float32 [gradient_rows, 16]
    g, theta : float32 [theta_rows, 16], which are changed
    """
    base, layer = config.parameter_bases[layer], config.layers[layer]
    rows = layer.depth + 1
    shape = (layer.gradient_rows, ROW)
    if np.shape(gradients) != shape:
        raise ValueError(f"gradients must be of shape {shape}, not {np.shape(gradients)!r}")
    overflow = 0
    for group in range(layer.groups):
        here = slice(base + group * layer.group_rows, base + group * layer.group_rows + rows)
        mine = gradients[group * rows : (group + 1) * rows]
        overflow |= update(coefficients, mine, g[here], theta[here])
    return overflow


@_compiled
def _flush(x):
    return np.copysign(_ZERO, x) if abs(x) < _TINY else x


@_compiled
def _leave(x):
    return _NAN if x != x else x


@_compiled
def _multiply(a, b):
    return _flush(a * b)


@_compiled
def _add(a, b):
    return _flush(a + b)


@_compiled
def _update(rate, decay, gain, epsilon, gradient, g, theta):
    rate, decay, gain, epsilon = _flush(rate), _flush(decay), _flush(gain), _flush(epsilon)
    for k in range(gradient.size):
        d = _flush(gradient[k])
        moment = _add(_multiply(decay, _flush(g[k])), _multiply(gain, _multiply(d, d)))
        # In float64 the reciprocal root rounds as if it were exact: see arith.float32.
        root = _flush(np.float32(1.0 / np.sqrt(np.float64(_add(moment, epsilon)))))
        step = _multiply(rate, _multiply(d, root))
        g[k] = _leave(moment)
        theta[k] = _leave(_add(_flush(theta[k]), -step))
