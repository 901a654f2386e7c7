"""Cuts requests into bursts that AXI allows, for both engines and the arbiter.

One burst a clock, requests of one beat included; a burst leaves ``LATENCY`` clocks after its
request arrived or after the burst before it.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.shell.axi import REQUEST

__all__ = ["BurstSplitter"]


class BurstSplitter(wiring.Component):
    """Cuts a request into bursts at every address that is a multiple of ``burst_beats`` beats.

    A block of ``burst_beats`` beats lies inside one page of 4 KB, so no burst crosses one.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In(stream.Signature(REQUEST))
        Requests, of any number of beats; one of 0 beats is dropped.
    o : Out(stream.Signature({address: 64, beats: 1..burst_beats, last: 1}))
        One burst an item: the byte address of its first beat, its beats, and 1 in ``last`` if it is
        the final burst of its request.
    busy : Out(1)
        High while a burst of an accepted request has not been taken from ``o``.
    """

    INTERVAL = 1
    LATENCY = 2

    def __init__(self, config):
        self.config = config
        self.burst = data.StructLayout(
            {
                "address": REQUEST["address"].shape,
                "beats": range(config.burst_beats + 1),
                "last": 1,
            }
        )
        super().__init__(
            {
                "i": In(stream.Signature(REQUEST)),
                "o": Out(stream.Signature(self.burst)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        limit = self.config.burst_beats
        beat_bits = exact_log2(self.config.beat_bytes)
        block_bits = beat_bits + exact_log2(limit)

        pending = Signal()
        address = Signal(REQUEST["address"].shape, reset_less=True)
        beats = Signal(REQUEST["beats"].shape, reset_less=True)

        room = Signal(range(limit + 1))  # beats to the end of the block
        final = Signal()
        advance = Signal()
        out = Signal(self.burst, reset_less=True)
        m.d.comb += [
            room.eq(limit - address[beat_bits:block_bits]),
            final.eq(beats <= room),
            advance.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(~pending | (advance & final)),
            self.busy.eq(pending | self.o.valid),
            self.o.payload.eq(out),
        ]
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(pending),
                out.address.eq(address),
                out.beats.eq(Mux(final, beats, room)),
                out.last.eq(final),
                address.eq(Cat(C(0, block_bits), address[block_bits:] + 1)),
                beats.eq((beats - room)[: len(beats)]),
            ]
            with m.If(final):
                m.d.sync += pending.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                pending.eq(self.i.p.beats != 0),
                address.eq(self.i.p.address),
                beats.eq(self.i.p.beats),
            ]
        return m
