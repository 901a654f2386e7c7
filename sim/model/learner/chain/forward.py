"""Bit-exact reference for ``hw.learner.chain.forward.Forward``, addition by addition."""

import numpy as np

from hw.arith.fixed import SQ, RequantizeConfig
from sim.model.arith import float32
from sim.model.arith.fixed import requantize
from sim.model.nn.activation import activate
from sim.model.nn.adder_tree import accumulate, adder_tree, interleaved_sum

__all__ = ["forward"]


def forward(arithmetic, layer, weights, biases, x):
    """``activation(weights @ x + biases)`` in the hardware's order.

    weights [outputs, inputs], biases [outputs], x [..., inputs]: numbers of the arithmetic.
    Returns ``(y, saturated)``, both [..., outputs].
    """
    rest = layer.words * layer.vector - layer.inputs
    weights, x = (np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, rest)]) for v in (weights, x))
    x = x[..., None, :]
    products = float32.multiply(weights, x) if arithmetic.is_float else weights * x
    products = products.reshape(*products.shape[:-1], layer.words, layer.vector)
    # Words and places in a word first, samples and outputs behind.
    dots = adder_tree(arithmetic, np.moveaxis(products, (-1, -2), (0, 1)))
    total = interleaved_sum(arithmetic, accumulate(arithmetic, dots, layer.interleave))
    if arithmetic.is_float:
        y, saturated = float32.add(total, biases), np.zeros(total.shape, bool)
    else:
        fraction = arithmetic.fraction("weight", "activation")
        config = RequantizeConfig(source=SQ(64 - fraction, fraction), target=arithmetic.activation)
        y, saturated = requantize(total + (biases << arithmetic.activation.fraction), config)
    return activate(arithmetic, layer.activation, y), saturated
