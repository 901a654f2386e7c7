"""hw.learner.chain.forward_pe: what a PE makes of its tokens, and what it lets past."""

import numpy as np
import pytest
from arith.adder_tree_twin import accumulate, adder_tree
from clocks import Clocks
from learner.numbers import numbers

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.chain.forward_pe import ForwardPE
from hw.learner.memory_ports import READ_LATENCY
from sim.model.arith.arithmetic import twin_of

MULTIPLY, ADD = Arithmetic().multiply_latency, Arithmetic().add_latency
NETWORKS = ("online", "target")
DOUBLE = ("online", "target", "online")

#: kind, lanes, sources, position in the chain, layer; latency worked by hand: read, multiply,
#: log2(vector) additions and the accumulator's, a register. The loop of a sum may be as short as
#: an addition; a PE may have no output.
CASES = {
    "one word, one row": ("fixed", 1, ("target",), 0, dict(inputs=1, outputs=1), 2 + 2 + 1 + 1),
    "chain": ("fixed", 2, NETWORKS, 0, dict(inputs=10, outputs=7, vector=2, length=2), 7),
    "padded rows": ("fixed", 1, DOUBLE, 1, dict(inputs=20, outputs=7, vector=4, length=2), 8),
    "no output": ("fixed", 1, ("online",), 3, dict(inputs=12, outputs=5, length=4), 6),
    "interleave": ("fixed", 1, NETWORKS, 0, dict(inputs=9, outputs=2, vector=2, interleave=3), 7),
    "float": (
        "float32",
        2,
        NETWORKS,
        0,
        dict(inputs=13, outputs=11, vector=4, length=2),
        2 + MULTIPLY + 3 * ADD + 1,
    ),
    "float interleave": (
        "float32",
        1,
        ("online",),
        0,
        dict(inputs=29, outputs=1, vector=2, interleave=7),
        2 + MULTIPLY + 2 * ADD + 1,
    ),
}
EACH_CASE = pytest.mark.parametrize("case", CASES)


def made(case):
    kind, lanes, weight_sources, position, shape, _ = CASES[case]
    config, layer = (
        LayerConfig(arithmetic=Arithmetic(kind=kind), lanes=lanes),
        LayerShape(**shape),
    )
    return config, layer, weight_sources, layer.outputs_of(position)


def sums(config, layer, weight_sources, weights, x):
    """[interleave, rows, groups, lanes] partial sums of a sample.

    weights : name -> [words, rows, vector]; x : [words, groups, lanes, vector]
    """
    arithmetic = config.arithmetic
    multiply = twin_of(arithmetic).multiply
    result = []
    for group, network in enumerate(weight_sources):
        # [vector, words, rows, lanes]
        w = np.moveaxis(weights[network], -1, 0)[..., None]
        products = multiply(w, np.moveaxis(x[:, group], -1, 0)[:, :, None])
        result.append(accumulate(arithmetic, adder_tree(arithmetic, products), layer.interleave))
    return np.stack(result, axis=2)


class Timeline:
    """Macro-cycles of a ``ForwardPE``, and what each of their clocks must show."""

    def __init__(self, case, seed):
        self.config, self.layer, self.weight_sources, self.outputs = made(case)
        self.latency = CASES[case][-1]
        self.rng, self.clocks, self.cycle = np.random.default_rng(seed), Clocks(), 0
        layer = self.layer
        self.weights = {
            name: self.draw("weight", layer.words, layer.rows, layer.vector) for name in NETWORKS
        }
        self.emitted, self.before = {}, (dict(valid=0), None)

    def draw(self, kind, *shape):
        return numbers(self.config.arithmetic, kind, shape, self.rng)

    def x(self, *shape):
        sizes = len(self.weight_sources), self.config.lanes, self.layer.vector
        return self.draw("activation", *shape, *sizes)

    def macro_cycle(self, token, x, word=None):
        """One token, or a bubble, with everything that rides along."""
        layer, clocks = self.layer, self.clocks
        for row in range(layer.rows):
            clock = self.cycle * layer.rows + row
            clocks.at(clock, hop=row == layer.rows - 1, row=row, token=token)
            late = clock + READ_LATENCY
            # The next PE is a macro-cycle behind this one.
            clocks.expect(clock, token_o=self.before[0])
            if self.before[1] is not None:
                clocks.expect(late, x_o=self.before[1])
            weight = {name: self.draw("weight", layer.vector) for name in NETWORKS}
            if token["valid"]:
                clocks.expect(clock, address=word * layer.rows + row)
                weight = {name: self.weights[name][word, row] for name in NETWORKS}
            clocks.at(late, x=x, weight=weight)
        self.before = token, x
        self.cycle += 1

    def flags(self, word):
        """Of a token of this word, and of a bubble before it."""
        layer = self.layer
        return dict(first=word < layer.interleave, last=word >= layer.words - layer.interleave)

    def bubbles(self, count, word=0):
        for _ in range(count):
            self.macro_cycle(dict(valid=0, **self.flags(word)), self.x())

    def sample(self, x, pause=0.0):
        """Groups of ``interleave`` tokens, with such groups of bubbles before them."""
        layer = self.layer
        expected = sums(self.config, layer, self.weight_sources, self.weights, x)
        for word in range(layer.words):
            if word % layer.interleave == 0:
                while self.rng.random() < pause:
                    self.bubbles(layer.interleave, word)
            token = dict(valid=1, **self.flags(word))
            for row in range(self.outputs if token["last"] else 0):
                leaves = self.cycle * layer.rows + row + self.latency
                self.emitted[leaves] = expected[word % layer.interleave, row]
            self.macro_cycle(token, x[word], word)

    def let_past(self):
        """Sums of the PE behind this one, in any clocks that this one's own leave free."""
        sizes = len(self.weight_sources), self.config.lanes
        for clock in range(1, self.cycle * self.layer.rows + self.latency):
            value = self.emitted.get(clock)
            passes = value is None and self.rng.random() < 0.5
            other = self.draw("activation", *sizes)
            if passes or value is None:
                # What is beside a low ``valid`` is of no effect.
                self.clocks.at(clock - 1, sum_i=dict(valid=passes, value=other))
                value = other
            valid = passes or clock in self.emitted
            self.clocks.expect(clock, sum_o=dict(valid=1, value=value) if valid else dict(valid=0))

    def run(self, simulate, directory):
        self.let_past()
        unit = ForwardPE(self.config, self.layer, self.weight_sources, self.outputs)
        self.clocks.run(simulate, unit, directory)


@EACH_CASE
def test_samples(simulate, tmp_path, case):
    """Back to back, then with bubbles before and inside of samples."""
    timeline = Timeline(case, 1)
    words = timeline.layer.words
    for pause in (0.0, 0.0, 0.0, 0.3, 0.3, 0.6):
        timeline.sample(timeline.x(words), pause)
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("case", ["chain", "interleave", "float", "float interleave"])
def test_no_number_of_another_sample(simulate, tmp_path, case):
    """Zeros between numbers that have no sum with others: NaNs, or the lowest there are."""
    timeline = Timeline(case, 2)
    arithmetic = timeline.config.arithmetic
    words = timeline.layer.words
    for number in range(5):
        x = timeline.x(words)
        if number % 2:
            x[:] = 0
        else:
            x[:] = arithmetic.activation.low if arithmetic.saturates else np.nan
        timeline.sample(x)
        timeline.bubbles(timeline.layer.interleave * (number % 3))
    timeline.run(simulate, tmp_path)


@EACH_CASE
def test_latency(case):
    config, layer, _, _ = made(case)
    assert ForwardPE.latency_of(config, layer) == CASES[case][-1]


def test_stated_sums():
    """Two words of two numbers: dots first, then one to the other; and two partial sums."""
    weights = dict(online=np.array([[[1, 2]], [[3, 4]]]))
    x = np.array([[[[10, 20]]], [[[30, 40]]]])
    config = LayerConfig(arithmetic=Arithmetic(kind="fixed"))
    for interleave, expected in ((1, [[[[300]]]]), (2, [[[[50]]], [[[250]]]])):
        layer = LayerShape(inputs=4, outputs=1, vector=2, interleave=interleave)
        assert sums(config, layer, ("online",), weights, x).tolist() == expected
