"""TLU, the transposing load unit: patches of 16 x 16 words, turned over on their way to the PEs.

Interval 1, latency 16: a row in and a row out every clock.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import WIDTH
from hw.estimate import Estimate
from hw.fa3c.rows import ROW, ROW_WIDTH

__all__ = ["Tlu"]


class Tlu(wiring.Component):
    """Word k of row j that leaves is word j of row k that entered, in each patch of 16 rows.

    One array of 16 x 16 registers. It shifts rows up while a patch enters, so that the rows lie in
    it one above the other; while the next one enters it shifts columns to the left, so that the
    first patch leaves column after column, and the second one comes to lie on its side; and so on
    in turn. A patch without a next one leaves by itself; a row of a next one may come at any time
    of that. But where a patch has begun to enter, the one before it waits with it for rows.

    Source: FA3C 4.4.3, which has two arrays in turn; this is both in one.

    Members
    -------
    i, o : In, Out(stream.Signature(512))
    """

    INTERVAL = 1
    LATENCY = ROW
    #: As yosys maps it to UltraScale+: a multiplexer and a register each bit.
    LUT, FF = 8659, 8202

    def __init__(self):
        row = stream.Signature(ROW_WIDTH)
        super().__init__({"i": In(row), "o": Out(row)})

    @classmethod
    def estimate(cls, config=None):
        return Estimate(latency=cls.LATENCY, interval=cls.INTERVAL, lut=cls.LUT, ff=cls.FF, dsp=0)

    def elaborate(self, platform):
        m = Module()
        # Rows of the patch that enters, which are in; of the one that leaves, which are still in.
        # Both move by the same shifts, so the latter is out when the former is in.
        entered, left = Signal(range(ROW)), Signal(range(ROW + 1))
        sideways = Signal()
        enters, shift, last = Signal(), Signal(), Signal()
        m.d.comb += [
            self.o.valid.eq((left != 0) & ((entered == 0) | self.i.valid)),
            self.i.ready.eq((left == 0) | self.o.ready),
            enters.eq(self.i.valid & self.i.ready),
            shift.eq(enters | (self.o.valid & self.o.ready)),
            last.eq(enters & (entered == ROW - 1)),
        ]
        with m.If(enters):
            m.d.sync += entered.eq(entered + 1)
        with m.If(last):
            m.d.sync += [left.eq(ROW), sideways.eq(~sideways)]
        with m.Elif(shift & (left != 0)):
            m.d.sync += left.eq(left - 1)

        rows = [Signal(ROW_WIDTH, name=f"row_{j}", reset_less=True) for j in range(ROW)]
        column = Cat(row[:WIDTH] for row in rows)
        for j, row in enumerate(rows):
            below = rows[j + 1] if j + 1 < ROW else self.i.payload
            right = Cat(row[WIDTH:], self.i.payload.word_select(j, WIDTH))
            with m.If(shift):
                m.d.sync += row.eq(Mux(sideways, right, below))
        # What entered upwards leaves to the left, and the other way round.
        m.d.comb += self.o.payload.eq(Mux(sideways, column, rows[0]))
        return m
