"""Bit-exact reference for a network's tensor units: ``hw.learner.block.forward`` and ``backward``.

    forward   y = act(requantize(W x + b))
    backward  dx = act'(x) requantize(W^T delta),  G = delta x^T,  Gb = sum of delta

with every sum in the order of the hardware (``sim.model.nn.product``). Arrays are [features,
batch], float32, or int64 raw values where the arithmetic is fixed point.
"""

from typing import NamedTuple

import numpy as np

from sim.model.arith.arithmetic import twin_of
from sim.model.nn.activation import ACTIVATIONS
from sim.model.nn.product import add_bias, product_fixed, product_float

__all__ = ["Backward", "Network", "merge"]

_ONE = np.float32(1)


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


class _Words:
    """Where numbers lie among those of their words, for ``product_float``: words of ``together``
    numbers, which take ``group`` places each, a power of two.

    places : of each number among those of all words, in ascending order.
    """

    def __init__(self, words, together, places):
        self.group = 1 << (together - 1).bit_length()
        self._places = places // together * self.group + places % together
        # A number that is missing is 0, one behind its word is the tree's own zero.
        word = np.repeat(np.float32([0, -0.0]), [together, self.group - together])
        self._missing = np.tile(word, words)
        self._whole = len(places) == len(self._missing)

    def scale(self, numbers):
        """``numbers`` [count, numbers] as the first operand."""
        if self._whole:
            return np.ascontiguousarray(numbers)
        result = np.tile(self._missing, (len(numbers), 1))
        result[:, self._places] = numbers
        return result

    def rows(self, numbers):
        """``numbers`` [numbers, width] as the second operand."""
        if self._whole:
            return np.ascontiguousarray(numbers)
        result = np.zeros((len(self._missing), numbers.shape[1]), np.float32)
        result[self._places] = numbers
        return result


class _Float:
    """A binary32 layer."""

    def __init__(self, arithmetic, layer, lanes):
        self.layer, self.lanes = layer, lanes
        self._inputs = _Words(layer.input_words, layer.input_word, layer.places)
        outputs = np.arange(layer.outputs)
        self._outputs = _Words(layer.output_words, layer.output_word, outputs)

    def forward(self, weights, biases, x):
        words, apart = self._inputs, self.layer.interleave
        y = product_float(words.scale(weights), words.rows(x), words.group, apart)
        add_bias(y, biases)
        return y, 0

    def input_gradient(self, weights, delta):
        words, apart = self._outputs, self.layer.output_words
        dx = product_float(words.scale(weights.T), words.rows(delta), words.group, apart)
        return dx, 0

    def gradients(self, delta, x):
        # A bias is the weight of an input that is always one. The longer side is the inner loop.
        inputs, batch = x.shape
        if inputs >= len(delta):
            rows = np.empty((batch, inputs + 1), np.float32)
            rows[:, :inputs], rows[:, inputs] = x.T, _ONE
            total = product_float(np.ascontiguousarray(delta), rows, self.lanes, 1)
        else:
            scale = np.empty((inputs + 1, batch), np.float32)
            scale[:inputs], scale[inputs] = x, _ONE
            total = product_float(scale, np.ascontiguousarray(delta.T), self.lanes, 1).T
        return total[:, :inputs], total[:, inputs]


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
