"""The rings that PLAY writes to results: EPISODEs, and REPORTs of LEARN's iterations."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.play.episodes import PLACED
from hw.learner.records import REPORT
from hw.shell.ports import write_port

__all__ = ["EpisodeRing", "ReportRing"]


class EpisodeRing(wiring.Component):
    """Writes each EPISODE to its place, a beat.

    Parameters
    ----------
    data_width : int
        Bits of a beat.

    Members
    -------
    address : In(64)
        Byte address of the ring.
    i : In(stream of PLACED)
    idle : Out(1)
        Memory has answered all writes.
    write : Out(write_port)
        The port to memory.
    """

    def __init__(self, data_width):
        self.data_width = data_width
        super().__init__(
            {
                "address": In(64),
                "i": In(stream.Signature(PLACED)),
                "idle": Out(1),
                "write": Out(write_port(data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, write, shift = self.i, self.write, (self.data_width // 8).bit_length() - 1
        asked, sent, pending = Signal(), Signal(), Signal(8)
        asks, sends = Signal(), Signal()
        m.d.comb += [
            write.request.p.address.eq(self.address + (i.p.place << shift)),
            write.request.p.beats.eq(1),
            write.request.valid.eq(i.valid & ~asked & ~pending.all()),
            write.data.payload.eq(i.p.record),
            write.data.valid.eq(i.valid & ~sent),
            write.done.ready.eq(1),
            asks.eq(write.request.valid & write.request.ready),
            sends.eq(write.data.valid & write.data.ready),
            i.ready.eq((asked | asks) & (sent | sends)),
            self.idle.eq((pending == 0) & ~i.valid),
        ]
        m.d.sync += [
            pending.eq(pending + asks - write.done.valid),
            asked.eq((asked | asks) & ~i.ready),
            sent.eq((sent | sends) & ~i.ready),
        ]
        return m


class ReportRing(wiring.Component):
    """Stands between LEARN's iterations and memory: passes each REPORT to its place, or drops it.
    An iteration writes a REPORT, and does not know of the ring.

    Parameters
    ----------
    data_width : int
        Bits of a beat.

    Members
    -------
    start : In(1), number : In(16)
        ``start``, a pulse: the next REPORT has place ``number mod records``, then each the next.
    address : In(64), records : In(17)
        Byte address of the ring; its places, a power of two, or 0 to drop REPORTs.
    i : In(write_port)
        The port for the iterations, which take a token at once; the addresses of their requests do
        not count.
    write : Out(write_port)
        The port to memory.
    """

    def __init__(self, data_width):
        self.data_width = data_width
        super().__init__(
            {
                "start": In(1),
                "number": In(16),
                "address": In(64),
                "records": In(17),
                "i": In(write_port(data_width)),
                "write": Out(write_port(data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, write, drops, dropped = self.i, self.write, Signal(), Signal()
        number, place = Signal(16), Signal(16)
        m.d.comb += [
            drops.eq(self.records == 0),
            place.eq(number & (self.records - 1)),
            write.request.p.address.eq(self.address + (place << REPORT.size.bit_length() - 1)),
            write.request.p.beats.eq(i.request.p.beats),
            write.request.valid.eq(i.request.valid & ~drops),
            i.request.ready.eq(write.request.ready | drops),
            write.data.payload.eq(i.data.payload),
            write.data.valid.eq(i.data.valid & ~drops),
            i.data.ready.eq(write.data.ready | drops),
            i.done.payload.eq(write.done.payload & ~drops),
            i.done.valid.eq(Mux(drops, dropped, write.done.valid)),
            write.done.ready.eq(i.done.ready),
        ]
        with m.If(i.request.valid & i.request.ready):
            m.d.sync += [number.eq(number + 1), dropped.eq(drops)]
        with m.Else():
            m.d.sync += dropped.eq(0)
        with m.If(self.start):
            m.d.sync += number.eq(self.number)
        return m
