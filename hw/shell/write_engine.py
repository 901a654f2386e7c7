"""AXI4 write engine: requests and their data in, one token for each request once it is in memory.

A burst is announced only when all of its beats stand in the queue, so W never pauses inside one;
bursts follow each other on W without a gap, and many may wait for their response.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.estimate import Estimate
from hw.shell.axi import ADDRESS, REQUEST, RESPONSE, write_beat
from hw.shell.burst import BurstSplitter
from hw.stream.queue import Queue

__all__ = ["WriteEngine"]


class WriteEngine(wiring.Component):
    """The beats of ``data``, in order, fill request 0, then request 1, and so on.

    Data may come before its request or after it.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    request : In(stream.Signature(REQUEST))
    data : In(stream.Signature(unsigned(data_width)))
    done : Out(stream.Signature(1))
        A token a request, in order, when memory has answered all of its bursts; 1 if an answer
        was not OKAY. Tokens that are not taken hold up later answers.
    busy : Out(1)
        A token of an accepted request has not been taken yet.
    aw, w, b : streams of ADDRESS, ``write_beat(data_width)`` and RESPONSE
        For ``connect_master``.
    """

    INTERVAL = 1

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "request": In(stream.Signature(REQUEST)),
                "data": In(stream.Signature(unsigned(config.data_width))),
                "done": Out(stream.Signature(1)),
                "busy": Out(1),
                "aw": Out(stream.Signature(ADDRESS)),
                "w": Out(stream.Signature(write_beat(config.data_width))),
                "b": In(stream.Signature(RESPONSE)),
            }
        )

    @classmethod
    def estimate(cls, config, beats, memory_latency):
        """Clocks from the taking of one request and its first beat to the transfer of its token.

        For data that comes a beat a clock, an address on a multiple of ``burst_beats`` beats, and
        a memory that answers ``memory_latency`` clocks after the last beat. Gates are not
        modelled (None).
        """
        first = max(BurstSplitter.LATENCY, min(beats, config.burst_beats))
        latency = first + beats + memory_latency + 1
        return Estimate(latency=latency, interval=cls.INTERVAL)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.splitter = splitter = BurstSplitter(config)
        m.submodules.queue = queue = Queue(unsigned(config.data_width), config.depth, config.style)
        # Bursts announced: their lengths until W has sent them, their place in the request until
        # B has answered them.
        m.submodules.lengths = lengths = Queue(unsigned(8), config.bursts)
        m.submodules.answers = answers = Queue(unsigned(1), config.bursts)
        wiring.connect(m, wiring.flipped(self.request), splitter.i)
        wiring.connect(m, wiring.flipped(self.data), queue.i)

        # Beats in the queue that no announced burst has claimed.
        free = Signal(range(config.depth + 1))
        burst = splitter.o
        enough, issue, enter = Signal(), Signal(), Signal()
        m.d.comb += [
            enough.eq((free >= burst.p.beats) & lengths.i.ready & answers.i.ready),
            issue.eq(self.aw.valid & self.aw.ready),
            enter.eq(self.data.valid & self.data.ready),
            self.aw.valid.eq(burst.valid & enough),
            self.aw.p.addr.eq(burst.p.address),
            self.aw.p.len.eq((burst.p.beats - 1)[:8]),
            burst.ready.eq(self.aw.ready & enough),
            lengths.i.valid.eq(issue),
            lengths.i.payload.eq(self.aw.p.len),
            answers.i.valid.eq(issue),
            answers.i.payload.eq(burst.p.last),
        ]
        m.d.sync += free.eq(free - Mux(issue, burst.p.beats, 0) + enter)

        sent = Signal(8)  # beats of the burst on W
        move = Signal()
        m.d.comb += [
            self.w.valid.eq(queue.o.valid & lengths.o.valid),
            self.w.p.data.eq(queue.o.payload),
            self.w.p.last.eq(sent == lengths.o.payload),
            move.eq(self.w.valid & self.w.ready),
            queue.o.ready.eq(move),
            lengths.o.ready.eq(move & self.w.p.last),
        ]
        with m.If(move):
            m.d.sync += sent.eq(Mux(self.w.p.last, 0, sent + 1))

        failed = Signal()  # an earlier burst of the request that is being answered
        bad = Signal()
        m.d.comb += [
            bad.eq(failed | (self.b.p.resp != 0)),
            self.b.ready.eq(answers.o.valid & (~self.done.valid | self.done.ready)),
            answers.o.ready.eq(self.b.valid & self.b.ready),
            self.busy.eq(splitter.busy | answers.o.valid | self.done.valid),
        ]
        with m.If(self.done.ready):
            m.d.sync += self.done.valid.eq(0)
        with m.If(answers.o.ready):
            m.d.sync += failed.eq(bad & ~answers.o.payload)
            with m.If(answers.o.payload):
                m.d.sync += [self.done.valid.eq(1), self.done.payload.eq(bad)]
        return m
