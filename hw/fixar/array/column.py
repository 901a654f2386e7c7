"""A column of PEs: held operands times words, added along the cascade of the DSP blocks.

Interval 1; latency ``side`` + 2 from the word of row 0 to the sums.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["OPERAND_WIDTH", "STREAM_WIDTH", "SUM_WIDTH", "Column", "stream_pair", "sums_layout"]

#: A DSP48E2 multiplies 27 x 18 bits, signed; a code of 16 bits has a sign or none, so 17 are used.
#: Products of 44 bits, of 16 rows at most, are 48.
OPERAND_WIDTH, STREAM_WIDTH, SUM_WIDTH = 27, 17, 48


def stream_pair():
    """The two numbers that a PE multiplies by its two operands."""
    return data.StructLayout({"b0": signed(STREAM_WIDTH), "b1": signed(STREAM_WIDTH)})


def sums_layout():
    """A column's two sums."""
    return data.StructLayout({"c0": signed(SUM_WIDTH), "c1": signed(SUM_WIDTH)})


class Column(wiring.Component):
    """Two sums over the rows k, where the word of a row comes one clock after that of the row
    above::

        c0 = sum over k of op0[k] * b0[k],  c1 = sum over k of op1[k] * b1[k]

    A PE is two DSP blocks with their registers, and a second operand for each, into which the
    following tile is loaded. There are no other adders, because a sum goes to the row below on the
    blocks' own wires.

    Parameters
    ----------
    side : int
        Rows, 16 at most.
    operands : int
        How many operands come in a clock: 1, or one for each row.

    Members
    -------
    operand : In(27 * operands)
        Operands of the following tile, of all rows alike or of row k at place k; ``load`` says for
        which rows and sums they are.
    load : In(2 * side)
        Bit 2 * k + c: row k's following operand c is here.
    swap : In(side)
        Bit k: row k holds its following operands from this clock's word on. A load in the same
        clock counts after the swap.
    words : In(34 * side)
        The bits of [side] of {b0, b1}, as one port, because a port with fields would have a name
        for each field in every column.
    sums : Out({c0, c1})
        The two sums over all rows.
    """

    #: Registers of a block: operands, product, sum.
    REGISTERS = 3

    def __init__(self, side, operands=1):
        self.side, self.operands = side, operands
        super().__init__(
            {
                "operand": In(OPERAND_WIDTH * operands),
                "load": In(2 * side),
                "swap": In(side),
                "words": In(stream_pair().size * side),
                "sums": Out(sums_layout()),
            }
        )

    @classmethod
    def latency_of(cls, side):
        return cls.REGISTERS + side - 1

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
        operand = self.operand.word_select(row % self.operands, OPERAND_WIDTH)
        with m.If(self.load[2 * row + chain]):
            m.d.sync += following.eq(operand)
        with m.If(self.swap[row]):
            m.d.sync += held.eq(following)
        m.d.sync += [
            word.eq(words[f"b{chain}"]),
            product.eq(held * word),
            total.eq(product if above is None else above + product),
        ]
        return total
