"""A column of PEs: held operands times words, added down the cascade of the DSP blocks.

Interval 1; latency ``side`` + 2 from the word of row 0 to the sums.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.estimate import Estimate

__all__ = ["OPERAND_WIDTH", "STREAM_WIDTH", "SUM_WIDTH", "Column", "stream_pair", "sums_layout"]

#: A DSP48E2 multiplies 27 x 18 bits, signed; a code of 16 bits has a sign or none, so 17 are used.
#: Products of 44 bits, of 16 rows at most, are 48.
OPERAND_WIDTH, STREAM_WIDTH, SUM_WIDTH = 27, 17, 48


def stream_pair():
    """What a PE multiplies by its two operands."""
    return data.StructLayout({"b0": signed(STREAM_WIDTH), "b1": signed(STREAM_WIDTH)})


def sums_layout():
    """A column's two sums."""
    return data.StructLayout({"c0": signed(SUM_WIDTH), "c1": signed(SUM_WIDTH)})


class Column(wiring.Component):
    """Of rows k, each of whose words comes a clock after that of the row above::

        c0 = sum over k of op0[k] * b0[k],  c1 = sum over k of op1[k] * b1[k]

    A PE is two DSP blocks with their registers, and a second operand for each, which the tile
    after this one is loaded to. There are no other adders: a sum goes to the row below by the
    blocks' own wires.

    Parameters
    ----------
    side : int
        Rows, 16 at most.

    Members
    -------
    word : In(signed(27))
    load : In(2 * side)
        Bit 2 * k + c: ``word`` is row k's following operand c.
    swap : In(side)
        Bit k: row k holds its following operands, for the words of this clock on. What is loaded
        in the same clock comes after it.
    words : In(34 * side)
        The bits of [side] of {b0, b1}: a port with fields has a name for each, in every column.
    sums : Out({c0, c1})
    """

    INTERVAL = 1
    #: Registers of a block: operands, product, sum.
    REGISTERS = 3

    def __init__(self, side):
        self.side = side
        super().__init__(
            {
                "word": In(signed(OPERAND_WIDTH)),
                "load": In(2 * side),
                "swap": In(side),
                "words": In(stream_pair().size * side),
                "sums": Out(sums_layout()),
            }
        )

    @classmethod
    def latency_of(cls, side):
        return cls.REGISTERS + side - 1

    @classmethod
    def estimate(cls, side):
        """Cycles and DSP blocks. Flip-flops are those of the following operands: the first of a
        block's two registers can be that, which yosys does not see."""
        return Estimate(
            latency=cls.latency_of(side),
            interval=cls.INTERVAL,
            lut=0,
            ff=2 * OPERAND_WIDTH * side,
            dsp=2 * side,
        )

    def elaborate(self, platform):
        m = Module()
        words = data.View(data.ArrayLayout(stream_pair(), self.side), self.words)
        for chain in range(2):
            above = None
            for row in range(self.side):
                above = self._pe(m, chain, row, words[row], above)
            m.d.comb += self.sums[f"c{chain}"].eq(above)
        return m

    def _pe(self, m, chain, row, words, above):
        """Half a PE; returns its sum."""

        def register(width, name):
            return Signal(signed(width), name=f"{name}_{chain}_{row}", reset_less=True)

        following, held = (register(OPERAND_WIDTH, name) for name in ("following", "held"))
        word = register(STREAM_WIDTH, "word")
        product = register(OPERAND_WIDTH + STREAM_WIDTH, "product")
        total = register(SUM_WIDTH, "sum")
        with m.If(self.load[2 * row + chain]):
            m.d.sync += following.eq(self.word)
        with m.If(self.swap[row]):
            m.d.sync += held.eq(following)
        m.d.sync += [
            word.eq(words[f"b{chain}"]),
            product.eq(held * word),
            total.eq(product if above is None else above + product),
        ]
        return total
