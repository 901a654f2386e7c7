"""hw.learner.block.gradient_element: products of all lanes added to a word of memory."""

import numpy as np
import pytest
from clocks import Clocks
from learner.numbers import NARROW, numbers

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.gradient_element import GradientElement
from sim.model.learner.block import gradient_element

FIXED, FLOAT = Arithmetic(kind="fixed"), Arithmetic()
MULTIPLY, ADD = FLOAT.multiply_latency, FLOAT.add_latency
#: Arithmetic, lanes, cascaded; latency and loop, worked out by hand.
CASES = {
    "one lane": (FIXED, 1, True, 2 + 1, 2),
    "two lanes": (NARROW, 2, True, 2 + 2, 3),
    "four lanes": (FIXED, 4, True, 2 + 4, 5),
    "adder": (FIXED, 4, False, 2 + 4 + 1, 1),
    "float": (FLOAT, 3, True, MULTIPLY + 2 * ADD + ADD, ADD),
    "float, one lane": (FLOAT, 1, False, MULTIPLY + ADD, ADD),
}


def made(case):
    arithmetic, lanes, cascaded, *_ = CASES[case]
    return arithmetic, GradientElement(arithmetic, lanes, 64, cascaded)


@pytest.mark.parametrize("case", CASES)
def test_sums(simulate, tmp_path, case):
    """Sums of several weights in turn, each from nothing and over some super-samples."""
    (arithmetic, unit), lanes = made(case), CASES[case][1]
    rng, clocks, weights = np.random.default_rng(5), Clocks(), unit.loop + 2
    for batch in range(4):
        size = (weights, batch + 3, lanes)
        delta, x = (numbers(arithmetic, kind, size, rng) for kind in ("gradient", "activation"))
        words = [numbers(arithmetic, "gradient", (), rng)] * weights  # is fresh
        for sample in range(batch + 3):
            for weight in range(weights):
                clock = (sample + batch * 6) * weights + weight
                for lane in range(lanes):
                    at = clock + lane * arithmetic.dot_skew
                    clocks.at(at)
                    inputs = clocks.inputs[at]
                    inputs.setdefault("delta", {})[lane] = delta[weight, sample, lane]
                    inputs.setdefault("x", {})[lane] = x[weight, sample, lane]
                given = dict(word=words[weight], fresh=sample == 0)
                clocks.at(clock + unit.word_latency, **given)
                done = slice(0, sample + 1)
                words[weight] = gradient_element(arithmetic, delta[weight, done], x[weight, done])
                clocks.expect(clock + unit.latency, total=words[weight])
    clocks.run(simulate, unit, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_latency_and_loop(case):
    _, unit = made(case)
    assert (unit.latency, unit.loop) == CASES[case][-2:]


@pytest.mark.parametrize("lanes", [0, 17])
def test_lanes(lanes):
    with pytest.raises(ValueError, match=rf"^lanes must be an integer in 1\.\.16, not {lanes}$"):
        GradientElement(FIXED, lanes, 64)
