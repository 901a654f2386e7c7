"""Fetches one vector: a request, whose beats pass in the clock in which they come."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.shell.axi import REQUEST
from hw.shell.ports import read_port

__all__ = ["Fetch"]


class Fetch(wiring.Component):
    """
    Parameters
    ----------
    data_width : int
        Bits of a beat.

    Members
    -------
    start : In(1)
        One clock: ask for ``run``, of at least one beat.
    run : In(REQUEST)
        Steady from ``start`` on.
    port : Out(read_port(data_width))
    o : Out(stream.Signature(data_width))
    """

    def __init__(self, data_width):
        super().__init__(
            {
                "start": In(1),
                "run": In(REQUEST),
                "port": Out(read_port(data_width)),
                "o": Out(stream.Signature(data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request, beat = self.port.request, self.port.data
        with m.If(request.ready):
            m.d.sync += request.valid.eq(0)
        with m.If(self.start):
            m.d.sync += request.valid.eq(1)
        m.d.comb += [
            request.payload.eq(self.run),
            # One with an error passes as well: the core hears of it, as of every port's.
            self.o.payload.eq(beat.p.data),
            self.o.valid.eq(beat.valid),
            beat.ready.eq(self.o.ready),
        ]
        return m
