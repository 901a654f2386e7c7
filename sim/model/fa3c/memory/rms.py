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
    """The coefficients of FA3C's RMSProp, float32 numbers::

        squares' = decay * squares + gain * gradient**2
        theta' = theta - rate * (gradient / sqrt(squares' + epsilon))

    Subnormal numbers count as zeros.
    """

    rate: float
    decay: float
    gain: float
    epsilon: float


def update(coefficients, gradient, squares, theta):
    """One step of RMSProp: replaces the numbers in ``squares`` and ``theta``, in place, by the
    results of ``hw.fa3c.memory.rms_unit``. Returns an integer: bit 0 is 1 if a number of ``theta``
    is then infinite or NaN, bit 1 if one of ``squares`` is.

    coefficients : Coefficients
    gradient, squares, theta : float32 arrays of one size

    Raises UsageError, a ValueError, if ``squares`` or ``theta`` is not in C order.
    """
    return _updated(coefficients, gradient, squares, theta, 1)


def update_layer(config, layer, coefficients, gradients, squares, theta):
    """One step of RMSProp for layer number ``layer``, in place. Rows that are padding at the end of
    a group do not change. Returns an integer: bit 0 is 1 if a number of the layer's theta is then
    infinite or NaN, bit 1 if one of its squares is.

    config : Fa3cConfig
    coefficients : Coefficients
    layer : int
    gradients : float32 [gradient_rows, 16], group after group without the padding
    squares, theta : float32 [theta_rows, 16], of all layers; only rows of this layer change

    Raises UsageError, a ValueError, if ``gradients`` has another shape.
    """
    base, layer = config.parameter_bases[layer], config.layers[layer]
    shape = (layer.gradient_rows, ROW)
    if np.shape(gradients) != shape:
        raise UsageError(f"gradients must be of shape {shape}, not {np.shape(gradients)!r}")
    here = slice(base, base + layer.rows)
    return _updated(coefficients, gradients, squares[here], theta[here], layer.groups)


def _updated(coefficients, gradients, squares, theta, groups):
    """``update`` of groups of equal size, which begin with a number for each gradient."""
    for name, array in (("squares", squares), ("theta", theta)):
        if not array.flags.c_contiguous:
            raise UsageError(f"{name} must be in C order, not of strides {array.strides!r}")
    arrays = (array.reshape(groups, -1) for array in (gradients, squares, theta))
    return _update(*map(np.float32, coefficients), *arrays)


@compiled
def _update(rate, decay, gain, epsilon, gradients, all_squares, all_theta):
    rate, decay, gain, epsilon = flush(rate), flush(decay), flush(gain), flush(epsilon)
    overflow = 0
    for group in range(len(gradients)):
        gradient, squares, theta = gradients[group], all_squares[group], all_theta[group]
        for k in range(gradient.size):
            d = flush(gradient[k])
            new = flush(product(decay, flush(squares[k])) + product(gain, product(d, d)))
            # In float64 the reciprocal root rounds as if it were exact: see arith.float32.
            root = flush(np.float32(1.0 / np.sqrt(np.float64(flush(new + epsilon)))))
            squares[k] = leave(new)
            theta[k] = leave(flush(flush(theta[k]) - product(rate, product(d, root))))
        for k in range(gradient.size):
            overflow |= int(not np.isfinite(theta[k])) | int(not np.isfinite(squares[k])) << 1
    return overflow
