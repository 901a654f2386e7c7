"""Visits the parameters of a layer part by part, in the order of its image: blocks, then biases.

Interval 1, if it advances in every clock.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Walk", "place_layout", "padding"]


def place_layout(shape):
    """The layout of the place of a part of the parameters of a BlockShape.

    bias : it is of biases, not of a block
    address : the block, or the output word of the biases
    part : number of the part in the block, or in the output word
    index : number of the part in all, 0 .. parts - 1
    input_kind, output_kind : how many numbers of the block's input word, and of the output word,
        are no padding, as a number in ``kinds`` of the words. In a block, free outputs are padding
    last : it is the last part
    """
    return data.StructLayout(
        {
            "bias": 1,
            "address": range(max(shape.blocks, shape.output_words)),
            "part": range(max(shape.weight_parts, shape.bias_parts)),
            "index": range(shape.parts),
            "input_kind": range(len(kinds(shape.input_words_filled()))),
            "output_kind": range(len(kinds(_output_words(shape)))),
            "last": 1,
        }
    )


def kinds(filled):
    """The different numbers in ``filled``, the most frequent one first."""
    return sorted(set(filled), key=lambda count: (-filled.count(count), count))


def _output_words(shape):
    """How many numbers of each output word are no padding, first in blocks, then of biases."""
    return shape.output_words_weighted() + shape.output_words_filled()


def padding(m, shape, place, *, name):
    """A bit for each number of the part at ``place``: it is no weight and no bias, but padding."""
    row = _padding(m, shape.input_words_filled(), place.input_kind, shape.input_word, f"{name}_row")
    column = _padding(
        m, _output_words(shape), place.output_kind, shape.output_word, f"{name}_column"
    )
    block = Cat(column | bit.replicate(shape.output_word) for bit in row)
    bits = Signal(shape.part, name=name)
    with m.Switch(Cat(place.part, place.bias)):
        for bias, numbers in enumerate((block, column)):
            for part in range(-(-len(numbers) // shape.part)):
                with m.Case(bias << len(place.part) | part):
                    chosen = numbers[part * shape.part : (part + 1) * shape.part]
                    behind = shape.part - len(chosen)
                    m.d.comb += bits.eq(Cat(chosen, Const(1, 1).replicate(behind)))
    return bits


def _padding(m, filled, kind, width, name):
    """A bit for each of ``width`` numbers of a word of ``kind``: it is padding."""
    bits = Signal(width, name=name)
    with m.Switch(kind):
        for number, count in enumerate(kinds(filled)):
            with m.Case(number):
                m.d.comb += bits.eq(((1 << width) - 1) >> count << count)
    return bits


class Walk(wiring.Component):
    """Counts through the parts of all blocks, then of the biases of all output words.

    Parameters
    ----------
    shape : BlockShape

    Members
    -------
    start : In(1), whole : In(1)
        ``start``, a pulse: the first part shows in the next clock. ``whole``, steady until the end:
        a part shows at once; if 0, it shows once for each of its image words.
    advance : In(1)
        The next part or image word, or the end, shows in the next clock.
    active : Out(1)
        A part shows: ``place`` and ``word`` are valid.
    place : Out(place_layout)
        ``last`` marks the last image word, if not ``whole``.
    word : Out
        The image word of the part, 0 if ``whole``.
    """

    def __init__(self, shape):
        self.shape = shape
        super().__init__(
            {
                "start": In(1),
                "whole": In(1),
                "advance": In(1),
                "active": Out(1),
                "place": Out(place_layout(shape)),
                "word": Out(range(shape.part // shape.image_word)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape, place = self.shape, self.place
        inputs, outputs = Signal(range(shape.input_words)), Signal(range(shape.output_words))
        part_end, word_end, end, row_end = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            part_end.eq(self.whole | (self.word == shape.part // shape.image_word - 1)),
            word_end.eq(place.part == Mux(place.bias, shape.bias_parts, shape.weight_parts) - 1),
            row_end.eq(outputs == shape.output_words - 1),
            end.eq(row_end & (place.bias | (inputs == shape.input_words - 1))),
            place.last.eq(place.bias & part_end & word_end & end),
        ]
        counted = Cat(place.bias, place.address, place.part, place.index, inputs, outputs)
        with m.If(self.start):
            m.d.sync += [self.active.eq(1), self.word.eq(0), counted.eq(0)]
        with m.Elif(self.active & self.advance):
            m.d.sync += [self.active.eq(~place.last), self.word.eq(self.word + 1)]
            with m.If(part_end):
                m.d.sync += [
                    self.word.eq(0),
                    place.index.eq(place.index + 1),
                    place.part.eq(Mux(word_end, 0, place.part + 1)),
                ]
                with m.If(word_end):
                    m.d.sync += [
                        place.address.eq(Mux(end, 0, place.address + 1)),
                        outputs.eq(Mux(row_end, 0, outputs + 1)),
                        inputs.eq(inputs + row_end),
                        place.bias.eq(place.bias | end),
                    ]
        filled = shape.input_words_filled()
        self._kind(m, place.input_kind, inputs, filled, kinds(filled))
        known, filled = kinds(_output_words(shape)), shape.output_words_filled()
        if not shape.free:
            self._kind(m, place.output_kind, outputs, filled, known)
            return m
        with m.If(place.bias):
            self._kind(m, place.output_kind, outputs, filled, known)
        with m.Else():
            self._kind(m, place.output_kind, outputs, shape.output_words_weighted(), known)
        return m

    def _kind(self, m, kind, word, filled, known):
        with m.Switch(word):
            for number, count in enumerate(known[1:], 1):
                if count in filled:
                    with m.Case(*(k for k, other in enumerate(filled) if other == count)):
                        m.d.comb += kind.eq(number)
