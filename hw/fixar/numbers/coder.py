"""Puts numbers that come lane by lane into a cell; words of sums go through ``RoundAndEncode``."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.config import CELL_WIDTH, CODE_WIDTH, MOST_CUT
from hw.fixar.layouts import SHIFT_WIDTH, cells_layout
from hw.fixar.numbers.rounding import Rounding
from hw.stream.delay import delay

__all__ = ["Coder", "Collect"]

_CODE = Rounding(CODE_WIDTH - 1, 1, MOST_CUT)


class Coder(wiring.Component):
    """``clip(floor(value * 2**-shift + 1/2))`` in 16 bits, signed, of both samples; or, without
    ``half``, the first one's number as it is. Free-running, latency 4.

    Members
    -------
    half, shift, cut : In, with ``value``
        Whether the cell holds codes, and their shift; a one for each of a code's lowest bits that
        are 0: the code is rounded half up to the bit above them.
    value : In([2] of signed(32))
        Numbers of both samples.
    cell : Out(32), clipped : Out(2)
        The cell, and of which samples the code was clipped.
    """

    LATENCY = Rounding.LATENCY

    def __init__(self):
        super().__init__(
            {
                "half": In(1),
                "shift": In(SHIFT_WIDTH),
                "cut": In(MOST_CUT),
                "value": In(data.ArrayLayout(signed(CELL_WIDTH), 2)),
                "cell": Out(CELL_WIDTH),
                "clipped": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        stages = _CODE.controls(
            m,
            CELL_WIDTH + 1,
            self.shift,
            C(1, 1),
            name="code",
            checked=self.half,
            cut=Mux(self.half, self.cut, 0),
        )
        s3_half = delay(m, self.half, self.LATENCY - 1, name="half")
        half = delay(m, s3_half, 1, name="s3_half")
        number = delay(m, self.value[0].as_unsigned(), self.LATENCY, name="number")
        codes = []
        for k in range(2):
            value = self.value[k].as_unsigned()
            code, clipped = _CODE.round(m, Cat(C(0, 1), value), value[-1], stages, name=f"code_{k}")
            codes.append(code[:CODE_WIDTH])
            m.d.sync += self.clipped[k].eq(clipped & s3_half)
        m.d.comb += self.cell.eq(Mux(half, Cat(*codes), number))
        return m


class Collect(wiring.Component):
    """Cells of lanes from 0 on, one after the other, as a word; lanes that do not come are 0.

    Members
    -------
    i : In({valid, lane, last, cell})
        A lane's cell; ``last``: the word has no further lane.
    valid : Out(1), word : Out([lanes] of 32 bits)
        A clock after the word's last lane.
    """

    LATENCY = 1

    def __init__(self, lanes):
        self.lanes = lanes
        lane = {"valid": 1, "lane": range(lanes), "last": 1, "cell": CELL_WIDTH}
        super().__init__(
            {
                "i": In(data.StructLayout(lane)),
                "valid": Out(1),
                "word": Out(cells_layout(lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i = self.i
        m.d.sync += self.valid.eq(i.valid & i.last)
        with m.If(i.valid):
            for k in range(self.lanes):
                with m.If(i.lane == k):
                    m.d.sync += self.word[k].eq(i.cell)
                with m.Elif(i.lane == 0):
                    m.d.sync += self.word[k].eq(0)
        return m
