"""Bit-exact reference for ``hw.learner.block``: column, row and gradient element, for all words and
samples at once.

Arrays are float32, or int64 raw values where the arithmetic is fixed point. Words that are not full
are filled up with zeros, as the units' inputs are.
"""

import numpy as np

from sim.model.arith.arithmetic import twin_of
from sim.model.nn.activation import activate, derivative

__all__ = ["column", "gradient_element", "row"]


def column(arithmetic, shape, activation, weights, bias, x):
    """``(y, clipped)``, both [output_words, samples], of ``Column``: its outputs, and whether their
    sums were clipped.

    weights : [output_words, input_words, input_word]; bias : [output_words]
    x : [input_words, input_word, samples]
    """
    twin = twin_of(arithmetic)
    # [input_word, input_words, output_words, samples]
    dots = twin.dot(
        np.moveaxis(weights, (2, 1, 0), (0, 1, 2))[..., None], np.moveaxis(x, 1, 0)[:, :, None]
    )
    partial = twin.zeros((shape.interleave, *dots.shape[1:]))
    for word, dot in enumerate(dots):
        apart = word % shape.interleave
        partial[apart] = twin.add(dot, partial[apart])
    total = twin.add(_window(twin, partial), twin.times_one(bias)[:, None])
    value, clipped = twin.requantize(total, "weight", "activation", kind="activation")
    return activate(arithmetic, activation, value), clipped


def row(arithmetic, activation, weights, delta, x):
    """``(dx, clipped)``, both [input_words, samples], of ``Row``: its errors, and whether their
    sums were clipped.

    weights : [input_words, output_words, output_word]; delta : [output_words, output_word, samples]
    x : [input_words, samples]
    """
    twin = twin_of(arithmetic)
    # [output_word, output_words, input_words, samples]
    dots = twin.dot(
        np.moveaxis(weights, (2, 1, 0), (0, 1, 2))[..., None], np.moveaxis(delta, 1, 0)[:, :, None]
    )
    value, clipped = twin.requantize(_window(twin, dots), "weight", "gradient", kind="gradient")
    return derivative(arithmetic, activation, value, x), clipped


def gradient_element(arithmetic, delta, x):
    """What ``GradientElement`` makes of ``delta`` and ``x``, [super-samples, lanes]: the gradient
    after the last of them."""
    twin, total = twin_of(arithmetic), None
    for dot in twin.dot(delta.T, x.T):
        total = twin.add(dot, twin.zeros(()) if total is None else total)
    return total


def _window(twin, values):
    """Sum along axis 0 in the order of ``interleaved_sum``: a tree, with zeros in front up to a
    power of two."""
    missing = (1 << (len(values) - 1).bit_length()) - len(values)
    values = np.concatenate([twin.zeros((missing, *values.shape[1:])), values])
    return twin.tree(values)
