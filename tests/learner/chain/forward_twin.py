"""Bit-exact reference for ``hw.learner.chain.forward.Forward``, addition by addition."""

import numpy as np
from arith.adder_tree_twin import accumulate, adder_tree, interleaved_sum

from sim.model.arith.arithmetic import twin_of
from sim.model.nn.activation import activate

__all__ = ["forward"]


def forward(arithmetic, layer, weights, biases, x):
    """``activation(weights @ x + biases)`` in the hardware's order.

    weights [outputs, inputs], biases [outputs], x [..., inputs]: numbers of the arithmetic.
    Returns ``(y, saturated)``, both [..., outputs].
    """
    rest = layer.words * layer.vector - layer.inputs
    weights, x = (np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, rest)]) for v in (weights, x))
    x = x[..., None, :]
    twin = twin_of(arithmetic)
    products = twin.multiply(weights, x)
    products = products.reshape(*products.shape[:-1], layer.words, layer.vector)
    # Words and places in a word first, samples and outputs behind.
    dots = adder_tree(arithmetic, np.moveaxis(products, (-1, -2), (0, 1)))
    total = interleaved_sum(arithmetic, accumulate(arithmetic, dots, layer.interleave))
    biased = twin.add(total, twin.times_one(biases))
    y, saturated = twin.requantize(biased, "weight", "activation", kind="activation")
    return activate(arithmetic, layer.activation, y), saturated
