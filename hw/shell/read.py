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
from hw.stream.queue import Queue

__all__ = ["ReadEngine"]


class ReadEngine(wiring.Component):
    """``data`` is the memory's beats of request 0, then of request 1, and so on.

    A request leaves on ``ar`` ``ADDRESS_LATENCY`` clocks after it was taken; a beat leaves on
    ``data`` ``Queue.latency_of(depth)`` clocks after it came on ``r``. A failed read still
    delivers its beats, so nothing behind the engine hangs.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    request : In(stream.Signature(REQUEST))
    data : Out(stream.Signature(unsigned(data_width)))
    busy : Out(1)
        Beats of an accepted request have not left ``data`` yet.
    response : Out(1)
        An ``rresp`` was not OKAY since reset or ``clear``.
    clear : In(1)
    ar, r : streams of ADDRESS and ``read_beat(data_width)``
        For ``connect_master``.
    """

    INTERVAL = 1
    ADDRESS_LATENCY = BurstSplitter.LATENCY

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "request": In(stream.Signature(REQUEST)),
                "data": Out(stream.Signature(unsigned(config.data_width))),
                "busy": Out(1),
                "response": Out(1),
                "clear": In(1),
                "ar": Out(stream.Signature(ADDRESS)),
                "r": In(stream.Signature(read_beat(config.data_width))),
            }
        )

    @classmethod
    def estimate(cls, config, beats, memory_latency):
        """Clocks from the taking of one request to the transfer of its last beat.

        For a memory that answers ``memory_latency`` clocks later, a beat a clock, with ``depth``
        at least ``memory_latency`` + ``burst_beats`` + 4. Gates are not modelled (None).
        """
        fixed = cls.ADDRESS_LATENCY + memory_latency + Queue.latency_of(config.depth)
        return dict(latency=fixed + beats - 1, interval=cls.INTERVAL, lut=None, ff=None)

    def elaborate(self, platform):
        m = Module()
        depth = self.config.depth
        m.submodules.splitter = splitter = BurstSplitter(self.config)
        m.submodules.queue = queue = Queue(
            unsigned(self.config.data_width), depth, self.config.style
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
            queue.i.payload.eq(self.r.p.data),
            self.r.ready.eq(queue.i.ready),
            self.busy.eq(splitter.busy | (credits != depth)),
        ]
        m.d.sync += credits.eq(credits - Mux(issue, burst.p.beats, 0) + leave)

        with m.If(self.r.valid & self.r.ready & (self.r.p.resp != 0)):
            m.d.sync += self.response.eq(1)
        with m.Elif(self.clear):
            m.d.sync += self.response.eq(0)
        return m
