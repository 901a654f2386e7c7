"""What the kernel writes: the planes of pulled slots, or the moments, as beats of memory.

A beat a clock; the first leaves one clock after its slot came.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gae.layouts import result_layout
from hw.gae.records import MOMENTS
from hw.stream.split import Split

__all__ = ["Output"]


class Output(wiring.Component):
    """Turns the results of slots, or two moments, into beats. Each plane of a slot (advantages,
    rewards-to-go) is padded with zeros to whole beats.

    Parameters
    ----------
    config : GaeKernelConfig

    Members
    -------
    results : In(stream.Signature(result_layout(config.gae)))
        The results of a slot.
    moments : In(1024)
        Two MOMENTS, steady.
    pulling : In(1)
        1: the beats come from ``results``. 0: from ``moments``.
    beats : In(stream.Signature(unsigned(24)))
        How many beats leave: those of a whole number of slots, or of both moments. The item is
        taken with the last of these beats.
    o : Out(stream.Signature(unsigned(data_width)))
        Beats for memory.
    """

    INTERVAL = 1
    LATENCY = Split.LATENCY

    def __init__(self, config):
        self.config = config
        width = config.engine.data_width
        super().__init__(
            {
                "results": In(stream.Signature(result_layout(config.gae))),
                "moments": In(2 * 8 * MOMENTS.size),
                "pulling": In(1),
                "beats": In(stream.Signature(unsigned(24))),
                "o": Out(stream.Signature(unsigned(width))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        gae, width = self.config.gae, self.config.engine.data_width
        planes = self.config.slot_beats["results"]
        m.submodules.slots = slots = Split(width, sum(planes), 24)
        m.submodules.records = records = Split(width, len(self.moments) // width, 24)
        offset = 0
        for name, count in zip(("advantage", "reward_to_go"), planes, strict=True):
            plane = Cat(getattr(self.results.payload[row], name) for row in range(gae.rows))
            m.d.comb += slots.i.payload[offset : offset + len(plane)].eq(plane)
            offset += count * width
        m.d.comb += [
            slots.i.valid.eq(self.results.valid),
            self.results.ready.eq(slots.i.ready),
            records.i.payload.eq(self.moments),
            records.i.valid.eq(1),
        ]
        for part, owns in ((slots, self.pulling), (records, ~self.pulling)):
            m.d.comb += [
                part.count.payload.eq(self.beats.payload),
                part.count.valid.eq(self.beats.valid & owns),
                part.o.ready.eq(self.o.ready & owns),
            ]
            with m.If(owns):
                m.d.comb += [
                    self.o.payload.eq(part.o.p.data),
                    self.o.valid.eq(part.o.valid),
                    self.beats.ready.eq(part.count.ready),
                ]
        return m
