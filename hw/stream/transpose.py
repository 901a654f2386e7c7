"""Transposes blocks of words: rows become columns.

Interval 1; latency 2 from the last word of a block to the first of its transpose.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_range
from hw.errors import UsageError
from hw.stream.ram import Ram

__all__ = ["Transpose"]


class Transpose(wiring.Component):
    """Transposes each block of ``size`` words: element j of leaving word k is element k of arriving
    word j.

    It holds two blocks at once, one that enters and one that leaves. Lane l of word j lies in
    memory (l + j) mod ``size``, so that the elements of a word lie in different memories, and so do
    those of a lane.

    Parameters
    ----------
    width : int
        Bits of an element.
    size : int
        Elements of a word and words of a block: a power of two, at least 2.

    Members
    -------
    i, o : In, Out(stream.Signature(data.ArrayLayout(width, size)))
        The arriving words, ``size`` a block; the leaving words, ``size`` for each whole block.
    """

    INTERVAL = 1
    LATENCY = 2

    def __init__(self, width, size):
        check_range("width", width, 1, 4096)
        if size not in (2, 4, 8, 16, 32):
            raise UsageError(f"size must be 2, 4, 8, 16 or 32, not {size!r}")
        self.width, self.size = width, size
        word = stream.Signature(data.ArrayLayout(width, size))
        super().__init__({"i": In(word), "o": Out(word)})

    def elaborate(self, platform):
        m = Module()
        # Words that entered, and that were fetched: their upper bit is the block's place. Blocks
        # that are whole: they count until their last word is fetched.
        entered, fetched = Signal(range(2 * self.size)), Signal(range(2 * self.size))
        whole = Signal(range(3))
        enter, fetch, ends, freed = Signal(), Signal(), Signal(), Signal()
        row, column = entered[:-1], fetched[:-1]
        m.d.comb += [
            self.i.ready.eq(whole != 2),
            enter.eq(self.i.valid & self.i.ready),
            fetch.eq((whole != 0) & (~self.o.valid | self.o.ready)),
            ends.eq(enter & row.all()),
            freed.eq(fetch & column.all()),
        ]
        m.d.sync += whole.eq(whole + ends - freed)
        with m.If(enter):
            m.d.sync += entered.eq(entered + 1)
        turn = Signal(range(self.size), reset_less=True)
        with m.If(fetch):
            m.d.sync += [fetched.eq(fetched + 1), turn.eq(column), self.o.valid.eq(1)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        lanes = [self.i.payload[lane] for lane in range(self.size)]
        # To the left, by as many places as there are words before this one.
        lanes = self._rotated(m, lanes, -row, "entering")
        for place, element in enumerate(lanes):
            m.submodules[f"memory_{place}"] = memory = Ram(
                width=self.width, depth=2 * self.size, style="distributed"
            )
            # Lane ``column`` of a word j is here, where j is that.
            word = Signal(range(self.size), name=f"word_{place}")
            m.d.comb += [
                word.eq((place - column)[: len(word)]),
                memory.write_enable.eq(enter),
                memory.write_address.eq(entered),
                memory.write_data.eq(element),
                memory.read_enable.eq(fetch),
                memory.read_address.eq(Cat(word, fetched[-1])),
            ]
            lanes[place] = memory.read_data
        for lane, element in enumerate(self._rotated(m, lanes, turn, "leaving")):
            m.d.comb += self.o.payload[lane].eq(element)
        return m

    def _rotated(self, m, lanes, places, name):
        """Lane l is lane (l + places) mod size of ``lanes``."""
        amount = Signal(range(self.size), name=f"{name}_amount")
        m.d.comb += amount.eq(places[: len(amount)])
        for bit in range(len(amount)):
            moved = []
            for lane in range(self.size):
                element = Signal(self.width, name=f"{name}_{bit}_{lane}")
                other = lanes[(lane + (1 << bit)) % self.size]
                m.d.comb += element.eq(Mux(amount[bit], other, lanes[lane]))
                moved.append(element)
            lanes = moved
        return lanes
