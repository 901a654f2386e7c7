"""AXI4 write engine: requests and their data in, a token for each request once it is answered.

The answer comes from memory, or from what buffers for it. A burst is offered on AW only when all
of its beats stand in the queue; from then on its data is offered on W, whether AW has been taken
or not. So W never pauses inside a burst, WVALID never waits for AWREADY, and data never comes
before its address is offered. Bursts follow each other on W without a gap, and many may wait for
their response.

Source: AMBA AXI protocol specification, A3.3.1: a slave may wait for WVALID before AWREADY, so a
master must not wait for AWREADY before WVALID. Data ahead of its address is allowed there too; no
slave needs it, and monitors that pair the two in order would have to hold it.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.shell.axi import ADDRESS, REQUEST, RESPONSE, write_beat
from hw.shell.burst import BurstSplitter
from hw.stream.queue import Queue

__all__ = ["WriteEngine"]


class WriteEngine(wiring.Component):
    """Writes runs of beats over AXI4: the beats of ``data``, in order, fill request 0, then request
    1, and so on.

    Data may come before its request or after it.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    request : In(stream.Signature(REQUEST))
        Runs of beats to write, which are cut into bursts. A request of 0 beats is dropped, and has
        no token.
    data : In(stream.Signature(unsigned(data_width)))
        The beats of all requests.
    done : Out(stream.Signature(1))
        A token a request, in order, when all of its bursts are answered; 1 if an answer was not
        OKAY. Tokens that are not taken hold up later answers.
    busy : Out(1)
        High while a token of an accepted request has not been taken from ``done``.
    aw, w, b : streams of ADDRESS, ``write_beat(data_width)`` and RESPONSE
        For ``connect_master``.
    """

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

    @staticmethod
    def latency_of(config, beats, memory_latency):
        """Clocks from the taking of one request of ``beats`` beats, together with its first beat,
        to the transfer of its token.

        For data that comes a beat a clock, an address on a multiple of ``burst_beats`` beats, and
        a memory that answers ``memory_latency`` clocks after the last beat.
        """
        first = max(BurstSplitter.LATENCY, min(beats, config.burst_beats))
        return first + beats + memory_latency + 1

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.splitter = splitter = BurstSplitter(config)
        m.submodules.queue = queue = Queue(unsigned(config.data_width), config.depth, config.style)
        # Bursts that AW has offered: their lengths until W has sent them, their place in the
        # request until B has answered them.
        m.submodules.lengths = lengths = Queue(unsigned(8), config.bursts)
        m.submodules.answers = answers = Queue(unsigned(1), config.bursts)
        wiring.connect(m, wiring.flipped(self.request), splitter.i)
        wiring.connect(m, wiring.flipped(self.data), queue.i)

        # Beats in the queue that no offered burst has claimed.
        free = Signal(range(config.depth + 1))
        burst = splitter.o
        waiting = Signal()  # the burst on AW was offered before: it has claimed its beats
        claim, enter = Signal(), Signal()
        m.d.comb += [
            claim.eq(
                burst.valid & ~waiting & (free >= burst.p.beats) & lengths.i.ready & answers.i.ready
            ),
            enter.eq(self.data.valid & self.data.ready),
            self.aw.valid.eq(claim | waiting),
            self.aw.p.addr.eq(burst.p.address),
            self.aw.p.len.eq((burst.p.beats - 1)[:8]),
            burst.ready.eq(self.aw.valid & self.aw.ready),
            lengths.i.valid.eq(claim),
            lengths.i.payload.eq(self.aw.p.len),
            answers.i.valid.eq(claim),
            answers.i.payload.eq(burst.p.last),
        ]
        m.d.sync += [
            waiting.eq(self.aw.valid & ~self.aw.ready),
            free.eq(free - Mux(claim, burst.p.beats, 0) + enter),
        ]

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
