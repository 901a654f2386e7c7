"""AXI4 read engine: requests in, their beats out in the same order, many bursts in flight.

A burst is asked for only when the queue has room for all of its beats, so R never waits. One
single-beat request a clock, and one beat a clock on long ones, as long as ``depth`` covers the
memory's latency.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.shell.axi import ADDRESS, REQUEST, read_beat
from hw.shell.burst import BurstSplitter
from hw.shell.ports import read_beats
from hw.stream.queue import Queue

__all__ = ["ReadEngine"]


class ReadEngine(wiring.Component):
    """Reads runs of beats over AXI4: ``data`` brings the beats of request 0, then of request 1, and
    so on.

    A request leaves on ``ar`` ``ADDRESS_LATENCY`` clocks after it was taken; a beat leaves on
    ``data`` ``Queue.latency_of(depth)`` clocks after it came on ``r``. A failed read still
    delivers its beats, each with ``error``, so nothing behind the engine hangs.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    request : In(stream.Signature(REQUEST))
        Runs of beats to read, which are cut into bursts.
    data : Out(stream.Signature(read_beats(data_width)))
        ``error``: the ``rresp`` of this beat was not OKAY.
    busy : Out(1)
        High while beats of an accepted request have not been taken from ``data``.
    ar, r : streams of ADDRESS and ``read_beat(data_width)``
        For ``connect_master``.
    """

    ADDRESS_LATENCY = BurstSplitter.LATENCY

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "request": In(stream.Signature(REQUEST)),
                "data": Out(stream.Signature(read_beats(config.data_width))),
                "busy": Out(1),
                "ar": Out(stream.Signature(ADDRESS)),
                "r": In(stream.Signature(read_beat(config.data_width))),
            }
        )

    @classmethod
    def latency_of(cls, config, beats, memory_latency):
        """Clocks from the taking of one request of ``beats`` beats to the transfer of its last
        beat.

        For a memory that brings the first beat ``memory_latency`` clocks after the address and then
        a beat a clock, if ``depth`` is at least ``memory_latency`` + ``burst_beats`` + 4.
        """
        first = cls.ADDRESS_LATENCY + memory_latency + Queue.latency_of(config.depth)
        return first + beats - 1

    def elaborate(self, platform):
        m = Module()
        depth = self.config.depth
        m.submodules.splitter = splitter = BurstSplitter(self.config)
        m.submodules.queue = queue = Queue(
            read_beats(self.config.data_width), depth, self.config.style
        )
        wiring.connect(m, wiring.flipped(self.request), splitter.i)
        wiring.connect(m, queue.o, wiring.flipped(self.data))

        # Places in the queue that no burst in flight has claimed. Only an issue lowers it, so a
        # burst that was offered on ar stays offered.
        credits = Signal(range(depth + 1), init=depth)
        burst = splitter.o
        enough, issue, leave = Signal(), Signal(), Signal()
        m.d.comb += [
            enough.eq(credits >= burst.p.beats),
            issue.eq(self.ar.valid & self.ar.ready),
            leave.eq(self.data.valid & self.data.ready),
            self.ar.valid.eq(burst.valid & enough),
            self.ar.p.addr.eq(burst.p.address),
            self.ar.p.len.eq((burst.p.beats - 1)[:8]),
            burst.ready.eq(self.ar.ready & enough),
            queue.i.valid.eq(self.r.valid),
            queue.i.p.data.eq(self.r.p.data),
            queue.i.p.error.eq(self.r.p.resp != 0),
            self.r.ready.eq(queue.i.ready),
            self.busy.eq(splitter.busy | (credits != depth)),
        ]
        m.d.sync += credits.eq(credits - Mux(issue, burst.p.beats, 0) + leave)
        return m
