"""hw.learner.chain.backward: gradients, dx and cycles against the twin of a network's layer."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from later import later
from learner.numbers import activations, numbers

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.backward import Backward
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.nn.activation import ACTIVATIONS
from sim.model.arith.arithmetic import twin_of
from sim.model.learner.network.network import Network
from sim.model.nn.activation import derivative

#: (kind, lanes, groups, trained, activation of the inputs or None for no dx, layer): chains and
#: single PEs, padded or not, with a PE that has no output, and so small that samples must wait.
CASES = [
    ("fixed", 1, 1, 1, "linear", dict(inputs=1, outputs=1)),
    ("fixed", 2, 2, 1, "tanh", dict(inputs=7, outputs=5, vector=2, length=3)),
    ("fixed", 1, 2, 2, "relu", dict(inputs=6, outputs=5, length=4)),
    ("fixed", 2, 1, 1, None, dict(inputs=3, outputs=9, vector=4)),
    ("fixed", 1, 2, 1, "relu", dict(inputs=7, outputs=3, vector=2, interleave=3)),
    later("fixed", 4, 1, 1, "tanh", dict(inputs=3, outputs=9)),
    ("float32", 1, 1, 1, "relu", dict(inputs=1, outputs=1)),
    later("float32", 1, 2, 1, "linear", dict(inputs=4, outputs=11, length=2)),
    ("float32", 2, 1, 1, "tanh", dict(inputs=3, outputs=2, interleave=3)),
    ("float32", 2, 1, 1, None, dict(inputs=5, outputs=13, vector=2, length=2)),
    later("float32", 1, 1, 1, "relu", dict(inputs=4, outputs=19, length=3)),
    ("float32", 1, 1, 1, "leaky_relu", dict(inputs=6, outputs=1, vector=4)),
]
#: Samples of each batch.
SAMPLES = 4, 1, 4


def word(values, width):
    """Numbers as one integer, the first lowest; in hexadecimal."""
    raw = values.view(np.uint32) if values.dtype == np.float32 else values
    parts = ((int(v) % (1 << width)) << width * k for k, v in enumerate(raw.reshape(-1)))
    return f"{sum(parts):x}"


def padded(layer):
    """The layer that has its padding as inputs and outputs."""
    return LayerShape(
        inputs=layer.words * layer.vector,
        outputs=layer.rows * layer.length,
        vector=layer.vector,
        length=layer.length,
        interleave=layer.interleave,
    )


def expected_of(config, layer, trained, activation, weights, delta, x):
    """``(gradients, biases, dx, saturations)`` of a batch, padding included.

    delta, x : [samples, groups, lanes, outputs or inputs]
    """
    arithmetic, whole = config.arithmetic, padded(layer)

    def columns(values):
        return np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)

    # The tree is over all lanes of the trained groups: those are lanes to the twin.
    lanes = trained * config.lanes
    wide = LayerConfig(arithmetic=arithmetic, lanes=lanes)
    result = Network(wide, [whole]).backward(
        [(weights, None)], [columns(x[:, :trained])], columns(delta[:, :trained])
    )
    gradients, biases = result.gradients[0]
    if activation is None:
        return gradients, biases, None, 0
    result = Network(config, [whole]).backward(
        [(weights, None)], [columns(x)], columns(delta), trained=False, input_gradient=True
    )
    dx = derivative(arithmetic, activation, result.dx, columns(x))
    return gradients, biases, dx.T.reshape(x.shape), result.saturations


def batch_of(config, layer, groups, trained, activation, weights, samples, rng):
    """A batch and what it must give, as words."""
    arithmetic, whole = config.arithmetic, padded(layer)
    paths = samples, groups, config.lanes
    delta = np.zeros((*paths, whole.outputs), weights.dtype)
    delta[..., : layer.outputs] = numbers(arithmetic, "gradient", (*paths, layer.outputs), rng)
    if samples == 1 and not arithmetic.saturates:
        delta[..., 0] = -0.0  # the sum of a batch of one -0 is -0
    x = np.zeros((*paths, whole.inputs), weights.dtype)
    x[..., : layer.inputs] = activations(arithmetic, activation, (*paths, layer.inputs), rng)
    gradients, biases, dx, saturations = expected_of(
        config, layer, trained, activation, weights, delta, x
    )
    widths = {kind: arithmetic.shape(kind).width for kind in ("activation", "gradient")}
    sums = arithmetic.sum_shape("activation", "gradient", count=config.batch).width
    bias_width = arithmetic.sum_shape("gradient", count=config.batch).width
    scan = whole.pack(gradients, biases).reshape(-1, layer.vector)

    def words(values, kind):
        split = values.reshape(*paths, layer.words, layer.vector)
        return [
            word(split[k, :, :, w], widths[kind])
            for k in range(samples)
            for w in range(layer.words)
        ]

    return dict(
        delta=[
            word(delta[k, :, :, o], widths["gradient"])
            for k in range(samples)
            for o in range(layer.outputs)
        ],
        x=words(x, "activation"),
        dx=[] if dx is None else words(dx, "gradient"),
        gradients=[
            [word(row, sums) for row in scan[k * layer.depth :][: layer.depth]]
            for k in range(layer.length)
        ],
        bias=[word(value, bias_width) for value in biases[: layer.outputs]],
        saturations=saturations,
    )


@pytest.mark.parametrize("kind, lanes, groups, trained, activation, shape", CASES)
def test_backward(simulate, tmp_path, kind, lanes, groups, trained, activation, shape):
    arithmetic = Arithmetic(kind=kind)
    config, layer = LayerConfig(arithmetic=arithmetic, lanes=lanes), LayerShape(**shape)
    rng = np.random.default_rng(3)
    whole = padded(layer)
    weights = np.zeros((whole.outputs, whole.inputs), twin_of(arithmetic).dtype)
    inside = layer.outputs, layer.inputs
    weights[: layer.outputs, : layer.inputs] = numbers(arithmetic, "weight", inside, rng)
    batches = [
        batch_of(config, layer, groups, trained, activation, weights, samples, rng)
        for samples in SAMPLES
    ]
    assert (
        kind == "float32" or layer.outputs == 1 or activation is None or batches[0]["saturations"]
    )

    scan = whole.pack(weights, np.zeros(whole.outputs, weights.dtype)).reshape(-1, layer.vector)
    width = arithmetic.shape("weight").width
    file = tmp_path / "vectors.json"
    file.write_text(
        json.dumps(
            dict(
                weights=[
                    [word(row, width) for row in scan[k * layer.depth :][: layer.depth]]
                    for k in range(layer.length)
                ],
                batches=batches,
            )
        )
    )
    arguments = config, layer, groups, trained, activation is not None, activation or "linear"
    dut = Backward(*arguments)
    estimate = Backward.estimate(*arguments)
    garbage = np.full(layer.vector, np.nan, np.float32)
    simulate(
        dut,
        "learner.chain.backward_bench",
        vectors=str(file),
        words=layer.words,
        outputs=layer.outputs,
        length=layer.length,
        rows=layer.rows,
        input_gradient=activation is not None,
        address_width=(layer.depth - 1).bit_length(),
        bias_address_width=(layer.outputs - 1).bit_length(),
        garbage="1234567" if arithmetic.saturates else word(garbage, 32),
        bias_garbage="12345" if arithmetic.saturates else word(garbage[:1], 32),
        **{
            name: value
            for name, value in asdict(estimate).items()
            if name.endswith(("interval", "latency"))
        },
    )


def test_estimate():
    """Worked by hand for the hidden layer of the default DQN: 16 words of 8 rows, 8 PEs."""
    config = LayerConfig()
    layer = LayerShape(inputs=64, outputs=64, vector=4, length=8, activation="relu")
    figures = Backward.estimate(config, layer, 1, 1, True, "relu")
    multiply, add = config.arithmetic.multiply_latency, config.arithmetic.add_latency
    assert figures.interval == layer.cycles == 16 * 8
    assert figures.multipliers == 2 * 32
    # 8 macro-cycles to the end of the first word's last row, read, multiply, the chain's last
    # addition, 3 for the rows, relu.
    first = 8 * 8 + 2 + multiply + 4 * add + 1
    assert (figures.latency, figures.last_latency) == (first, first + 15 * 8)
    assert figures.finished_latency == first + 15 * 8 + 2
    fixed = LayerConfig(arithmetic=Arithmetic(kind="fixed"), lanes=2)
    assert Backward.estimate(fixed, layer, 2, 1, True, "linear").dsp == 2 * 3 * 32
    assert Backward.estimate(fixed, layer, 2, 1, True, "tanh").dsp == 2 * 3 * 32 + 2 * 2 * 4 * 2
    figures = Backward.estimate(config, layer, 1, 1, False)
    assert (figures.latency, figures.dsp) == (None, 2 * 32)


def test_smallest_layer_waits_for_its_gradients():
    config, layer = LayerConfig(), LayerShape(inputs=1, outputs=1)
    multiply, add = config.arithmetic.multiply_latency, config.arithmetic.add_latency
    assert Backward.estimate(config, layer).interval == 2 + multiply + add + 2


@pytest.mark.parametrize(
    "layer, arguments, message",
    [
        (dict(), dict(groups=3), "groups must be an integer in 1..2, not 3"),
        (dict(), dict(trained=2), r"trained must be an integer in 1..1 \(groups\), not 2"),
        (dict(), dict(input_gradient="relu"), "input_gradient must be True or False, not 'relu'"),
        (
            dict(),
            dict(input_activation="sine"),
            f"input_activation must be one of {', '.join(ACTIVATIONS)}, not 'sine'",
        ),
        (
            dict(outputs=10, length=2),
            dict(),
            "rows must be at least 6 on a chain, the latency of an addition, not 5",
        ),
    ],
)
def test_rejects(layer, arguments, message):
    with pytest.raises(ValueError, match=message):
        Backward(LayerConfig(), LayerShape(**{"inputs": 9, "outputs": 6, **layer}), **arguments)
