"""The array of PEs: a tile of operands stands still, and the batch streams past it (FIXAR V-A).

Interval 1; latency ``side`` + 2 from a word to its sums.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_range
from hw.estimate import Estimate
from hw.fixar.array.column import OPERAND_WIDTH, Column, stream_pair, sums_layout
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["PeArray"]


class PeArray(wiring.Component):
    """Multiplies each word with the tile that is held; in column c::

        c0 = sum over k of op0[k][c] * b0[k],  c1 = sum over k of op1[k][c] * b1[k]

    The sums are exact, over the rows k. It never stalls: each clock takes a word, or none.

    It has two tiles at once: the held tile, and the following tile, which ``load`` writes row after
    row. A word with ``swap`` is the first word of the following tile, which is held from then on.
    Row k does all this k clocks after row 0. After a swap in clock t, row k may be loaded from
    clock t + k on; before the next swap, in clock u, it must be loaded by clock u + k - 1. A loader
    that starts in clock t + 1 and goes down one row a clock, or slower, obeys this.

    Parameters
    ----------
    side : int
        Rows and columns, 1..16.

    Members
    -------
    load : In({valid, row, mask: 2, word: [side] of signed(27)})
        ``word`` is op0 (bit 0 of ``mask``) or op1 (bit 1), or both, of row ``row``.
    stream : In({valid, swap, word: [side] of {b0, b1: signed(17)}})
        A word; its element k is for row k. ``swap`` counts only if ``valid``.
    o : Out({valid, sums: [side] of {c0, c1: signed(48)}})
        The two sums of each column, ``latency`` clocks after their word in ``stream``.
    """

    INTERVAL = 1

    def __init__(self, side):
        check_range("side", side, 1, 16)
        self.side = side
        self.latency = self.latency_of(side)
        super().__init__(
            {
                "load": In(
                    data.StructLayout(
                        {
                            "valid": 1,
                            "row": range(side),
                            "mask": 2,
                            "word": data.ArrayLayout(signed(OPERAND_WIDTH), side),
                        }
                    )
                ),
                "stream": In(
                    data.StructLayout(
                        {
                            "valid": 1,
                            "swap": 1,
                            "word": data.ArrayLayout(stream_pair(), side),
                        }
                    )
                ),
                "o": Out(
                    data.StructLayout(
                        {"valid": 1, "sums": data.ArrayLayout(sums_layout(), side)},
                    )
                ),
            }
        )

    @classmethod
    def latency_of(cls, side):
        """Clocks from a word to its sums."""
        return Column.latency_of(side)

    @classmethod
    def estimate(cls, side):
        """Clocks, DSP blocks, and the logic that yosys maps beside them."""
        column, words = Column.estimate(side), stream_pair().size
        return Estimate(
            latency=cls.latency_of(side),
            interval=cls.INTERVAL,
            # Words that wait for three clocks or more do so in shift registers, one a bit.
            lut=side * column.lut + words * max(0, side - 3) + 2 * side,
            ff=side * column.ff + 3 * words + 2 * side,
            dsp=side * column.dsp,
        )

    def elaborate(self, platform):
        m = Module()
        load = Signal(2 * self.side)
        # Of row k, k clocks after row 0.
        words = Signal(stream_pair().size * self.side)
        swap = Signal(self.side)
        m.d.comb += swap[0].eq(self.stream.valid & self.stream.swap)
        m.d.sync += swap[1:].eq(swap[:-1])
        for row in range(self.side):
            with m.If(self.load.valid & (self.load.row == row)):
                m.d.comb += load.word_select(row, 2).eq(self.load.mask)
            word = delay(m, self.stream.word[row].as_value(), row, name=f"word_{row}")
            m.d.comb += words.word_select(row, stream_pair().size).eq(word)
        for c in range(self.side):
            m.submodules[f"column_{c}"] = column = SharedModule(Column, self.side)
            m.d.comb += [
                column.word.eq(self.load.word[c]),
                column.load.eq(load),
                column.swap.eq(swap),
                column.words.eq(words),
                self.o.sums[c].eq(column.sums),
            ]
        valid = delay(m, self.stream.valid, self.latency, name="valid", reset=True)
        m.d.comb += self.o.valid.eq(valid)
        return m
