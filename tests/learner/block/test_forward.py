"""hw.learner.block.forward: samples whose words come with gaps, against the twin of a column."""

import numpy as np
import pytest
from clocks import Clocks
from later import later
from learner.numbers import NARROW, numbers

from hw.arith.arithmetic import Arithmetic
from hw.learner.block import estimate
from hw.learner.block.config import BlockShape
from hw.learner.block.forward import Forward
from hw.learner.block.layer_clocks import READ_LATENCY, column_clocks, forward_stage
from hw.learner.block.layer_config import LayerConfig
from hw.nn.activation import ACTIVATIONS
from sim.model.learner.block import column

FIXED, FLOAT = Arithmetic(kind="fixed"), Arithmetic()
BOTH = ("online", "target")

#: Arithmetic, networks, lanes, sizes: words that are full and that are not, one word or many.
CASES = {
    "one block": (FIXED, ("target",), 1, dict(inputs=1, outputs=1)),
    "fixed": (
        NARROW, ("online", "target", "online"), 2,
        dict(inputs=7, outputs=10, input_word=3, output_word=2, activation="relu"),
    ),
    "one input word": (
        FIXED, BOTH, 1, dict(inputs=3, outputs=9, input_word=4, output_word=8, activation="tanh")
    ),
    "one output word": (
        NARROW, ("online",), 1,
        dict(inputs=20, outputs=3, input_word=8, output_word=4, activation="leaky_relu"),
    ),
    "joined": (
        FIXED, BOTH, 2, dict(inputs=8, joined=3, outputs=5, input_word=2, activation="relu")
    ),
    "wide": (FIXED, BOTH, 1, dict(inputs=40, outputs=40, input_word=16, output_word=16)),
    "float": (FLOAT, ("online",), 1, dict(inputs=8, outputs=15, input_word=3, output_word=2)),
    "float, apart": (
        FLOAT, ("online",), 2,
        dict(inputs=9, outputs=3, input_word=2, interleave=4, activation="relu"),
    ),
    "float, a word a sum": (
        FLOAT, ("target",), 1,
        dict(inputs=5, outputs=2, output_word=2, interleave=8, activation="tanh"),
    ),
}  # fmt: skip
#: Cases whose rules another one meets, too.
SLOW = ("wide", "one input word", "float")
SAMPLES = 6


class Timeline:
    """Samples through a Forward, whose memories answer, and what leaves it in each clock."""

    def __init__(self, arithmetic, weight_sources, lanes, sizes):
        self.arithmetic, self.weight_sources, self.lanes = arithmetic, weight_sources, lanes
        self.shape = shape = BlockShape(**sizes)
        self.unit = Forward(LayerConfig(arithmetic=arithmetic, lanes=lanes), shape, weight_sources)
        clocks = column_clocks(arithmetic, shape, shape.activation)
        self.latency, self.bias_latency = clocks.y, clocks.bias
        self.applied = ACTIVATIONS[shape.activation].latency(arithmetic)
        self.rng, self.clocks, self.clock = np.random.default_rng(1), Clocks(), 0
        self.begun, self.left, self.clipped = [], {}, {}
        self.weights, self.bias = {}, {}
        for network in BOTH:
            count = shape.blocks * shape.multipliers
            image = shape.pack(
                numbers(arithmetic, "weight", (shape.outputs, shape.inputs), self.rng),
                numbers(arithmetic, "weight", shape.outputs, self.rng),
            )
            self.weights[network] = image[:count].reshape(shape.blocks, shape.input_word, -1)
            self.bias[network] = image[count:][: shape.output_words * shape.output_word].reshape(
                shape.output_words, -1
            )

    def sample(self, gap):
        """At most ``gap`` clocks before words, or before there is room for the sample."""
        shape, clocks = self.shape, self.clocks
        x = numbers(
            self.arithmetic,
            "activation",
            (shape.input_words, len(self.weight_sources), self.lanes, shape.input_word),
            self.rng,
        )
        for word, filled in enumerate(shape.input_words_filled()):
            x[word, :, :, filled:] = 0
        for word in range(shape.input_words):
            if word % shape.interleave == 0:
                self.clock += self.rng.integers(gap + 1)
            waits = self.rng.integers(gap + 1) if word == 0 else 0
            for clock in range(self.clock, self.clock + waits):
                clocks.at(clock, i__valid=1, i__payload=x[word], room=0)
                clocks.expect(clock, i__ready=0, started=0)
            self.clock += waits
            clocks.at(self.clock, i__valid=1, i__payload=x[word], room=word == 0)
            clocks.expect(self.clock, i__ready=1, started=word == 0)
            if word == 0:
                self.begun.append(self.clock)
            for output in range(shape.output_words):
                self.block(word * shape.output_words + output, output)
                self.clock += 1
        first = self.clock - shape.output_words + READ_LATENCY + self.latency
        if gap == 0:
            assert self.unit.latency == first - self.begun[-1]
            assert self.unit.last_latency == first - self.begun[-1] + shape.output_words - 1
        value, clipped = self.expected(x)
        for output in range(shape.output_words):
            self.left[first + output] = output, value[output]
            self.clipped[first + output - self.applied + 2] = clipped[output].sum()

    def block(self, address, output):
        """Its words of the memories, each in its clock."""
        self.clocks.expect(self.clock, memory__address=address)
        for k in range(self.shape.input_word):
            at = self.clock + READ_LATENCY + k * self.arithmetic.dot_skew
            self.clocks.at(at)
            weight = self.clocks.inputs[at].setdefault("memory__weight", {})
            for network in BOTH:
                weight.setdefault(network, {})[k] = self.weights[network][address, k]
        at = self.clock + READ_LATENCY + self.bias_latency
        self.clocks.expect(at - READ_LATENCY, memory__bias_address=output)
        bias = {network: self.bias[network][output] for network in BOTH}
        self.clocks.at(at, memory__bias=bias)

    def expected(self, x):
        """``(value, clipped)``, both [output_words][groups][lanes][output_word]."""
        shape = self.shape
        cut = shape.input_words, shape.output_words, shape.input_word, shape.output_word
        results = [
            column(
                self.arithmetic,
                shape,
                shape.activation,
                self.weights[network].reshape(cut)[..., n].swapaxes(0, 1),
                self.bias[network][:, n],
                np.moveaxis(x[:, group], 2, 1),
            )
            for group, network in enumerate(self.weight_sources)
            for n in range(shape.output_word)
        ]
        return (
            np.stack(part, axis=-1)
            .reshape(shape.output_words, self.lanes, len(self.weight_sources), -1)
            .swapaxes(1, 2)
            for part in zip(*results, strict=True)
        )

    def run(self, simulate, directory):
        last = self.shape.output_words - 1
        under_way = 0
        for clock in range(max(self.clipped) + 1):
            output, value = self.left.get(clock, (None, None))
            there = output is not None
            self.clocks.expect(
                clock,
                idle=under_way == 0,
                o=dict(valid=there) | (dict(index=output, value=value) if there else {}),
                saturations=self.clipped.get(clock, 0),
            )
            self.clocks.at(clock, counted=(1 << len(self.weight_sources)) - 1)
            under_way += (clock in self.begun) - (there and output == last)
        self.clocks.run(simulate, self.unit, directory)


@pytest.mark.parametrize("name", [later(name) if name in SLOW else name for name in CASES])
def test_samples(simulate, tmp_path, name):
    """Back to back, and with gaps before words and for want of room."""
    arithmetic, *_ = case = CASES[name]
    timeline = Timeline(*case)
    for number in range(SAMPLES):
        timeline.sample(0 if number < 3 else 4)
    if arithmetic is NARROW:
        assert any(timeline.clipped.values())
    timeline.run(simulate, tmp_path)


def test_estimate():
    """Worked by hand for the hidden layer of a DQN: 16 input words, 8 output words."""
    shape = BlockShape(inputs=64, outputs=64, input_word=4, output_word=8, activation="relu")
    double = ("online", "target", "online")
    unit = Forward(LayerConfig(), shape, double)
    assert forward_stage(LayerConfig(), shape).interval == 128
    assert estimate.forward(LayerConfig(), shape, 3).dsp == 3 * 32 * 2
    # Fifteen words, the read, product, tree, sum over words, bias, relu.
    latency = 15 * 8 + 2 + FLOAT.multiply_latency + 4 * FLOAT.add_latency + 1
    assert (unit.latency, unit.last_latency) == (latency, latency + 7)
    fixed = LayerConfig(arithmetic=FIXED, lanes=2)
    # Operands and product, four numbers along the cascade, the sum, two of rounding, relu.
    assert forward_stage(fixed, shape).latency == 15 * 8 + 2 + 2 + 4 + 1 + 2 + 1
    assert estimate.forward(fixed, shape, 3).dsp == 2 * 3 * 32


@pytest.mark.parametrize(
    "sizes, weight_sources, message",
    [
        (dict(outputs=8), (), r"^weight_sources must be of online, target, either, not \(\)$"),
        (dict(outputs=8), ("first",), "^weight_sources must be of online, target, either, not "),
        (dict(outputs=7), ("online",), "^output words times interleave must be at least 8, not "),
    ],
)
def test_rejects(sizes, weight_sources, message):
    with pytest.raises(ValueError, match=message):
        Forward(LayerConfig(), BlockShape(inputs=3, **sizes), weight_sources)
