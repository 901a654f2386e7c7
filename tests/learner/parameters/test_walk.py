"""walk of blocks: places part by part, by image words or not, and their padding."""

import numpy as np
import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from clocks import Clocks

from hw.learner.block.config import BlockShape
from hw.learner.parameters.walk import Walk, kinds, padding, place_layout

#: Padding in the last own word, in the joined one and in one without an input; in the last output
#: word; parts of two image words, with padding behind a block. Free outputs, in words that have
#: weights, in part or none. Then one place alone.
CASES = {
    "padded": dict(
        inputs=9, outputs=5, input_word=4, output_word=3, part=8, joined=2, interleave=4
    ),
    "free": dict(inputs=3, outputs=7, input_word=2, output_word=2, part=2, free=4),
    "one": dict(inputs=1, outputs=1),
}


class Padded(wiring.Component):
    """``bits``: ``padding`` of ``place`` of the clock before."""

    def __init__(self, shape):
        self.shape = shape
        super().__init__({"place": In(place_layout(shape)), "bits": Out(shape.part)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.bits.eq(padding(m, self.shape, self.place, name="padding"))
        return m


def places(shape):
    """All places, in the order of the image."""
    found, inputs = [], shape.input_words_filled()
    words = shape.output_words_weighted(), shape.output_words_filled()
    known = kinds(words[0] + words[1])
    for bias, count in ((0, shape.blocks), (1, shape.output_words)):
        for address in range(count):
            word, output = divmod(address, shape.output_words)
            for part in range(shape.bias_parts if bias else shape.weight_parts):
                found.append(
                    dict(
                        bias=bias, address=address, part=part, index=len(found),
                        output_kind=known.index(words[bias][output]),
                    )
                )  # fmt: skip
                if not bias:
                    found[-1]["input_kind"] = kinds(inputs).index(inputs[word])
    return [dict(place, last=place is found[-1]) for place in found]


@pytest.mark.parametrize("case", CASES)
def test_walks(simulate, tmp_path, case):
    """Whole, then by image words with gaps, then whole again."""
    shape, rng, clocks = BlockShape(**CASES[case]), np.random.default_rng(1), Clocks()
    words = shape.part // shape.image_word
    for whole in (1, 0, 1):
        clocks.expect(clocks.add(start=1, whole=whole), active=0)
        for place in places(shape):
            for word in range(1 if whole else words):
                last = place["last"] and (whole or word == words - 1)
                shown = dict(active=1, word=word, place=dict(place, last=last))
                while not whole and rng.random() < 0.4:
                    clocks.expect(clocks.add(whole=whole), **shown)
                clocks.expect(clocks.add(whole=whole, advance=1), **shown)
        clocks.expect(clocks.add(whole=whole, advance=1), active=0)
    clocks.run(simulate, Walk(shape), tmp_path)


@pytest.mark.parametrize("case", ["padded", "free"])
def test_padding(simulate, tmp_path, case):
    """What ``pack`` leaves at zero, and weights of free outputs."""
    shape, clocks = BlockShape(**CASES[case]), Clocks()
    weights = np.ones((shape.outputs, shape.inputs))
    weights[shape.outputs - shape.free :] = 0
    ones = shape.pack(weights, np.ones(shape.outputs))
    for place in places(shape):
        numbers = ones[place["index"] * shape.part :][: shape.part]
        bits = sum(int(number == 0) << k for k, number in enumerate(numbers))
        clocks.expect(clocks.add(place=place) + 1, bits=bits)
    clocks.run(simulate, Padded(shape), tmp_path)


def test_kinds():
    """The most frequent one needs no case."""
    assert kinds((3, 3, 1, 3, 0, 0)) == [3, 0, 1]
