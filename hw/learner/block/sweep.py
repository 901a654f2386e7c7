"""The order of a layer's blocks, issued from the input words of samples as these come.

Interval: ``interval`` clocks a sample; the first block of a word is issued when the word is taken.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.comparison import at_least, below
from hw.learner.block.config import column_block

__all__ = ["Sweep"]


class Sweep(wiring.Component):
    """Issues the blocks of samples, one a clock: block (i, 0) when it takes input word i, and
    blocks (i, 1) to (i, O - 1) in the next clocks, where O is ``shape.output_words``. Then it may
    take word i + 1, so that a sample without gaps takes ``shape.blocks`` clocks. Any number of
    clocks may lie between two words.

    The same block of two samples is issued at least ``spacing`` clocks apart: after its last block
    the sweep waits for the missing clocks.

    Parameters
    ----------
    shape : BlockShape
    word : ShapeLike
        Of an input word.
    spacing : int
        Clocks between the same blocks of two samples, at least.

    Attributes
    ----------
    interval : int
        Clocks between the first words of two samples, if no word is late.

    Members
    -------
    i : In(stream of word)
        ``shape.input_words`` words a sample.
    room : In(1)
        A sample may begin: its first word is taken only if ``room`` is high. It matters only there
        (``docs/flow_control.md``).
    block : Out(column_block)
        The block that is issued in this clock, if ``valid``.
    address : Out(range(shape.blocks))
        Address of the block, ``i * O + o``; while none is issued, of the next block.
    started, ended : Out(1)
        Pulses: the first, or the last, block of a sample is issued in this clock.
    word : Out(word)
        The input word of the block that was issued in the clock before; if that was none, it is
        undefined.
    """

    def __init__(self, shape, word, spacing=0):
        self.shape, self.interval = shape, max(shape.blocks, spacing)
        super().__init__(
            {
                "i": In(stream.Signature(word)),
                "room": In(1),
                "block": Out(column_block(shape)),
                "address": Out(range(shape.blocks)),
                "started": Out(1),
                "ended": Out(1),
                "word": Out(word),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape, block = self.shape, self.block
        number, output = Signal(range(shape.input_words)), Signal(range(shape.output_words))
        missing = self.interval - shape.blocks
        wait = Signal(range(missing + 1))
        takes, final = Signal(), Signal()  # a word would be taken here; the last block of a word
        m.d.comb += [
            takes.eq((output == 0) & (wait == 0)),
            self.i.ready.eq(takes & ((number != 0) | self.room)),
            block.valid.eq((self.i.valid & self.i.ready) | (output != 0)),
            block.first.eq(below(number, shape.interleave)),
            block.last.eq(at_least(number, shape.input_words - shape.interleave)),
            block.apart.eq(number & (shape.interleave - 1)),
            block.output.eq(output),
            final.eq(block.valid & (output == shape.output_words - 1)),
            self.started.eq(self.i.valid & self.i.ready & (number == 0)),
            self.ended.eq(final & (number == shape.input_words - 1)),
        ]
        word = Signal(self.i.payload.shape(), reset_less=True)
        m.d.comb += self.word.eq(word)
        with m.If(takes):
            m.d.sync += word.eq(self.i.payload)
        with m.If(block.valid):
            m.d.sync += [output.eq(output + 1), self.address.eq(self.address + 1)]
        with m.If(final):
            m.d.sync += [output.eq(0), number.eq(number + 1)]
        with m.If(self.ended):
            m.d.sync += [number.eq(0), self.address.eq(0), wait.eq(missing)]
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        return m
