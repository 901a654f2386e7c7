"""the twin network: every bit in the order of the adders, as the twin of a block's units has it."""

import numpy as np
import pytest
from arith.adder_tree_twin import adder_tree
from nn.exact_activation import EXACT

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.block.config import BlockShape
from hw.learner.config import LearnerConfig
from sim.model.arith.arithmetic import twin_of
from sim.model.learner.block import column, row
from sim.model.learner.network.network import Network
from sim.model.nn.activation import derivative

FLOAT = Arithmetic()
FIXED = Arithmetic(kind="fixed", weight=SQ(3, 9), activation=SQ(4, 6), gradient=SQ(2, 8))

SHAPES = {
    "one": dict(inputs=1, outputs=1),
    "word": dict(inputs=4, outputs=1, input_word=4),
    "padded words": dict(inputs=7, outputs=3, input_word=4, output_word=2, interleave=2),
    "padded group": dict(inputs=9, outputs=2, input_word=2, interleave=4),
    "apart": dict(inputs=33, outputs=3, interleave=4),
    "wide": dict(inputs=16, outputs=24, input_word=16, output_word=8),
    "no power of two": dict(inputs=14, outputs=16, input_word=6, output_word=5, interleave=2),
    "three": dict(inputs=6, outputs=13, input_word=3, output_word=12),
    "joined": dict(inputs=8, outputs=5, input_word=4, output_word=2, joined=3),
}

#: Standard deviation of the numbers: at 2**-75 products are subnormal, at 2**-64 some are. Zeros of
#: both signs show what a missing number counts as: a sum is -0 only if all of its numbers are.
SCALES = {"usual": 1.0, "flushed": 2.0**-75, "on the edge": 2.0**-64, "infinite": 2.0**70}
SCALES |= {"zeros": 0.0}


def same(a, b):
    """Equal to the bit, but for the sign and payload of NaNs."""
    assert a.dtype == b.dtype and a.shape == b.shape
    if a.dtype == np.float32:
        nan = np.isnan(a) & np.isnan(b)
        return bool(np.all(nan | (a.view(np.uint32) == b.view(np.uint32))))
    return bool(np.all(a == b))


def numbers(rng, arithmetic, kind, shape, scale):
    """Random numbers of a kind with zeros, negative zeros and the smallest ones."""
    if arithmetic.saturates:
        target = getattr(arithmetic, kind)
        return rng.integers(target.low, target.high + 1, shape)
    values = (rng.normal(size=shape) * scale).astype(np.float32)
    corners = np.array([0, 0x8000_0000, 0x0080_0000, 0x8080_0001], np.uint32).view(np.float32)
    return np.where(rng.random(shape) < 0.2, rng.choice(corners, shape), values)


def multiply(arithmetic, a, b):
    return twin_of(arithmetic).multiply(a, b)


def add(arithmetic, a, b):
    return twin_of(arithmetic).add(a, b)


def filled(values, places, count):
    """``values`` [numbers, ...] in their ``places`` of ``count``, with zeros between."""
    result = np.zeros((count, *values.shape[1:]), values.dtype)
    result[places] = values
    return result


def blocks(layer, weights):
    """[input_words, input_word, output_words, output_word]"""
    inputs, outputs = layer.input_words, layer.output_words
    columns = filled(weights.T, layer.places, inputs * layer.input_word)
    whole = filled(columns.T, np.arange(layer.outputs), outputs * layer.output_word)
    return whole.T.reshape(inputs, layer.input_word, outputs, layer.output_word)


def forward(arithmetic, layer, weights, biases, x):
    """``(y, clipped)``, both [outputs, batch]."""
    cut, size = blocks(layer, weights), layer.output_words * layer.output_word
    bias = filled(biases, np.arange(layer.outputs), size).reshape(layer.output_words, -1)
    words = filled(x, layer.places, layer.input_words * layer.input_word)
    words = words.reshape(layer.input_words, layer.input_word, -1)
    columns = [
        column(
            arithmetic, layer, layer.activation,
            cut[..., place].transpose(2, 0, 1), bias[:, place], words,
        )
        for place in range(layer.output_word)
    ]  # fmt: skip
    y, clipped = (np.stack(part, axis=1).reshape(size, -1) for part in zip(*columns, strict=True))
    return y[: layer.outputs], clipped[: layer.outputs]


def input_gradient(arithmetic, layer, weights, delta):
    cut, size = blocks(layer, weights), layer.output_words * layer.output_word
    errors = filled(delta, np.arange(layer.outputs), size)
    errors = errors.reshape(layer.output_words, layer.output_word, -1)
    x = np.zeros((layer.input_words, delta.shape[1]), delta.dtype)
    rows = [
        row(arithmetic, "linear", cut[:, place], errors, x)[0] for place in range(layer.input_word)
    ]
    return np.stack(rows, axis=1).reshape(-1, delta.shape[1])[layer.places]


def gradients(arithmetic, lanes, delta, x):
    """Of weights, and of biases."""
    products = multiply(arithmetic, delta[:, None, :], x[None, :, :])
    results = []
    for samples in (np.moveaxis(products, -1, 0), np.moveaxis(delta, -1, 0)):
        samples = samples.reshape(-1, lanes, *samples.shape[1:]).swapaxes(0, 1)
        total, *rest = adder_tree(arithmetic, samples)
        for sample in rest:
            total = add(arithmetic, total, sample)
        results.append(total)
    return results


def case(arithmetic, lanes, shapes, scale, seed, batch=16):
    """Config, layers, parameters and a batch for layers of ``shapes``, one behind the other."""
    config = LearnerConfig(arithmetic=arithmetic, lanes=lanes)
    rng = np.random.default_rng(seed)
    layers = [BlockShape(**shape) for shape in shapes]
    parameters = [
        tuple(
            numbers(rng, arithmetic, "weight", size, scale)
            for size in ((layer.outputs, layer.inputs), (layer.outputs,))
        )
        for layer in layers
    ]
    x = numbers(rng, arithmetic, "activation", (layers[0].inputs, batch), scale)
    delta = numbers(rng, arithmetic, "gradient", (layers[-1].outputs, batch), scale)
    return Network(config, layers), layers, parameters, x, delta


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", SHAPES)
def test_float_layer(shape, scale):
    network, (layer,), (pair,), x, delta = case(FLOAT, 2, [SHAPES[shape]], SCALES[scale], 1)
    (_, y), saturations = network.forward([pair], x)
    assert same(y, forward(FLOAT, layer, *pair, x)[0]) and saturations == 0
    back = network.backward([pair], [x, y], delta, input_gradient=True)
    assert same(back.dx, input_gradient(FLOAT, layer, pair[0], delta))
    for own, other in zip(back.gradients[0], gradients(FLOAT, 2, delta, x), strict=True):
        assert same(own, other)


@pytest.mark.parametrize("shape", SHAPES)
def test_fixed_layer(shape):
    network, (layer,), (pair,), x, delta = case(FIXED, 2, [SHAPES[shape]], 1, 2)
    (_, y), saturations = network.forward([pair], x)
    expected, saturated = forward(FIXED, layer, *pair, x)
    assert same(y, expected) and saturations == saturated.sum() > 0
    back = network.backward([pair], [x, y], delta, input_gradient=True)
    assert same(back.dx, input_gradient(FIXED, layer, pair[0], delta))
    exact = (pair[0].T @ delta + 256) >> 9
    assert back.saturations == ((exact > 511) | (exact < -512)).sum() > 0
    for own, other in zip(back.gradients[0], gradients(FIXED, 2, delta, x), strict=True):
        assert same(own, other)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("inputs, outputs", [(5, 9), (9, 5), (4, 4)])
@pytest.mark.parametrize("scale", ["usual", "on the edge"])
def test_weight_gradients(inputs, outputs, lanes, scale):
    """Both ways round, and every width of the tree over the lanes."""
    shape = dict(inputs=inputs, outputs=outputs)
    network, _, (pair,), x, delta = case(FLOAT, lanes, [shape], SCALES[scale], 3, batch=48)
    back = network.backward([pair], [x], delta)
    assert back.dx is None
    for own, other in zip(back.gradients[0], gradients(FLOAT, lanes, delta, x), strict=True):
        assert same(own, other)


@pytest.mark.parametrize("batch", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("scale", ["usual", "on the edge"])
def test_widths_around_a_tile(batch, scale):
    """One sample, a tile less one, full and with one more, and several; as many numbers."""
    shape = dict(inputs=batch, outputs=67, input_word=3, output_word=4)
    network, (layer,), (pair,), x, delta = case(FLOAT, 1, [shape], SCALES[scale], 5, batch=batch)
    (_, y), _ = network.forward([pair], x)
    assert same(y, forward(FLOAT, layer, *pair, x)[0])
    back = network.backward([pair], [x, y], delta, input_gradient=True)
    assert same(back.dx, input_gradient(FLOAT, layer, pair[0], delta))
    for own, other in zip(back.gradients[0], gradients(FLOAT, 1, delta, x), strict=True):
        assert same(own, other)


@pytest.mark.parametrize("activation", EXACT)
@pytest.mark.parametrize("arithmetic", [FLOAT, FIXED], ids=["float32", "fixed"])
def test_layers(arithmetic, activation):
    """Numbers pass from layer to layer, and errors back through the derivative."""
    shapes = [
        dict(inputs=3, outputs=14, input_word=2, output_word=4, activation=activation),
        dict(inputs=14, outputs=16, input_word=4, output_word=6, activation=activation),
        dict(inputs=16, outputs=3, input_word=6),
    ]
    network, layers, parameters, x, delta = case(arithmetic, 4, shapes, 0.4, 4)
    inputs, saturations = network.forward(parameters, x)
    back = network.backward(parameters, inputs, delta, input_gradient=True)
    for layer, pair, seen, y in zip(layers, parameters, inputs, inputs[1:], strict=False):
        assert same(y, forward(arithmetic, layer, *pair, seen)[0])
    before = ["linear", activation, activation]
    for position in (2, 1, 0):
        expected = gradients(arithmetic, 4, delta, inputs[position])
        for own, other in zip(back.gradients[position], expected, strict=True):
            assert same(own, other)
        dx = input_gradient(arithmetic, layers[position], parameters[position][0], delta)
        delta = derivative(arithmetic, before[position], dx, inputs[position])
    assert same(back.dx, delta)
    untrained = network.backward(
        parameters, inputs, delta[:3] * 0, trained=False, input_gradient=True
    )
    assert untrained.gradients == [None, None, None] and not untrained.dx.any()
