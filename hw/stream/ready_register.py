"""A register on a stream's ready only: it cuts a long path back, and adds no latency.

One word a clock; a word passes in the clock of its arrival.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ReadyRegister"]


class ReadyRegister(wiring.Component):
    """``o`` repeats the words of ``i`` in the same clock.

    No combinational path leads from the ready of ``o`` to the ready of ``i``, but one from valid to
    valid. It is half of a ``SkidBuffer``, for streams whose ready comes from far and whose latency
    matters.

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
    LATENCY = 0

    def __init__(self, shape):
        self.shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        # The word that came in the clock in which ``o`` stalled: ready was already promised.
        spare = Signal(Shape.cast(self.shape).width, reset_less=True)
        full = Signal()
        m.d.comb += [
            self.i.ready.eq(~full),
            self.o.valid.eq(full | self.i.valid),
            Value.cast(self.o.payload).eq(Mux(full, spare, self.i.payload)),
        ]
        m.d.sync += full.eq(self.o.valid & ~self.o.ready)
        # Also a word that leaves at once: so the enable does not wait for ready.
        with m.If(~full):
            m.d.sync += spare.eq(self.i.payload)
        return m
