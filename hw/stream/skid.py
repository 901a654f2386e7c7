"""Registers on a stream, in both directions: cuts a long path where the layout needs it.

One word a clock, one clock of latency.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SkidBuffer"]


class SkidBuffer(wiring.Component):
    """``o`` repeats the words of ``i``, a clock later.

    There is no combinational path from valid to valid, nor from ready to ready.

    Parameters
    ----------
    shape : ShapeLike
        Of a word.

    Members
    -------
    i : In(stream.Signature(shape))
        Words that come.
    o : Out(stream.Signature(shape))
        The same words, in order.
    """

    INTERVAL = 1
    LATENCY = 1

    def __init__(self, shape):
        self.shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        # The word that came in the clock in which ``o`` stalled: ready was already promised.
        spare = Signal(Shape.cast(self.shape).width, reset_less=True)
        full = Signal()
        advance = Signal()
        out = Signal(len(spare), reset_less=True)
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(~full),
            Value.cast(self.o.payload).eq(out),
        ]
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(full | self.i.valid),
                out.eq(Mux(full, spare, self.i.payload)),
                full.eq(0),
            ]
        with m.Elif(self.i.valid & self.i.ready):
            m.d.sync += [full.eq(1), spare.eq(self.i.payload)]
        return m
