"""Cuts the requests of several ports into bursts, and sends them by turns on one stream.

One burst a clock, whichever ports they come from. A burst that may go at once leaves ``LATENCY``
clocks after its request arrived.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.shell.axi import REQUEST
from hw.shell.burst import BurstSplitter
from hw.stream.queue import Queue

__all__ = ["Arbiter", "Owners"]


class Arbiter(wiring.Component):
    """Cuts the requests of several ports into bursts and sends them on one stream, in round robin
    over the ports whose next burst may go.

    A burst may go when its port has a credit for each of its beats and, if it is the last of its
    request, one for a token. When it goes, it uses these credits up. A burst that may not go delays
    no port but its own.

    Parameters
    ----------
    config : InterconnectConfig
    credits : sequence of int
        Beats for which each port has credit after reset; at most its ``depth`` at any time.
    tokens : int or None
        Tokens for which each port has credit after reset and at most; None if requests need none.

    Members
    -------
    requests : In(stream.Signature(REQUEST)).array(ports)
        Requests of each port, of any number of beats; one of 0 beats is dropped.
    credit : In(ports)
        Bit p: a beat more for port p, from the next clock on.
    token : In(ports)
        Bit p: a token more for port p, from the next clock on. Ignored without ``tokens``.
    o : Out(stream.Signature({address: 64, beats: 1..burst_beats, last: 1, port}))
        One burst an item: the byte address of its first beat, its beats, 1 in ``last`` if it is the
        final burst of its request, and the number of the port that it comes from.
    """

    INTERVAL = 1
    LATENCY = BurstSplitter.LATENCY + 1

    def __init__(self, config, credits, tokens=None):
        self.config, self.credits, self.tokens = config, tuple(credits), tokens
        # The port's number has a bit even where there is one port: no field of zero bits.
        self.burst = data.StructLayout(
            {
                "address": REQUEST["address"].shape,
                "beats": range(config.burst_beats + 1),
                "last": 1,
                "port": range(max(2, config.ports)),
            }
        )
        super().__init__(
            {
                "requests": In(stream.Signature(REQUEST)).array(config.ports),
                "credit": In(config.ports),
                "token": In(config.ports),
                "o": Out(stream.Signature(self.burst)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ports = self.config.ports
        able = Signal(ports)  # ports whose burst may go
        chosen = Signal(range(max(2, ports)))
        latest = Signal.like(chosen, init=ports - 1)  # the port that had the last turn
        advance = Signal()
        # A register, so that the burst on offer stays the same when others become able.
        out = Signal(self.burst, reset_less=True)
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), self.o.payload.eq(out)]
        with m.Switch(latest):
            for port in range(ports):
                with m.Case(port):
                    for after in reversed(range(1, ports + 1)):
                        with m.If(able[(port + after) % ports]):
                            m.d.comb += chosen.eq((port + after) % ports)
        with m.If(advance):
            m.d.sync += [self.o.valid.eq(able.any()), out.port.eq(chosen)]
            with m.If(able.any()):
                m.d.sync += latest.eq(chosen)

        for port in range(ports):
            splitter = BurstSplitter(self.config.port(port))
            m.submodules[f"splitter_{port}"] = splitter
            wiring.connect(m, wiring.flipped(self.requests[port]), splitter.i)
            burst, go = splitter.o, Signal(name=f"go_{port}")
            depth = self.config.port(port).depth
            credits = Signal(range(depth + 1), init=self.credits[port], name=f"credits_{port}")
            m.d.sync += credits.eq(credits - Mux(go, burst.p.beats, 0) + self.credit[port])
            ends = C(1)
            if self.tokens is not None:
                tokens = Signal(range(self.tokens + 1), init=self.tokens, name=f"tokens_{port}")
                m.d.sync += tokens.eq(tokens - (go & burst.p.last) + self.token[port])
                ends = ~burst.p.last | (tokens != 0)
            m.d.comb += [
                able[port].eq(burst.valid & (credits >= burst.p.beats) & ends),
                go.eq(advance & able[port] & (chosen == port)),
                burst.ready.eq(go),
            ]
            with m.If(go):
                m.d.sync += [
                    out.address.eq(burst.p.address),
                    out.beats.eq(burst.p.beats),
                    out.last.eq(burst.p.last),
                ]
        return m


class Owners(wiring.Component):
    """Says which port each beat belongs to: it gives the port of a burst once for each of its
    beats.

    Parameters
    ----------
    config : InterconnectConfig

    Members
    -------
    i : In(stream.Signature({port, beats: 1..burst_beats}))
        One burst an item: its port and its beats, in the order in which the bursts' beats pass. Up
        to ``bursts`` bursts may wait.
    o : Out(stream.Signature(port))
        The port of the next beat. An item that is taken counts as one beat.
    """

    def __init__(self, config):
        self.bursts = config.bursts
        self.burst = data.StructLayout(
            {"port": range(max(2, config.ports)), "beats": range(config.burst_beats + 1)}
        )
        super().__init__(
            {
                "i": In(stream.Signature(self.burst)),
                "o": Out(stream.Signature(self.burst["port"].shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(self.burst, self.bursts)
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        moved = Signal.like(queue.o.p.beats)  # beats of the burst that are through
        final = Signal()
        m.d.comb += [
            self.o.valid.eq(queue.o.valid),
            self.o.payload.eq(queue.o.p.port),
            final.eq(moved == queue.o.p.beats - 1),
            queue.o.ready.eq(self.o.ready & final),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += moved.eq(Mux(final, 0, moved + 1))
        return m
