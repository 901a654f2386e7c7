"""One PE of a compute unit: products of a held word, each added to one of 32 sums.

Interval 1; ``LATENCY`` clocks from a word to the sum of its slot. A slot may be used again after
``RETURN`` clocks.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.binary32 import Binary32
from hw.arith.float32.format import WIDTH
from hw.fa3c.config import SLOTS
from hw.stream.ram import Ram

__all__ = ["PE"]

_ARITHMETIC = Binary32()


class PE(wiring.Component):
    """Computes in each clock, in binary32::

        sum[slot] = (first ? -0 : sum[slot]) + held * word

    All PEs share the number of the slot and the flags, so these come from outside, each in the
    clock in which the PE needs it. The sum of a slot is read in one clock, added to in the next
    clocks, and written back. A step that reads it in the clock after the write is ``RETURN`` clocks
    behind the step that wrote. A step that comes sooner finds an older sum, or an undefined one.

    Source: FA3C 4.2.1, a multiplier and an accumulator with feedback.

    Members
    -------
    row : In(32), load : In(1)
        ``load``: ``row`` becomes the next word to hold.
    swap : In(1)
        The next word is held, for ``word`` of the next clock on. A ``load`` in the same clock is
        for the word after that.
    word : In(32)
        The other factor.
    read_slot : In(5)
        ``READ_DELAY`` clocks after ``word``: the slot whose sum is read.
    first : In(1)
        ``FIRST_DELAY`` clocks after ``word``: the sum begins at -0.
    write, write_slot : In(1), In(5)
        ``LATENCY`` clocks after ``word``: the sum is written to this slot.
    sum : Out(32)
        ``LATENCY`` clocks after ``word``: the new sum.
    """

    FIRST_DELAY = _ARITHMETIC.multiply_latency
    READ_DELAY = FIRST_DELAY - 1
    LATENCY = FIRST_DELAY + _ARITHMETIC.add_latency
    RETURN = LATENCY + 1 - READ_DELAY

    def __init__(self):
        slot = range(SLOTS)
        super().__init__(
            {
                "row": In(WIDTH),
                "load": In(1),
                "swap": In(1),
                "word": In(WIDTH),
                "read_slot": In(slot),
                "first": In(1),
                "write": In(1),
                "write_slot": In(slot),
                "sum": Out(WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        following = Signal(WIDTH, reset_less=True)
        held = Signal(WIDTH, reset_less=True)
        with m.If(self.load):
            m.d.sync += following.eq(self.row)
        with m.If(self.swap):
            m.d.sync += held.eq(following)

        m.submodules.sums = sums = Ram(width=WIDTH, depth=SLOTS, style="distributed")
        before = Signal(WIDTH)
        product = _ARITHMETIC.multiply(m, held, self.word, name="product")
        total = _ARITHMETIC.add(m, product, before, name="total")
        m.d.comb += [
            sums.read_address.eq(self.read_slot),
            before.eq(Mux(self.first, _ARITHMETIC.zero, sums.read_data)),
            sums.write_enable.eq(self.write),
            sums.write_address.eq(self.write_slot),
            sums.write_data.eq(total),
            self.sum.eq(total),
        ]
        return m
