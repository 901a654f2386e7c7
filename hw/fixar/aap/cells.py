"""The cells of a core: a memory whose lower and upper halves of cells are written separately."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.config import CODE_WIDTH
from hw.fixar.layouts import cells_layout
from hw.stream.delay import delay
from hw.stream.ram import Ram, style_of

__all__ = ["CellMemory"]


class CellMemory(wiring.Component):
    """Reads a word of cells in two clocks, memory and register: ``o`` is the word at the
    ``address`` of two clocks ago.

    A written word may be read from the next clock on, not in the same clock.

    Parameters
    ----------
    side, depth : int
        Cells of a word, and words.
    ultra_ram : bool
        Whether a deep memory is made of UltraRAM.

    Members
    -------
    address : In(range(depth))
        The word to read.
    o : Out([side] of 32 bits)
        The word that was read.
    halves : In(2), write_address : In(range(depth)), write : In([side] of 32 bits)
        Bit 0 of ``halves``: the lower halves of all cells are written; bit 1: the upper ones.
    """

    LATENCY = 2

    def __init__(self, side, depth, ultra_ram=True):
        self.side, self.depth, self.style = side, depth, style_of(depth, ultra_ram)
        word = cells_layout(side)
        super().__init__(
            {
                "address": In(range(depth)),
                "o": Out(word),
                "halves": In(2),
                "write_address": In(range(depth)),
                "write": In(word),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for half, name in enumerate(("lower", "upper")):
            memory = Ram(width=self.side * CODE_WIDTH, depth=self.depth, style=self.style)
            m.submodules[name] = memory
            written = [self.write[k].word_select(half, CODE_WIDTH) for k in range(self.side)]
            read = delay(m, memory.read_data, 1, name=name)
            m.d.comb += [
                memory.read_address.eq(self.address),
                memory.write_enable.eq(self.halves[half]),
                memory.write_address.eq(self.write_address),
                memory.write_data.eq(Cat(written)),
            ]
            for k in range(self.side):
                place = self.o[k].word_select(half, CODE_WIDTH)
                m.d.comb += place.eq(read.word_select(k, CODE_WIDTH))
        return m
