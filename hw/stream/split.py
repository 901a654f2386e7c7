"""Splits wide words into narrow ones, for lists of items that lie without gaps in beats of memory.

One narrow word a clock without bubbles; a narrow word leaves one clock after its wide word came.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_range

__all__ = ["Split"]


class Split(wiring.Component):
    """Splits wide words into lists of narrow words, the lowest bits of a wide word first.

    Each item of ``count`` asks for one list of so many narrow words. What is left of the list's
    last wide word is dropped, so the next list begins with a new wide word.

    Parameters
    ----------
    width : int
        Bits of a narrow word.
    parts : int
        Narrow words in a wide word.
    count_width : int
        Bits of a count.

    Members
    -------
    i : In(stream.Signature(unsigned(width * parts)))
        Wide words.
    count : In(stream.Signature(unsigned(count_width)))
        One item for each list: its narrow words, at least 1.
    o : Out(stream.Signature({data: width, last: 1}))
        Narrow words; ``last`` is 1 on the last word of each list.
    """

    INTERVAL = 1
    LATENCY = 1

    def __init__(self, width, parts, count_width=32):
        check_range("width", width, 1, 4096)
        check_range("parts", parts, 1, 4096)
        check_range("count_width", count_width, 1, 64)
        self.width, self.parts, self.count_width = width, parts, count_width
        self.output_shape = data.StructLayout({"data": width, "last": 1})
        super().__init__(
            {
                "i": In(stream.Signature(unsigned(width * parts))),
                "count": In(stream.Signature(unsigned(count_width))),
                "o": Out(stream.Signature(self.output_shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        index = Signal(range(self.parts))
        left = Signal(self.count_width, reset_less=True)
        inside = Signal()
        need = Signal(self.count_width)
        final, advance, fire = Signal(), Signal(), Signal()
        out = Signal(self.output_shape, reset_less=True)
        m.d.comb += [
            need.eq(Mux(inside, left, self.count.payload)),
            final.eq(need == 1),
            advance.eq(~self.o.valid | self.o.ready),
            fire.eq(advance & self.i.valid & self.count.valid),
            self.count.ready.eq(fire & final),
            # ``fire`` without ``i.valid``: valid to ready would be a path through many units.
            self.i.ready.eq(advance & self.count.valid & (final | (index == self.parts - 1))),
            self.o.payload.eq(out),
        ]
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(fire),
                out.data.eq(self.i.payload.word_select(index, self.width)),
                out.last.eq(final),
            ]
        with m.If(fire):
            m.d.sync += [
                index.eq(Mux(self.i.ready, 0, index + 1)),
                inside.eq(~final),
                left.eq((need - 1)[: len(left)]),
            ]
        return m
