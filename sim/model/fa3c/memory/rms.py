"""Bit-exact reference for the RMSProp of ``hw.fa3c.memory``: binary32 operations in the same order,
with subnormal results flushed at every step.

It is a compiled loop over the parameters, with the operations of ``float32_steps``. A NaN leaves as
0x7fc00000.
"""

from typing import NamedTuple

import numpy as np

from hw.errors import UsageError
from hw.fa3c.rows import ROW
from sim.compiled import compiled
from sim.model.arith.float32_steps import flush, leave, product

__all__ = ["Coefficients", "update", "update_layer"]


class Coefficients(NamedTuple):
    """The fields of ``RMS_COEFFICIENTS`` as numbers."""

    rate: float
    decay: float
    gain: float
    epsilon: float


def update(coefficients, gradient, squares, theta):
    """Replace ``squares`` and ``theta`` by the results of ``hw.fa3c.memory.rms_unit``. Returns bit
    0: a number of theta is then infinite or a NaN; bit 1: a number of squares is.

    coefficients : Coefficients
    gradient, squares, theta : float32 arrays of one size, the last two in C order
    """
    for name, array in (("squares", squares), ("theta", theta)):
        if not array.flags.c_contiguous:
            raise UsageError(f"{name} must be in C order, not of strides {array.strides!r}")
    values = map(np.float32, coefficients)
    _update(*values, np.ravel(gradient), squares.reshape(-1), theta.reshape(-1))
    return int(not np.isfinite(theta).all()) | int(not np.isfinite(squares).all()) << 1


def update_layer(config, layer, coefficients, gradients, squares, theta):
    """An UPDATE of one layer; rows that are padding at the end of a group do not change. Returns
    the result of ``update`` for all other rows.

    config : Fa3cConfig
    layer : int
    gradients : float32 [gradient_rows, 16], in the order of the gradient queue
    squares, theta : float32 [theta_rows, 16], which are changed
    """
    base, layer = config.parameter_bases[layer], config.layers[layer]
    rows = layer.depth + 1
    shape = (layer.gradient_rows, ROW)
    if np.shape(gradients) != shape:
        raise UsageError(f"gradients must be of shape {shape}, not {np.shape(gradients)!r}")
    overflow = 0
    for group in range(layer.groups):
        here = slice(base + group * layer.group_rows, base + group * layer.group_rows + rows)
        mine = gradients[group * rows : (group + 1) * rows]
        overflow |= update(coefficients, mine, squares[here], theta[here])
    return overflow


@compiled
def _update(rate, decay, gain, epsilon, gradient, squares, theta):
    rate, decay, gain, epsilon = flush(rate), flush(decay), flush(gain), flush(epsilon)
    for k in range(gradient.size):
        d = flush(gradient[k])
        new = flush(product(decay, flush(squares[k])) + product(gain, product(d, d)))
        # In float64 the reciprocal root rounds as if it were exact: see arith.float32.
        root = flush(np.float32(1.0 / np.sqrt(np.float64(flush(new + epsilon)))))
        squares[k] = leave(new)
        theta[k] = leave(flush(flush(theta[k]) - product(rate, product(d, root))))
