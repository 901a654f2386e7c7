"""The array of PEs: a tile of operands stands still, and the batch streams past it (FIXAR V-A).

Interval 1; latency ``side`` + 2 from a word to its sums.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_range
from hw.errors import UsageError
from hw.fixar.array.column import OPERAND_WIDTH, Column, stream_pair, sums_layout
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["PeArray", "load_layout"]


def load_layout(side, band):
    """Operands for the ``band`` rows of one band, those of its row r in ``words[r]``. Bits of
    ``mask[r]``: they are for the first, the second of a PE's sums."""
    word = data.ArrayLayout(signed(OPERAND_WIDTH), side)
    return data.StructLayout(
        {
            "valid": 1,
            "band": range(side // band),
            "mask": data.ArrayLayout(2, band),
            "words": data.ArrayLayout(word, band),
        }
    )


class PeArray(wiring.Component):
    """Multiplies each word with the tile that is held; in column c::

        c0 = sum over k of op0[k][c] * b0[k],  c1 = sum over k of op1[k][c] * b1[k]

    The sums are exact, over the rows k. It never stalls: each clock takes a word, or none.

    It has two tiles at once: the held tile, and the following tile, which ``load`` writes row after
    row. A word with ``swap`` is the first word of the following tile, which is held from then on.
    Row k does all this k clocks after row 0. A band of ``band`` rows is loaded in one clock, and
    band g, if it is loaded in clock s, comes to its rows in clock s + g * (band - 1): bands without
    a gap then keep pace with the swap on its way down.

    After a swap in clock t, row k may be loaded from clock t + k on; before the next swap, in clock
    u, it must be loaded by clock u + k - 1. A loader of whole bands obeys this if it starts in
    clock t + ``again_of(band)`` or later, goes down one band a clock, and the next swap comes a
    clock after its first band or later. A loader of single rows, one a clock from t + 1 on, does if
    the next swap comes ``lag_of(side, band)`` + 1 clocks after its first row or later.

    Parameters
    ----------
    side : int
        Rows and columns, 1..16.
    band : int
        Rows that are loaded in a clock; ``side`` is a multiple of it.

    Members
    -------
    load : In(load_layout(side, band))
        A band of the following tile: ``words[r]`` is op0 (bit 0 of ``mask[r]``) or op1 (bit 1), or
        both, of row r of the band.
    stream : In({valid, swap, word: [side] of {b0, b1: signed(17)}})
        A word; its element k is for row k. ``swap`` counts only if ``valid``.
    o : Out({valid, sums: [side] of {c0, c1: signed(48)}})
        The two sums of each column, ``latency`` clocks after their word in ``stream``.
    """

    def __init__(self, side, band=1):
        check_range("side", side, 1, 16)
        if band not in range(1, side + 1) or side % band:
            raise UsageError(f"band must divide side, which is {side}, not {band!r}")
        self.side, self.band = side, band
        self.latency = self.latency_of(side)
        super().__init__(
            {
                "load": In(load_layout(side, band)),
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

    @staticmethod
    def lag_of(side, band):
        """Clocks that the last row of a tile waits longer for its load than the first."""
        return (side // band - 1) * (band - 1)

    @staticmethod
    def again_of(band):
        """Clocks from a swap to the first band of the tile after the next."""
        return max(1, band - 1)

    def elaborate(self, platform):
        m = Module()
        load, words_of_rows = self._loads(m)
        # Of row k, k clocks after row 0.
        words = Signal(stream_pair().size * self.side)
        swap = Signal(self.side)
        m.d.comb += swap[0].eq(self.stream.valid & self.stream.swap)
        m.d.sync += swap[1:].eq(swap[:-1])
        for row in range(self.side):
            word = delay(m, self.stream.word[row].as_value(), row, name=f"word_{row}")
            m.d.comb += words.word_select(row, stream_pair().size).eq(word)
        for c in range(self.side):
            column = SharedModule(Column, self.side, len(words_of_rows))
            m.submodules[f"column_{c}"] = column
            m.d.comb += [
                column.operand.eq(Cat(word[c] for word in words_of_rows)),
                column.load.eq(load),
                column.swap.eq(swap),
                column.words.eq(words),
                self.o.sums[c].eq(column.sums),
            ]
        valid = delay(m, self.stream.valid, self.latency, name="valid", reset=True)
        m.d.comb += self.o.valid.eq(valid)
        return m

    def _loads(self, m):
        """For each row which of its operands are loaded, and the word; or one word for all rows."""
        band, masks, words = self.band, [], []
        passing = [self.load.words[r].as_value() for r in range(band)]
        for g in range(self.side // band):
            mine = self.load.valid & (self.load.band == g)
            for r in range(band):
                mask = Mux(mine, self.load.mask[r], 0)
                masks.append(delay(m, mask, g * (band - 1), name=f"mask_{g}_{r}", reset=True))
                if g:
                    passing[r] = delay(m, passing[r], band - 1, name=f"load_{g}_{r}")
                words.append(data.View(self.load.words.shape().elem_shape, passing[r]))
        return Cat(masks), words if band > 1 else words[:1]
