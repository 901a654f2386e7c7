"""parameter_walk: every word of a layer's memories, once, in the order of the image."""

import random

import pytest
from clocks import Clocks

from hw.learner.chain.config import LayerShape
from hw.learner.parameters.parameter_walk import ParameterWalk

#: Layer, PEs of a unit, biases of one if not all. Padding of inputs and outputs, a PE without an
#: output, units of one PE, of all, and of unequal size; memories of one word.
CASES = {
    "one": (dict(inputs=1, outputs=1), 1),
    "padded": (dict(inputs=11, outputs=5, vector=4, length=2), 1),
    "a PE without an output": (dict(inputs=11, outputs=5, vector=2, length=4), 2),
    "one unit": (dict(inputs=6, outputs=6, length=3), 3),
    "last unit has one PE": (dict(inputs=13, outputs=10, vector=2, length=5), 2),
    "words of padding": (dict(inputs=5, outputs=3, interleave=4), 1),
    "many biases": (dict(inputs=9, outputs=12, length=6), 4),
    "biases of four units": (dict(inputs=19, outputs=13, length=4), 1, 4),
    "a bias of each unit": (dict(inputs=9, outputs=3, length=3), 1, 1),
}


def visits(layer, members, biases, parallel):
    """What a scan shows, word by word."""
    rounds = members if parallel else layer.length
    for member in range(rounds):
        step = members if parallel else layer.length
        select = sum(1 << pe for pe in range(member, layer.length, step))
        for word in range(layer.words):
            for row in range(layer.rows):
                rows = [
                    pe * layer.rows + row < min((pe + 1) * layer.rows, layer.outputs)
                    for pe in range(layer.length)
                ]
                columns = [word * layer.vector + k < layer.inputs for k in range(layer.vector)]
                yield dict(
                    select=select,
                    bias=0,
                    address=word * layer.rows + row,
                    rows=sum(bit << pe for pe, bit in enumerate(rows)),
                    columns=sum(bit << k for k, bit in enumerate(columns)),
                    last=0,
                )
    count = biases if parallel else layer.outputs
    for output in range(count):
        # A bias is number 0 of its word, and is not padding.
        column = dict(columns=1) if layer.vector == 1 else {}
        yield dict(select=0, bias=1, address=output, last=output == count - 1, **column)


class Session:
    """Scans of one layer, and what each clock must show."""

    def __init__(self, case):
        values, self.members, *biases = CASES[case]
        self.layer, self.clocks = LayerShape(**values), Clocks()
        self.biases = biases[0] if biases else self.layer.outputs
        self.rng = random.Random(1)
        # Before the first of all.
        self.clocks.expect(self.clocks.add(), active=0)

    def scan(self, parallel, gap=0.0, words=None):
        """One scan, or its first ``words``, with pauses between words."""
        self.clocks.add(start=1, parallel=parallel, advance=self.rng.randrange(2))
        expected = list(visits(self.layer, self.members, self.biases, parallel))
        for shown in expected[:words]:
            advance = 0
            while not advance:
                advance = self.rng.random() >= gap
                clock = self.clocks.add(advance=advance, parallel=parallel)
                self.clocks.expect(clock, active=1, **shown)
        return len(expected)

    def idle(self):
        for _ in range(3):
            self.clocks.expect(self.clocks.add(advance=1), active=0)

    def run(self, simulate, directory):
        walk = ParameterWalk(self.layer, self.members, self.biases)
        self.clocks.run(simulate, walk, directory)


@pytest.mark.parametrize("case", CASES)
def test_scans(simulate, tmp_path, case):
    """Both sets, back to back, with and without pauses; nothing moves at the end."""
    session = Session(case)
    layer, members = session.layer, session.members
    for gap in (0.0, 0.6):
        assert session.scan(1, gap) == ParameterWalk.words(layer, members, session.biases)
        session.idle()
        assert session.scan(0, gap) == ParameterWalk.words(layer, layer.length)
        session.scan(1, gap)
    session.idle()
    session.run(simulate, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_start_again(simulate, tmp_path, case):
    """A start in the first word, in the middle, in the biases and at the end begins anew."""
    session = Session(case)
    words = ParameterWalk.words(session.layer, session.members, session.biases)
    for begun in (1, words // 2, words - session.biases, words - 1):
        session.scan(1, words=begun)
    session.scan(1)
    session.idle()
    session.run(simulate, tmp_path)


def test_stated_scan(simulate, tmp_path):
    """Two PEs of one unit, two rows, three outputs, three words of which the last is half padding;
    then the biases."""
    clocks = Clocks()
    clocks.add(start=1, parallel=1)
    for select, address, rows, columns in [
        (1, 0, 3, 3),
        (1, 1, 1, 3),
        (1, 2, 3, 3),
        (1, 3, 1, 3),
        (1, 4, 3, 1),
        (1, 5, 1, 1),
        (2, 0, 3, 3),
        (2, 1, 1, 3),
        (2, 2, 3, 3),
        (2, 3, 1, 3),
        (2, 4, 3, 1),
        (2, 5, 1, 1),
    ]:
        clock = clocks.add(parallel=1, advance=1)
        clocks.expect(clock, active=1, select=select, address=address, rows=rows, columns=columns)
    for output in range(3):
        clock = clocks.add(parallel=1, advance=1)
        clocks.expect(clock, select=0, bias=1, address=output, last=output == 2)
    clocks.expect(clocks.add(), active=0)
    clocks.run(
        simulate, ParameterWalk(LayerShape(inputs=5, outputs=3, vector=2, length=2), 2), tmp_path
    )
