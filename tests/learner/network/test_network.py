"""the twin network: every bit in the order of the adders, as the window twin has it."""

import numpy as np
import pytest
from arith.adder_tree_twin import adder_tree, interleaved_sum
from learner.chain.forward_twin import forward
from nn.exact_activation import EXACT

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.chain.config import LayerShape
from hw.learner.config import LearnerConfig
from sim.model.arith.arithmetic import twin_of
from sim.model.learner.network.network import Network
from sim.model.nn.activation import derivative

FLOAT = Arithmetic()
FIXED = Arithmetic(kind="fixed", weight=SQ(3, 9), activation=SQ(4, 6), gradient=SQ(2, 8))

SHAPES = {
    "one": dict(inputs=1, outputs=1, interleave=5),
    "word": dict(inputs=4, outputs=1, vector=4, interleave=3),
    "padded words": dict(inputs=7, outputs=3, vector=4, interleave=2),
    "padded group": dict(inputs=9, outputs=2, vector=2, interleave=3),
    "interleaved": dict(inputs=33, outputs=3, vector=1, interleave=4),
    "chain": dict(inputs=12, outputs=24, vector=2, length=4),
    "padded chain": dict(inputs=14, outputs=16, vector=4, length=3),
    "rows": dict(inputs=6, outputs=13, vector=4),
}

#: Standard deviation of the numbers: at 2**-75 products are subnormal, at 2**-64 some are.
SCALES = {"usual": 1.0, "flushed": 2.0**-75, "on the edge": 2.0**-64, "infinite": 2.0**70}


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


def rounded(arithmetic, total, kind):
    """Half up and saturated, from a product of a weight and a ``kind``."""
    if not arithmetic.saturates:
        return total
    target = getattr(arithmetic, kind)
    return np.clip((total + 2 ** (9 - 1)) >> 9, target.low, target.high)


def pad(values, *shape):
    return np.pad(values, [(0, n - have) for n, have in zip(shape, values.shape, strict=True)])


def input_gradient(arithmetic, layer, weights, delta):
    outputs = layer.length * layer.rows
    weights, delta = pad(weights, outputs, layer.inputs), pad(delta, outputs, delta.shape[1])
    products = multiply(arithmetic, weights[:, :, None], delta[:, None, :])
    products = products.reshape(layer.length, layer.rows, *products.shape[1:])
    moving = products[0]
    for product in products[1:]:
        moving = add(arithmetic, moving, product)
    return rounded(arithmetic, interleaved_sum(arithmetic, moving), "gradient")


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
    layers = [LayerShape(**shape) for shape in shapes]
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
    assert same(y, forward(FLOAT, layer, *pair, x.T)[0].T) and saturations == 0
    back = network.backward([pair], [x, y], delta, input_gradient=True)
    assert same(back.dx, input_gradient(FLOAT, layer, pair[0], delta))
    for own, other in zip(back.gradients[0], gradients(FLOAT, 2, delta, x), strict=True):
        assert same(own, other)


@pytest.mark.parametrize("shape", SHAPES)
def test_fixed_layer(shape):
    network, (layer,), (pair,), x, delta = case(FIXED, 2, [SHAPES[shape]], 1, 2)
    (_, y), saturations = network.forward([pair], x)
    expected, saturated = forward(FIXED, layer, *pair, x.T)
    assert same(y, expected.T) and saturations == saturated.sum() > 0
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
    shape = dict(inputs=inputs, outputs=outputs, interleave=2)
    network, _, (pair,), x, delta = case(FLOAT, lanes, [shape], SCALES[scale], 3, batch=48)
    back = network.backward([pair], [x], delta)
    assert back.dx is None
    for own, other in zip(back.gradients[0], gradients(FLOAT, lanes, delta, x), strict=True):
        assert same(own, other)


@pytest.mark.parametrize("activation", EXACT)
@pytest.mark.parametrize("arithmetic", [FLOAT, FIXED], ids=["float32", "fixed"])
def test_layers(arithmetic, activation):
    """Numbers pass from layer to layer, and errors back through the derivative."""
    shapes = [
        dict(inputs=3, outputs=14, vector=2, activation=activation),
        dict(inputs=14, outputs=16, vector=4, length=3, activation=activation),
        dict(inputs=16, outputs=3, vector=1, interleave=2),
    ]
    network, layers, parameters, x, delta = case(arithmetic, 4, shapes, 0.4, 4)
    inputs, saturations = network.forward(parameters, x)
    back = network.backward(parameters, inputs, delta, input_gradient=True)
    for layer, pair, seen, y in zip(layers, parameters, inputs, inputs[1:], strict=False):
        assert same(y, forward(arithmetic, layer, *pair, seen.T)[0].T)
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
