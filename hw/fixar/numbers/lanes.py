"""A word's lanes one after the other, for units that exist once and not for every lane."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LaneByLane"]


class LaneByLane(wiring.Component):
    """Gives lane 0 of a word after ``LATENCY`` clocks, then one lane a clock, both samples side by
    side.

    After a word of n lanes the next word may come n clocks later.

    Parameters
    ----------
    lanes : int
        The most lanes of a word.
    shape : ShapeLike
        Shape of a number.
    tag : ShapeLike
        What comes with every word, and leaves with each of its lanes.

    Members
    -------
    i : In({valid, count: range(lanes + 1), tag, value: [lanes] of two})
        A word, with two samples a lane; count : lanes of the word, at least 1.
    o : Out({valid, lane, tag, value: [2]})
        A lane's number, its values of both samples, and the word's tag.
    """

    LATENCY = 2

    def __init__(self, lanes, shape, tag):
        self.lanes = lanes
        pair = data.ArrayLayout(shape, 2)
        value = data.ArrayLayout(pair, lanes)
        word = {"valid": 1, "count": range(lanes + 1), "tag": tag, "value": value}
        lane = {"valid": 1, "lane": range(lanes), "tag": tag, "value": pair}
        super().__init__({"i": In(data.StructLayout(word)), "o": Out(data.StructLayout(lane))})

    def elaborate(self, platform):
        m = Module()
        i, o = self.i, self.o
        kept = Signal.like(i, reset_less=True)
        busy, lane = Signal(), Signal(range(self.lanes))
        with m.If(i.valid):
            m.d.sync += [kept.eq(i), busy.eq(1), lane.eq(0)]
        with m.Else():
            m.d.sync += [busy.eq(busy & (lane + 1 != kept.count)), lane.eq(lane + 1)]
        valid, rest = Signal(), Signal.like(o, reset_less=True)
        pairs = Array(pair.as_value() for pair in kept.value)
        m.d.sync += [
            valid.eq(busy),
            rest.lane.eq(lane),
            rest.tag.eq(kept.tag),
            rest.value.eq(pairs[lane]),
        ]
        m.d.comb += [o.eq(rest), o.valid.eq(valid)]
        return m
