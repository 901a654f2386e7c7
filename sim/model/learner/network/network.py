"""Bit-exact reference for a network's tensor units: ``hw.learner.block.forward`` and ``backward``.

    forward   y = act(requantize(W x + b))
    backward  dx = act'(x) requantize(W^T delta),  G = delta x^T,  Gb = sum of delta

with every sum in the order of the hardware (``sim.model.nn.product``). Arrays are [features,
batch], float32, or int64 raw values where the arithmetic is fixed point.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from sim.model.arith.arithmetic import twin_of
from sim.model.nn.activation import ACTIVATIONS
from sim.model.nn.product import Order, add_bias, product_fixed, product_float

__all__ = ["Backward", "Network", "merge"]


class Backward(NamedTuple):
    """The results of a backward pass.

    gradients : a list with ``(weights [outputs, inputs], biases [outputs])`` for each layer, sums
        over the batch, raw in fixed point; None for each layer if they were not wanted.
    dx : gradients of the first layer's inputs, [inputs, batch]; None if they were not wanted.
    saturations : how many gradients of inputs were clipped.
    """

    gradients: list
    dx: np.ndarray
    saturations: int


class Network:
    """The passes of one network. It has no parameters of its own: each pass is given them as a list
    of ``(weights [outputs, inputs], biases [outputs])``, one for each layer.

    config : LearnerConfig
    layers : tuple of BlockShape, one of the values of ``config.networks``
    """

    def __init__(self, config, layers):
        self.arithmetic, self.lanes, self.layers = config.arithmetic, config.lanes, layers
        kind = _LAYERS[self.arithmetic.kind]
        self._twin = twin_of(config.arithmetic)
        self._units = [kind(self.arithmetic, layer, config.lanes) for layer in layers]

    def forward(self, parameters, x):
        """Forward pass of the inputs ``x`` [inputs, batch]; returns ``(numbers, saturations)``.
        ``numbers`` is a list: the inputs of every layer, then the outputs of the last layer.
        ``saturations`` is how many activations were clipped."""
        numbers, saturations = [x], 0
        for layer, unit, (weights, biases) in zip(
            self.layers, self._units, parameters, strict=True
        ):
            y, saturated = unit.forward(weights, biases, numbers[-1])
            numbers.append(ACTIVATIONS[layer.activation].apply(self._twin, y))
            saturations += saturated
        return numbers, saturations

    def backward(self, parameters, numbers, delta, *, trained=True, input_gradient=False):
        """Backward pass; returns ``Backward``.

        numbers : the list that ``forward`` returned.
        delta : errors of the last layer's outputs before its activation, [outputs, batch].
        trained : weight gradients are wanted.
        input_gradient : dx is wanted. It is not multiplied by the derivative of a function that may
            have made the inputs.
        """
        gradients, saturations = [None] * len(self.layers), 0
        for position in reversed(range(len(self.layers))):
            unit, x = self._units[position], numbers[position]
            if trained:
                gradients[position] = unit.gradients(delta, x)
            if position == 0 and not input_gradient:
                return Backward(gradients, None, saturations)
            dx, saturated = unit.input_gradient(parameters[position][0], delta)
            saturations += saturated
            before = self.layers[position - 1].activation if position else "linear"
            delta = ACTIVATIONS[before].derive(self._twin, dx, x)
        return Backward(gradients, delta, saturations)


class _Float:
    """A binary32 layer."""

    def __init__(self, arithmetic, layer, lanes):
        self.lanes = lanes
        self._inputs = Order(layer.input_words, layer.input_word, layer.interleave, layer.places)
        # Each word of outputs is a chain.
        outputs = np.arange(layer.outputs)
        self._outputs = Order(layer.output_words, layer.output_word, layer.output_words, outputs)

    def forward(self, weights, biases, x):
        y = product_float(weights, x, self._inputs)
        add_bias(y, biases)
        return y, 0

    def input_gradient(self, weights, delta):
        return product_float(weights, delta, self._outputs, scale_turned=True), 0

    def gradients(self, delta, x):
        order, ones = _super_samples(x.shape[1], self.lanes)
        # A bias is the weight of an input that is always one. The longer side is the inner loop.
        if len(x) <= len(delta):
            total = product_float(np.concatenate([x, ones]), delta, order, rows_turned=True).T
            return total[:, :-1], total[:, -1]
        weights = product_float(delta, x, order, rows_turned=True)
        return weights, product_float(ones, delta, order, rows_turned=True)[0]


@cache
def _super_samples(batch, lanes):
    """The ``Order`` of a sum over a batch, and ``batch`` ones, [1, batch]."""
    return Order(batch // lanes, lanes), np.ones((1, batch), np.float32)


class _Fixed:
    """A fixed-point layer: exact sums, each requantized once."""

    def __init__(self, arithmetic, layer, lanes):
        self.twin = twin_of(arithmetic)

    def forward(self, weights, biases, x):
        total = product_fixed(weights, x) + self.twin.times_one(biases)[:, None]
        return self._rounded(total, "activation")

    def input_gradient(self, weights, delta):
        return self._rounded(product_fixed(weights.T, delta), "gradient")

    def gradients(self, delta, x):
        return product_fixed(delta, x.T), delta.sum(axis=1)

    def _rounded(self, total, kind):
        raw, saturated = self.twin.requantize(total, "weight", kind, kind=kind)
        return raw, int(np.count_nonzero(saturated))


_LAYERS = {"float32": _Float, "fixed": _Fixed}


def merge(arithmetic, errors):
    """``(total, clipped)``, as ``hw.learner.network.merge`` adds them: the sum of ``errors``,
    arrays of equal shapes from the networks that take the same outputs, in their order; and how
    many numbers were clipped. In binary32 the first two are added first; in fixed point the sum is
    exact and clipped once."""
    twin = twin_of(arithmetic)
    total, *rest = errors
    for each in rest:
        total = twin.add(total, each)
    total, clipped = twin.requantize(total, "gradient", kind="gradient")
    return total, int(np.count_nonzero(clipped))
