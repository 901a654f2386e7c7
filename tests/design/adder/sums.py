"""Adds two vectors, a beat a clock: latency ``Sums.LATENCY`` to the first beat of sums."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from design.adder.config import NUMBER_BYTES

from hw.stream.pack import Pack

__all__ = ["Sums"]


class Sums(wiring.Component):
    """``o`` is x + y + bias of ``count`` numbers, modulo 2**32; zeros fill its last beat.

    Parameters
    ----------
    config : AdderConfig

    Members
    -------
    start : In(1)
        One clock: the next beats are of new vectors.
    count : In(range(capacity + 1)), bias : In(32)
        Steady from ``start`` on.
    x, y : In(stream), beats of the vectors' master
    o : Out(stream), beats of the host's master
    """

    INTERVAL = 1
    LATENCY = Pack.LATENCY

    def __init__(self, config):
        self.config = config
        beat = stream.Signature(config.vectors_engine.data_width)
        super().__init__(
            {
                "start": In(1),
                "count": In(range(config.capacity + 1)),
                "bias": In(32),
                "x": In(beat),
                "y": In(beat),
                "o": Out(stream.Signature(config.engine.data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = self.config.vectors_engine.data_width
        lanes = width // (8 * NUMBER_BYTES)
        m.submodules.pack = pack = Pack(width, 1, self.config.engine.data_width // width)
        left = Signal.like(self.count)  # numbers that have not come yet
        last, move = Signal(), Signal()
        m.d.comb += [
            last.eq(left <= lanes),
            pack.i.p.count.eq(1),
            pack.i.p.last.eq(last),
            pack.i.valid.eq(self.x.valid & self.y.valid),
            move.eq(pack.i.valid & pack.i.ready),
            self.x.ready.eq(move),
            self.y.ready.eq(move),
            self.o.payload.eq(pack.o.p.data),
            self.o.valid.eq(pack.o.valid),
            pack.o.ready.eq(self.o.ready),
        ]
        for lane in range(lanes):
            x, y, total = (
                beat.word_select(lane, 8 * NUMBER_BYTES)
                for beat in (self.x.payload, self.y.payload, pack.i.p.data)
            )
            # What lies behind the last number is not a number: it must not reach the results.
            m.d.comb += total.eq(Mux(lane < left, x + y + self.bias, 0))
        with m.If(self.start):
            m.d.sync += left.eq(self.count)
        with m.Elif(move):
            m.d.sync += left.eq(Mux(last, 0, left - lanes))
        return m
