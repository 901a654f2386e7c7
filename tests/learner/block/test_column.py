"""hw.learner.block.column: output numbers of words that come with gaps, against the twin."""

import numpy as np
import pytest
from clocks import Clocks
from learner.numbers import NARROW, numbers
from marks import long_but

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.column import Column
from hw.learner.block.config import BlockShape
from sim.model.learner.block import column

FIXED, FLOAT = Arithmetic(kind="fixed"), Arithmetic()
MULTIPLY, ADD = FLOAT.multiply_latency, FLOAT.add_latency
#: Arithmetic, sizes, activation, and the latency, worked out by hand. In fixed point: operands and
#: product, a clock for each number of a word, the sum, two of rounding, the activation. In
#: binary32: product, tree, sum over words, tree over sums apart, bias, activation.
CASES = {
    "memory": (FIXED, dict(inputs=11, outputs=4, input_word=4), "relu", 2 + 4 + 1 + 2 + 1),
    "narrow": (NARROW, dict(inputs=9, outputs=5, input_word=3), "relu", 2 + 3 + 1 + 2 + 1),
    "two sums": (FIXED, dict(inputs=6, outputs=2, input_word=2), "linear", 2 + 2 + 1 + 2),
    "one sum": (NARROW, dict(inputs=7, outputs=2, output_word=2), "relu", 2 + 1 + 1 + 2 + 1),
    "one word": (NARROW, dict(inputs=4, outputs=3, input_word=4), "linear", 2 + 4 + 1 + 2),
    "float": (
        FLOAT, dict(inputs=8, outputs=8, input_word=3), "relu",
        MULTIPLY + 2 * ADD + ADD + ADD + 1,
    ),
    "sixteen": (FIXED, dict(inputs=32, outputs=3, input_word=16), "relu", 2 + 16 + 1 + 2 + 1),
    "float, apart": (
        FLOAT, dict(inputs=20, outputs=3, input_word=2, interleave=4), "linear",
        MULTIPLY + ADD + ADD + 2 * ADD + ADD,
    ),
    "float, a word a sum": (
        FLOAT, dict(inputs=6, outputs=2, input_word=2, interleave=4), "relu",
        MULTIPLY + ADD + 2 * ADD + ADD + 1,
    ),
}  # fmt: skip
#: The others have longer words, or are cut as these are.
QUICK = ["memory", "narrow", "two sums", "one sum", "float, apart", "float, a word a sum"]


class Timeline:
    """Samples through a Column, and what leaves it in each clock."""

    def __init__(self, case, seed):
        self.arithmetic, sizes, self.activation, _ = CASES[case]
        self.shape = BlockShape(**sizes)
        self.unit = Column(self.arithmetic, self.shape, self.activation)
        self.rng, self.clocks, self.clock, self.left = np.random.default_rng(seed), Clocks(), 0, {}
        shape = self.shape
        self.weights = self.draw("weight", shape.output_words, shape.input_words, shape.input_word)
        self.bias = self.draw("weight", shape.output_words)

    def draw(self, kind, *size):
        return numbers(self.arithmetic, kind, size, self.rng)

    def sample(self, x, gap):
        """``x`` [input_words, input_word]; at most ``gap`` clocks before a word."""
        shape, skew = self.shape, self.arithmetic.dot_skew
        y, clipped = column(
            self.arithmetic, shape, self.activation, self.weights, self.bias, x[..., None]
        )
        for word in range(shape.input_words):
            last = word >= shape.input_words - shape.interleave
            if not last or word % shape.interleave == 0:
                self.clock += self.rng.integers(gap + 1)
            for output in range(shape.output_words):
                block = dict(
                    valid=1,
                    first=word < shape.interleave,
                    last=last,
                    apart=word % shape.interleave,
                    output=output,
                )
                self.clocks.at(self.clock, block=block)
                for k in range(shape.input_word):
                    at = self.clock + k * skew
                    self.element(at, k, x[word, k], self.weights[output, word, k])
                self.clocks.at(self.clock + self.unit.clocks.bias, bias=self.bias[output])
                if last and word == shape.input_words - 1:
                    self.left[self.clock + self.unit.latency] = y[output, 0], clipped[output, 0]
                self.clock += 1

    def element(self, clock, k, x, weight):
        """What stands beside it in this clock is of other blocks."""
        self.clocks.at(clock)
        inputs = self.clocks.inputs[clock]
        inputs.setdefault("x", {})[k], inputs.setdefault("weight", {})[k] = x, weight

    def run(self, simulate, directory):
        applied = self.unit.latency - self.unit.clocks.rounded
        end = self.clock + self.unit.latency
        for clock in range(end):
            value, _ = self.left.get(clock, (None, None))
            self.clocks.expect(
                clock,
                y=dict(valid=value is not None) | ({} if value is None else dict(value=value)),
            )
        for clock in range(end - applied):
            _, clipped = self.left.get(clock + applied, (None, 0))
            self.clocks.expected[clock]["y"]["clipped"] = clipped
        self.clocks.run(simulate, self.unit, directory)


@pytest.mark.parametrize("case", long_but(QUICK, CASES))
def test_samples(simulate, tmp_path, case):
    """Back to back, and with gaps between words."""
    timeline = Timeline(case, 1)
    shape = timeline.shape
    for number in range(12):
        x = timeline.draw("activation", shape.input_words, shape.input_word)
        if number == 5:  # of this sample nothing may be left in the next
            x[:] = timeline.arithmetic.activation.low if timeline.arithmetic.saturates else np.nan
        timeline.sample(x, 0 if number < 6 else 5)
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_latency(case):
    arithmetic, sizes, activation, latency = CASES[case]
    assert Column(arithmetic, BlockShape(**sizes), activation).latency == latency


@pytest.mark.parametrize(
    "arithmetic, sizes, match",
    [
        (FLOAT, dict(outputs=7), "^output words times interleave must be at least 8, not 7 x 1$"),
        (FIXED, dict(outputs=7, interleave=2), "^interleave must be 1 in fixed point, not 2$"),
    ],
)
def test_shapes_that_are_none(arithmetic, sizes, match):
    with pytest.raises(ValueError, match=match):
        Column(arithmetic, BlockShape(inputs=9, **sizes), "relu")
