"""hw.learner.block.backward: gradients, dx and clocks against the twin."""

import json

import numpy as np
import pytest
from learner.numbers import activations, numbers
from marks import long_but

from hw.arith.arithmetic import Arithmetic
from hw.learner.block import estimate
from hw.learner.block.backward import Backward
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_clocks import (
    backward_stage,
    bias_clocks,
    early_word,
    finished_latency,
    gradient_latency,
)
from hw.learner.block.layer_config import LayerConfig
from hw.nn.activation import ACTIVATIONS
from sim.model.arith.arithmetic import twin_of
from sim.model.learner.block import gradient_element, row

#: Name -> kind, lanes, groups, activation of the inputs or None for no dx, sizes, and period if
#: delta comes without back-pressure (0: unknown).
CASES = {
    "smallest": ("fixed", 1, 1, "linear", dict(inputs=1, outputs=1), None),
    "padding": (
        "fixed", 2, 2, "tanh", dict(inputs=7, outputs=5, input_word=2, output_word=3), None,
    ),
    "lanes": ("fixed", 4, 1, None, dict(inputs=9, outputs=8, input_word=4), 3),
    "wide": ("fixed", 1, 1, "relu", dict(inputs=2, outputs=16, output_word=16), 1),
    "joined": (
        "fixed", 1, 2, "relu",
        dict(inputs=5, outputs=9, joined=2, input_word=2, output_word=4), 0,
    ),
    "blocks of memory": ("fixed", 1, 1, None, dict(inputs=33, outputs=4, output_word=2), 2),
    "loop": ("float32", 2, 1, "relu", dict(inputs=1, outputs=16, output_word=2), None),
    "float, spaced": ("float32", 1, 1, "leaky_relu", dict(inputs=6, outputs=1, input_word=4), None),
    "float, apart": (
        "float32", 1, 1, None,
        dict(inputs=9, outputs=3, input_word=2, output_word=3, interleave=8), 0,
    ),
}  # fmt: skip
#: A long one is fast where two others are, one with another number of lanes or words.
QUICK = [name for name in CASES if name not in ("lanes", "float, spaced")]
#: Samples of each batch.
SAMPLES = 4, 1, 4


def made(case):
    kind, lanes, groups, activation, sizes, period = CASES[case]
    config = LayerConfig(arithmetic=Arithmetic(kind=kind), lanes=lanes)
    arguments = dict(
        groups=groups,
        input_gradient=activation is not None,
        input_activation=activation or "linear",
        period=period or None,
        reserved=period is not None,
    )
    return config, BlockShape(**sizes), arguments


def hexadecimal(values, width):
    """Numbers as one integer, the first lowest."""
    raw = values.view(np.uint32) if values.dtype == np.float32 else values
    parts = ((int(v) % (1 << width)) << width * k for k, v in enumerate(raw.reshape(-1)))
    return f"{sum(parts):x}"


def spread(values, filled, word):
    """The last axis in words of ``word`` numbers, of which ``filled`` are there."""
    result = np.zeros((*values.shape[:-1], len(filled), word), values.dtype)
    place = 0
    for k, count in enumerate(filled):
        result[..., k, :count] = values[..., place : place + count]
        place += count
    return result


def expected_of(config, shape, activation, weights, delta, x):
    """``(gradients [O, W, I, V], biases [O, W], dx, clipped)`` of a batch.

    weights : [outputs' words, W, inputs' words, V]
    delta, x : [samples, groups, lanes, words, numbers of a word]
    """
    arithmetic = config.arithmetic
    twin, outputs = twin_of(arithmetic), (shape.output_words, shape.output_word)
    # [words, numbers, samples, lanes] of the first group
    errors, inputs = (np.moveaxis(value[:, 0], (2, 3), (0, 1)) for value in (delta, x))
    # The twin turns all axes round.
    gradients = gradient_element(arithmetic, errors[:, :, None, None], inputs[None, None]).T
    biases = None
    for step in np.moveaxis(errors, 2, 0):
        lanes = twin.tree(np.moveaxis(step, 2, 0))
        biases = twin.add(lanes, twin.zeros(()) if biases is None else biases)
    if activation is None:
        return gradients, biases, None, 0
    paths = -1, *delta.shape[3:]
    errors = np.moveaxis(delta.reshape(paths), 0, 2)  # [O, W, paths]
    dx, clipped = row(
        arithmetic,
        activation,
        weights.reshape(*outputs, -1).transpose(2, 0, 1),
        errors,
        x.reshape(errors.shape[2], -1).T,
    )
    return gradients, biases, dx.T.reshape(x.shape), int(clipped.sum())


def batch_of(config, shape, arguments, weights, samples, rng):
    """A batch and what it must give, as words."""
    arithmetic, groups = config.arithmetic, arguments["groups"]
    activation = arguments["input_activation"] if arguments["input_gradient"] else None
    paths = samples, groups, config.lanes
    delta = numbers(arithmetic, "gradient", (*paths, shape.outputs), rng)
    if samples == 1 and not arithmetic.saturates:
        delta[..., 0] = -0.0  # the sum of a batch of one -0 is -0
    x = activations(arithmetic, activation, (*paths, shape.inputs), rng)
    delta = spread(delta, shape.output_words_filled(), shape.output_word)
    x = spread(x, shape.input_words_filled(), shape.input_word)
    gradients, biases, dx, clipped = expected_of(config, shape, activation, weights, delta, x)
    widths = {kind: arithmetic.shape(kind).width for kind in ("activation", "gradient")}
    sums, bias_sums = arithmetic.gradient_sum_shape(config.batch), config.bias_sum_shape

    def words(values, kind):
        return [
            hexadecimal(values[k, :, :, w], widths[kind])
            for k in range(samples)
            for w in range(values.shape[3])
        ]

    blocks = gradients.transpose(2, 0, 3, 1).reshape(shape.blocks, -1)
    return dict(
        delta=words(delta, "gradient"),
        x=words(x, "activation"),
        dx=[] if dx is None else words(dx, "gradient"),
        gradients=[hexadecimal(block, sums.width) for block in blocks],
        bias=[hexadecimal(word, bias_sums.width) for word in biases],
        saturations=clipped,
    )


@pytest.mark.parametrize("case", long_but(QUICK, CASES))
def test_backward(simulate, tmp_path, case):
    config, shape, arguments = made(case)
    arithmetic, rng = config.arithmetic, np.random.default_rng(3)
    weights = numbers(arithmetic, "weight", (shape.outputs, shape.inputs), rng)
    weights = spread(weights, shape.input_words_filled(), shape.input_word)
    weights = np.moveaxis(
        spread(np.moveaxis(weights, 0, -1), shape.output_words_filled(), shape.output_word),
        (2, 3),
        (0, 1),
    )
    batches = [batch_of(config, shape, arguments, weights, samples, rng) for samples in SAMPLES]
    if case in ("padding", "joined"):
        assert batches[0]["saturations"]
    file = tmp_path / "vectors.json"
    width = arithmetic.shape("weight").width
    blocks = weights.transpose(2, 0, 1, 3).reshape(shape.blocks, shape.output_word, -1)
    file.write_text(
        json.dumps(dict(weights=[hexadecimal(each.T, width) for each in blocks], batches=batches))
    )
    unit, period = Backward(config, shape, **arguments), CASES[case][-1]
    word, clocks = early_word(shape, period or None)
    stage = backward_stage(
        config, shape, *(arguments[name] for name in ("input_gradient", "input_activation"))
    )
    sums, bias_sums = arithmetic.gradient_sum_shape(config.batch), config.bias_sum_shape
    simulate(
        unit,
        "learner.block.backward_bench",
        vectors=str(file),
        words=shape.input_words,
        output_words=shape.output_words,
        reserved=period is not None,
        period=period,
        banks=unit._deltas.banks,
        input_gradient=arguments["input_gradient"],
        input_word=shape.input_word,
        output_word=shape.output_word,
        weight_width=width,
        skew=arithmetic.dot_skew,
        gradient_latency=gradient_latency(shape),
        gradient_width=sums.width * shape.multipliers,
        bias_width=bias_sums.width * shape.output_word,
        garbage=f"{(1 << sums.width * shape.multipliers) // 3:x}",
        bias_garbage=f"{(1 << bias_sums.width * shape.output_word) // 3:x}",
        ahead=word * (period or 1) + clocks + 1,
        interval=stage.interval,
        latency=stage.latency,
        last_latency=last_latency(stage, shape),
        finished_latency=finished_latency(config, shape),
        spacing=bias_clocks(config, shape).spacing,
    )


def last_latency(stage, shape):
    """Clocks from a sample's first word to its last word of dx; None if there is none."""
    return stage.latency and stage.latency + shape.blocks - shape.output_words


@pytest.mark.parametrize(
    "config, sizes, activation, interval, latency, last, finished",
    [
        # The layers of 4-64-2 at 4-8-2 with two lanes: 8 blocks each. Read, operands and product,
        # a sum for each output of a word, rounding in two clocks, relu.
        (dict(), dict(inputs=64, outputs=2, input_word=8, output_word=2), "relu", 8, 9, 16, 14),
        # The sum of 8 words: the first dx 7 clocks later, and a clock more for the sum.
        (dict(), dict(inputs=4, outputs=64, input_word=4, output_word=8), "relu", 8, 23, 23, 14),
        (dict(), dict(inputs=1, outputs=1), "linear", 3, 7, 7, 8),
        (dict(arithmetic=Arithmetic()), dict(inputs=1, outputs=1), "linear", 8, 7, 7, 20),
    ],
)
def test_clocks(config, sizes, activation, interval, latency, last, finished):
    """Worked out by hand."""
    config = LayerConfig(**dict(arithmetic=Arithmetic(kind="fixed"), lanes=2) | config)
    shape = BlockShape(**sizes)
    stage = backward_stage(config, shape, input_activation=activation)
    assert (stage.interval, stage.latency) == (interval, latency)
    assert last_latency(stage, shape) == last
    assert finished_latency(config, shape) == finished
    assert backward_stage(config, shape, input_gradient=False).latency is None
    blocks = 1 if config.arithmetic.saturates else 2  # of a product
    both = estimate.backward(config, shape, input_activation=activation)
    assert both.dsp == 2 * 2 * shape.multipliers * blocks
    one = estimate.backward(config, shape, input_gradient=False)
    assert one.dsp == 2 * shape.multipliers * blocks


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(groups=3), r"groups must be an integer in 1\.\.2, not 3"),
        (dict(input_gradient="relu"), "input_gradient must be True or False, not 'relu'"),
        (
            dict(input_activation="sine"),
            f"input_activation must be one of {', '.join(ACTIVATIONS)}, not 'sine'",
        ),
    ],
)
def test_rejects(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Backward(LayerConfig(), BlockShape(inputs=9, outputs=6), **arguments)
