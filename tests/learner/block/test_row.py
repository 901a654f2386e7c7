"""hw.learner.block.row: errors of inputs, word by word with gaps, against the twin."""

import numpy as np
import pytest
from clocks import Clocks
from learner.numbers import NARROW, activations, numbers

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.row import Row
from sim.model.learner.block import row

FIXED, FLOAT = Arithmetic(kind="fixed"), Arithmetic()
MULTIPLY, ADD = FLOAT.multiply_latency, FLOAT.add_latency
#: Arithmetic, sizes, the activation that made x, and the latency, worked out by hand: as of a
#: column, without a bias.
CASES = {
    "words": (FIXED, dict(inputs=5, outputs=22, output_word=8), "relu", 2 + 8 + 1 + 2 + 1),
    "narrow": (NARROW, dict(inputs=4, outputs=9, output_word=3), "tanh", 2 + 3 + 1 + 2 + 6),
    "one word": (NARROW, dict(inputs=6, outputs=2, output_word=2), "linear", 2 + 2 + 2),
    "float": (
        FLOAT, dict(inputs=3, outputs=14, output_word=5), "relu",
        MULTIPLY + 3 * ADD + 2 * ADD + 1,
    ),
    "float, one word": (FLOAT, dict(inputs=4, outputs=1), "linear", MULTIPLY),
}  # fmt: skip


def made(case):
    arithmetic, sizes, activation, _ = CASES[case]
    shape = BlockShape(**sizes)
    return arithmetic, shape, activation, Row(arithmetic, shape, activation)


@pytest.mark.parametrize("case", CASES)
def test_samples(simulate, tmp_path, case):
    arithmetic, shape, activation, unit = made(case)
    rng, clocks, clock, left = np.random.default_rng(3), Clocks(), 0, {}
    clipped = {}
    weights = numbers(
        arithmetic, "weight", (shape.input_words, shape.output_words, shape.output_word), rng
    )
    for number in range(10):
        size = (shape.output_words, shape.output_word)
        delta = numbers(arithmetic, "gradient", size, rng)
        if number == 4:  # of this sample nothing may be left in the next
            delta[:] = arithmetic.gradient.low if arithmetic.saturates else np.nan
        x = activations(arithmetic, activation, (shape.input_words,), rng)
        dx, clips = row(arithmetic, activation, weights, delta[..., None], x[:, None])
        for word in range(shape.input_words):
            clock += rng.integers(4) if number > 4 else 0
            for output in range(shape.output_words):
                clocks.at(clock, block=dict(valid=1, output=output))
                for k in range(shape.output_word):
                    at = clock + k * arithmetic.dot_skew
                    clocks.at(at)
                    inputs = clocks.inputs[at]
                    inputs.setdefault("delta", {})[k] = delta[output, k]
                    inputs.setdefault("weight", {})[k] = weights[word, output, k]
                clock += 1
            clocks.at(clock - 1 + unit.clocks.x, x=x[word])
            clipped[clock - 1 + unit.clocks.x] = clips[word, 0]
            left[clock - 1 + unit.latency] = dx[word, 0]
    for at in range(clock + unit.clocks.x):
        value = left.get(at)
        dx = dict(valid=value is not None, clipped=clipped.get(at, 0))
        clocks.expect(at, dx=dx | ({} if value is None else dict(value=value)))
    clocks.run(simulate, unit, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_latency(case):
    assert made(case)[-1].latency == CASES[case][-1]
