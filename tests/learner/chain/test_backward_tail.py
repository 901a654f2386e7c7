"""hw.learner.chain.backward_tail: each word's sums over rows, rounded and times the derivative."""

import numpy as np
import pytest
from arith.adder_tree_twin import interleaved_sum
from clocks import Clocks
from learner.numbers import activations, numbers

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.backward_pe import BackwardPE
from hw.learner.chain.backward_tail import BackwardTail
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.memory_ports import READ_LATENCY
from sim.model.nn.activation import derivative

MULTIPLY, ADD = Arithmetic().multiply_latency, Arithmetic().add_latency

#: kind, lanes, groups, activation, layer; latency worked by hand: read, multiply, in a chain the
#: addition of the last PE; log2(rows) additions; rounding; the derivative.
CASES = {
    "one row": ("fixed", 1, 1, "linear", dict(inputs=1, outputs=1), 2 + 2 + 0 + 2),
    "relu": ("fixed", 2, 1, "relu", dict(inputs=5, outputs=4, vector=2), 2 + 2 + 2 + 2 + 1),
    "tanh": (
        "fixed",
        2,
        2,
        "tanh",
        dict(inputs=6, outputs=5, vector=2, length=2),
        (2 + 2 + 1) + 2 + 2 + 6,
    ),
    "long": ("fixed", 1, 1, "tanh", dict(inputs=3, outputs=19), (2 + 2) + 5 + 2 + 6),
    "float, one row": ("float32", 1, 2, "relu", dict(inputs=1, outputs=1), 2 + MULTIPLY + 0 + 1),
    "float": (
        "float32",
        2,
        1,
        "linear",
        dict(inputs=6, outputs=13, vector=2, length=2),
        (2 + MULTIPLY + ADD) + 3 * ADD,
    ),
    "float tanh": (
        "float32",
        1,
        1,
        "tanh",
        dict(inputs=2, outputs=3),
        (2 + MULTIPLY) + 2 * ADD + (2 * MULTIPLY + ADD),
    ),
}
EACH_CASE = pytest.mark.parametrize("case", CASES)


def made(case):
    kind, lanes, groups, activation, shape, _ = CASES[case]
    config = LayerConfig(arithmetic=Arithmetic(kind=kind), lanes=lanes)
    return config, LayerShape(**shape), groups, activation


def rounded(arithmetic, partials):
    """``(gradients, clipped)`` of sums over axis 0; fixed point half up, by Python's integers."""
    if not arithmetic.saturates:
        total = interleaved_sum(arithmetic, partials)
        return total, np.zeros(total.shape, bool)
    target, shift = arithmetic.gradient, arithmetic.weight.fraction
    total = [sum(column) for column in partials.reshape(len(partials), -1).T.tolist()]
    exact = [(2 * x + (1 << shift)) >> (shift + 1) for x in total]
    raw = np.array([min(max(x, target.low), target.high) for x in exact])
    shape = partials.shape[1:]
    return raw.reshape(shape), (raw != exact).reshape(shape)


def limits(arithmetic):
    """Sums on both sides of where rounding goes up, and of where a gradient is clipped."""
    one = 1 << arithmetic.weight.fraction
    ends = [number * one for number in (arithmetic.gradient.low, 0, arithmetic.gradient.high)]
    return [end + half + d for end in ends for half in (-one // 2, one // 2) for d in (-1, 0)]


def words(case, rng, count):
    """``count`` times (partials [rows, groups, lanes, vector], x [groups, lanes, vector])."""
    config, layer, groups, activation = made(case)
    arithmetic, sizes = config.arithmetic, (groups, config.lanes, layer.vector)
    special = [] if not arithmetic.saturates else limits(arithmetic)
    for number in range(count):
        x = activations(arithmetic, activation, sizes, rng)
        if not arithmetic.saturates:
            yield numbers(arithmetic, "gradient", (layer.rows, *sizes), rng), x
            continue
        # Products of a row's PEs; where all are the largest, the sum still has its bits.
        largest = layer.length * arithmetic.weight.low * arithmetic.gradient.low
        partials = rng.integers(-largest, largest + 1, (layer.rows, *sizes))
        partials >>= rng.integers(0, 20, partials.shape)
        if number == 0:
            partials[:] = largest
        elif number <= len(special):
            partials[1:] = 0
            partials[0] = special[number - 1]
        yield partials, x


@EACH_CASE
def test_words(simulate, tmp_path, case):
    """Words back to back, then with bubbles between them, of which nothing leaves."""
    config, layer, groups, activation = made(case)
    arithmetic, rows = config.arithmetic, layer.rows
    rng, clocks = np.random.default_rng(1), Clocks()
    latency = CASES[case][-1]
    before = BackwardPE.result_latency(config, layer.length - 1)
    into_derivative = latency - BackwardTail.latency_of(config, layer, "linear")
    clipped_words = 0
    count = 60
    # Behind the last word so many macro-cycles as there are on its way.
    for number, (partials, x) in enumerate(words(case, rng, count + latency // rows + 1)):
        valid = number < count // 2 or (number < count and rng.random() < 0.5)
        gradient, clipped = rounded(arithmetic, partials)
        for row in range(rows):
            hop = row == rows - 1
            clock = number * rows + row
            clocks.at(clock, hop=hop, row=row, ends=hop and valid)
            clocks.at(clock + READ_LATENCY, x=x)
            clocks.at(clock + before, partial=partials[row])
            leaves = clock + latency
            if hop and valid:
                dx = derivative(arithmetic, activation, gradient, x)
                clocks.expect(leaves, dx=dict(valid=1, value=dx))
                clipped_words += clipped.any()
            else:
                clocks.expect(leaves, dx=dict(valid=0))
            # Counted the clock after they are rounded.
            saturations = clipped.sum() if hop and valid else 0
            clocks.expect(leaves - into_derivative + 1, saturations=saturations)
    assert not arithmetic.saturates or clipped_words > 2
    clocks.run(simulate, BackwardTail(config, layer, groups, activation), tmp_path)


@EACH_CASE
def test_latency(case):
    config, layer, groups, activation = made(case)
    assert BackwardTail.latency_of(config, layer, activation) == CASES[case][-1]
    assert BackwardTail(config, layer, groups, activation).latency == CASES[case][-1]


def test_limits():
    """The first and last sums of all that are clipped, and ties."""
    arithmetic = Arithmetic(kind="fixed")
    gradient, clipped = rounded(arithmetic, np.array([limits(arithmetic)]))
    low, high = arithmetic.gradient.low, arithmetic.gradient.high
    assert gradient.tolist() == [low, low, low, low + 1, -1, 0, 0, 1, high - 1, high, high, high]
    assert clipped.tolist() == [True, *[False] * 10, True]
