"""The actor's outputs: tanh of its last layer's numbers, a lane a clock with both samples.

Free-running; the first lane's latency is 13 clocks.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed_point import DualPrecision
from hw.fixar.config import CELL_WIDTH
from hw.fixar.numbers.lanes import LaneByLane
from hw.stream.delay import delay

__all__ = ["TanhTail"]


class TanhTail(wiring.Component):
    """``tanh`` of a word's activations, lane by lane, in ``config.arithmetic.tanh_format``.

    Parameters
    ----------
    config : FixarConfig

    Attributes
    ----------
    lanes : int
        The most lanes of a word: the actor's outputs, or a tile of them.

    Members
    -------
    i : In({valid, index, tile, count, value: [lanes] of two signed(32)})
        index : number of the word's sample, or pair of samples. tile : which word of a sample it
        is. count : lanes of the word, at least 1. After a word of n lanes the next word may come n
        clocks later.
    o : Out({valid, index, tile, lane, value: [2] of signed(18)})
        Both samples of a lane. Lane k comes ``LATENCY + k`` clocks after its word.
    """

    LATENCY = LaneByLane.LATENCY + DualPrecision.tanh_latency

    def __init__(self, config):
        self.config = config
        self.lanes = min(config.side, config.action)
        tiles = -(-config.action // config.side)
        self._tag = data.StructLayout({"index": range(config.samples), "tile": range(tiles)})
        self._serial = LaneByLane(self.lanes, signed(CELL_WIDTH), self._tag)
        values = data.ArrayLayout(data.ArrayLayout(signed(CELL_WIDTH), 2), self.lanes)
        word = {"count": range(self.lanes + 1), "value": values}
        lane = {
            "lane": range(self.lanes),
            "value": data.ArrayLayout(config.arithmetic.tanh_format.shape, 2),
        }
        head = {"valid": 1, **self._tag.members}
        super().__init__(
            {
                "i": In(data.StructLayout({**head, **word})),
                "o": Out(data.StructLayout({**head, **lane})),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, o, clocks = self.i, self.o, self.LATENCY - LaneByLane.LATENCY
        m.submodules.serial = serial = self._serial
        m.d.comb += [
            serial.i.valid.eq(i.valid),
            serial.i.count.eq(i.count),
            serial.i.tag.index.eq(i.index),
            serial.i.tag.tile.eq(i.tile),
            serial.i.value.eq(i.value),
            o.valid.eq(delay(m, serial.o.valid, clocks, name="valid", reset=True)),
            Cat(o.index, o.tile).eq(delay(m, serial.o.tag.as_value(), clocks, name="tag")),
            o.lane.eq(delay(m, serial.o.lane, clocks, name="lane")),
        ]
        arithmetic = self.config.arithmetic
        for k in range(2):
            tanh = arithmetic.tanh(m, serial.o.value[k], name=f"tanh_{k}")
            m.d.comb += o.value[k].eq(tanh >> arithmetic.tanh_cut)
        return m
