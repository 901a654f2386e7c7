"""hw.learner.chain.forward: the twin against NumPy's matmul, hardware against the twin."""

import json

import numpy as np
import pytest
from later import later
from learner.chain.forward_top import ForwardTop
from learner.chain.forward_twin import forward

from hw.arith.arithmetic import Arithmetic
from hw.arith.tanh import TanhFixed
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.chain.forward import Forward

NETWORKS = ("online", "target")
DOUBLE = ("online", "target", "online")

#: (kind, weight_sources, lanes, layer): chains and single PEs, interleaved or not, with and without
#: padding of inputs (not a multiple of vector) and outputs (of rows); one drains exactly in time.
CASES = [
    ("float32", ("online",), 1, dict(inputs=5, outputs=8)),
    ("float32", NETWORKS, 1, dict(inputs=7, outputs=17, vector=2, length=3, activation="relu")),
    later("float32", ("target",), 1, dict(inputs=18, outputs=12, vector=4, length=2)),
    ("float32", DOUBLE, 1, dict(inputs=7, outputs=2, vector=2, interleave=3)),
    later("float32", ("online",), 2, dict(inputs=13, outputs=1, vector=4, interleave=7)),
    ("float32", ("online",), 1, dict(inputs=9, outputs=3, interleave=2, activation="tanh")),
    ("fixed", ("online",), 1, dict(inputs=1, outputs=1)),
    ("fixed", DOUBLE, 1, dict(inputs=7, outputs=4, length=4, activation="leaky_relu")),
    ("fixed", NETWORKS, 2, dict(inputs=6, outputs=5, vector=2, length=2, activation="tanh")),
    later("fixed", ("online",), 1, dict(inputs=21, outputs=19, vector=4, length=4)),
    ("fixed", NETWORKS, 2, dict(inputs=5, outputs=3, vector=2, interleave=2, activation="relu")),
    ("fixed", ("online",), 1, dict(inputs=11, outputs=1, vector=4, interleave=3)),
]
SAMPLES = 5


def configs(kind, lanes, layer):
    config = LayerConfig(arithmetic=Arithmetic(kind=kind), lanes=lanes)
    return config, LayerShape(**layer)


def numbers(arithmetic, kind, shape, rng):
    """Of moderate size, so that most sums neither cancel nor overflow."""
    if not arithmetic.saturates:
        return rng.standard_normal(shape).astype(np.float32)
    return rng.integers(-1, 2, shape) * rng.integers(0, getattr(arithmetic, kind).high // 6, shape)


def parameters(arithmetic, layer, rng):
    """``(weights, biases)``; without padding, the first output is -0 where x is +0."""
    weights = numbers(arithmetic, "weight", (layer.outputs, layer.inputs), rng)
    biases = numbers(arithmetic, "weight", layer.outputs, rng)
    weights[0] = -np.abs(weights[0])
    biases[0] = arithmetic.weight.low if arithmetic.saturates else -0.0
    weights[-1, 0] = arithmetic.weight.low if arithmetic.saturates else 3e38
    return weights, biases


def inputs(arithmetic, layer, paths, rng):
    """Samples [SAMPLES, *paths, inputs]: random, zeros, extremes that saturate, random again."""
    x = numbers(arithmetic, "activation", (SAMPLES, *paths, layer.inputs), rng)
    x[1] = 0
    if not arithmetic.saturates:
        corners = np.array([np.inf, -0.0, 1e-39, np.nan, -2e38, 1.2e-38], np.float32)
        x[3] = rng.choice(corners, x[3].shape)
    else:
        x[3] = rng.choice([arithmetic.activation.low, arithmetic.activation.high], x[3].shape)
    return x


def word(arithmetic, kind, values):
    """Numbers as one integer, the first lowest."""
    width = arithmetic.shape(kind).width
    raw = values.view(np.uint32) if values.dtype == np.float32 else values
    return sum((int(v) % (1 << width)) << width * k for k, v in enumerate(raw.reshape(-1)))


def memories(arithmetic, layer, networks):
    """``(contents, biases)`` of a ForwardTop."""
    scan = [layer.pack(*networks[name]).reshape(-1, layer.vector) for name in NETWORKS]
    words = [word(arithmetic, "weight", np.stack(pair)) for pair in zip(*scan, strict=True)]
    contents = [words[k * layer.depth :][: layer.depth] for k in range(layer.length)]
    pairs = np.stack([networks[name][1] for name in NETWORKS], axis=1)
    return contents, [word(arithmetic, "weight", pair) for pair in pairs]


@pytest.mark.parametrize("kind, weight_sources, lanes, shape", CASES)
def test_forward(simulate, tmp_path, kind, weight_sources, lanes, shape):
    config, layer = configs(kind, lanes, shape)
    arithmetic, rng = config.arithmetic, np.random.default_rng(5)
    networks = {name: parameters(arithmetic, layer, rng) for name in NETWORKS}
    x = inputs(arithmetic, layer, (len(weight_sources), lanes), rng)
    results = [
        forward(arithmetic, layer, *networks[name], x[:, group])
        for group, name in enumerate(weight_sources)
    ]
    y, saturated = (np.stack(part, axis=1) for part in zip(*results, strict=True))
    assert kind == "float32" or saturated.any()

    padded = np.pad(x, [(0, 0)] * 3 + [(0, layer.words * layer.vector - layer.inputs)])
    padded = padded.reshape(*padded.shape[:-1], layer.words, layer.vector)
    file = tmp_path / "vectors.json"
    file.write_text(
        json.dumps(
            dict(
                words=[
                    f"{word(arithmetic, 'activation', padded[sample, :, :, w]):x}"
                    for sample in range(SAMPLES)
                    for w in range(layer.words)
                ],
                expected=[
                    (index, f"{word(arithmetic, 'activation', y[sample, :, :, index]):x}")
                    for sample in range(SAMPLES)
                    for index in range(layer.outputs)
                ],
                saturations=int(saturated.sum()),
            )
        )
    )
    dut = ForwardTop(config, layer, weight_sources, *memories(arithmetic, layer, networks))
    estimate = Forward.estimate(config, layer, weight_sources)
    simulate(
        dut,
        "learner.chain.forward_bench",
        vectors=str(file),
        words=layer.words,
        interleave=layer.interleave,
        outputs=layer.outputs,
        interval=estimate.interval,
        latency=estimate.latency,
        last_latency=estimate.last_latency,
    )


@pytest.mark.parametrize("kind, weight_sources, lanes, shape", CASES)
def test_twin_of_matmul(kind, weight_sources, lanes, shape):
    """Fixed: exact, rounded once. Float32: within half a unit for each of the operations."""
    config, layer = configs(kind, lanes, {**shape, "activation": "linear"})
    arithmetic, rng = config.arithmetic, np.random.default_rng(6)
    weights = numbers(arithmetic, "weight", (layer.outputs, layer.inputs), rng)
    biases = numbers(arithmetic, "weight", layer.outputs, rng)
    x = numbers(arithmetic, "activation", (20, layer.inputs), rng)
    y, saturated = forward(arithmetic, layer, weights, biases, x)
    if not arithmetic.saturates:
        wide = weights.astype(np.float64), biases.astype(np.float64), x.astype(np.float64)
        exact = wide[2] @ wide[0].T + wide[1]
        magnitude = np.abs(wide[2]) @ np.abs(wide[0]).T + np.abs(wide[1])
        assert (np.abs(y - exact) <= (layer.inputs + 2) * 2.0**-24 * 1.001 * magnitude).all()
        return
    target, fraction = arithmetic.activation, arithmetic.weight.fraction
    for sample in range(len(x)):
        for output in range(layer.outputs):
            products = zip(weights[output].tolist(), x[sample].tolist(), strict=True)
            total = sum(w * v for w, v in products)
            total += int(biases[output]) << target.fraction
            rounded = (2 * total + (1 << fraction)) // (2 << fraction)
            assert y[sample, output] == min(max(rounded, target.low), target.high)
            assert saturated[sample, output] == (not target.low <= rounded <= target.high)


def test_estimate():
    """Worked by hand for the hidden layer of the default DQN: 64 words of 8 rows, 8 PEs."""
    config = LayerConfig()
    layer = LayerShape(inputs=64, outputs=64, vector=4, length=8, activation="relu")
    figures = Forward.estimate(config, layer, DOUBLE)
    assert figures.interval == 16 * 8
    assert figures.multipliers == 3 * 32
    # 15 macro-cycles to the last word, register, read, multiply, 2 + 1 additions, register; read
    # of the bias, addition, relu.
    multiply, add = config.arithmetic.multiply_latency, config.arithmetic.add_latency
    first = 15 * 8 + 1 + 2 + multiply + 3 * add + 1 + 2 + add + 1
    assert (figures.latency, figures.last_latency) == (first, first + 63 + 7)
    fixed = LayerConfig(arithmetic=Arithmetic(kind="fixed"), lanes=2)
    assert Forward.estimate(fixed, layer, DOUBLE).dsp == 2 * 3 * 32
    tanh = LayerShape(inputs=4, outputs=2, activation="tanh")
    assert Forward.estimate(fixed, tanh, ("online",)).dsp == 2 * (1 + TanhFixed.DSP)


@pytest.mark.parametrize(
    "layer, weight_sources, message",
    [
        (dict(inputs=3, outputs=6), (), r"weight_sources must be of online, target, not \(\)"),
        (dict(inputs=3, outputs=6), ("first",), "weight_sources must be of online, target, not "),
        (
            dict(inputs=3, outputs=5),
            ("online",),
            r"rows \* interleave must be at least 6, the latency of an addition, not 5",
        ),
    ],
)
def test_rejects(layer, weight_sources, message):
    with pytest.raises(ValueError, match=message):
        Forward(LayerConfig(), LayerShape(**layer), weight_sources)
