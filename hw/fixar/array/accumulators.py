"""Below the array: a column's two sums become one number or two, and are added to psum.

Interval 1, latency 3. The shift of FIXAR's PE (V-C, Fig. 5), "(upper << 16) + lower", is done
here, once for a column, because the sum of shifted products is the shifted sum of the products.
"""

from amaranth import *
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_range
from hw.fixar.array.column import SUM_WIDTH, sums_layout
from hw.shared import SharedModule
from hw.stream.delay import delay
from hw.stream.ram import Ram, style_of

__all__ = ["BEGIN_WIDTH", "Accumulators", "ColumnAccumulator", "Mode", "accumulator_control"]

#: Bits of a bias at the fraction of the products: 27, moved to the left by at most 20.
BEGIN_WIDTH = 47
#: Bits of a number's lower part, where a word of the stream is one number.
_LOWER = 16


class Mode(enum.Enum, shape=2):
    """What a column's sums are."""

    #: One number in two parts: (c1 << 16) + c0.
    FULL = 0
    #: Two numbers, each for itself.
    PAIR = 1
    #: Two parts of a sum: c0 + c1.
    SUM = 2


def accumulator_control(depth):
    """What accompanies the sums of a word that leave the array, if ``valid``: ``index``, the number
    of the sum to which they are added, of 0 to depth - 1; whether they are the ``first`` and the
    ``last`` of this sum; and their ``mode``."""
    return data.StructLayout(
        {"valid": 1, "index": range(depth), "first": 1, "last": 1, "mode": Mode}
    )


class ColumnAccumulator(wiring.Component):
    """One column of ``Accumulators``: ``total = (first ? begin : psum) + number``.

    Parameters
    ----------
    width : int
        Bits of each of the two numbers of a PAIR; any other number has twice as many.

    Members
    -------
    sums : In({c0, c1}), mode : In(Mode)
        The two sums that leave the column's PEs, and how they are joined to ``number``.
    first, begin, psum : In, 2 clocks after ``sums``
        Whether the sum starts here; what it starts with; the sum so far.
    total : Out(2 * width), 3 clocks after ``sums``
        The sum with this number; in PAIR two of ``width`` bits.
    """

    def __init__(self, width):
        self.width = width
        super().__init__(
            {
                "sums": In(sums_layout()),
                "mode": In(Mode),
                "first": In(1),
                "begin": In(signed(BEGIN_WIDTH)),
                "psum": In(2 * width),
                "total": Out(2 * width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width, (c0, c1) = self.width, (self.sums.c0, self.sums.c1)

        # Stage 1: the one adder of all modes.
        other = Signal(signed(SUM_WIDTH))
        s1_mode = delay(m, self.mode, 1, name="mode")
        s1_c0 = delay(m, c0, 1, name="c0")
        s1_sum = Signal(signed(SUM_WIDTH + 1), reset_less=True)
        with m.Switch(self.mode):
            with m.Case(Mode.FULL):
                m.d.comb += other.eq(c0 >> _LOWER)
            with m.Case(Mode.SUM):
                m.d.comb += other.eq(c0)
        m.d.sync += s1_sum.eq(c1 + other)

        # Stage 2: as numbers of psum.
        number = Signal(signed(2 * width))
        s2_addend = Signal(2 * width, reset_less=True)
        s2_pair = delay(m, s1_mode == Mode.PAIR, 1, name="pair")
        with m.Switch(s1_mode):
            with m.Case(Mode.FULL):
                m.d.comb += number.eq(Cat(s1_c0[:_LOWER], s1_sum).as_signed())
            with m.Case(Mode.PAIR):
                m.d.comb += number.eq(Cat(_extended(s1_c0, width), _extended(s1_sum, width)))
            with m.Default():
                m.d.comb += number.eq(s1_sum)
        m.d.sync += s2_addend.eq(number)

        # Stage 3: an adder for each half; a pair has no carry between them.
        before = Signal(2 * width)
        begin = _extended(self.begin, width)
        upper = Mux(s2_pair, begin, self.begin[-1].replicate(width))
        m.d.comb += before.eq(Mux(self.first, Cat(begin, upper), self.psum))
        low, high = Signal(width + 1), Signal(width + 1)
        carry = low[-1] & ~s2_pair
        m.d.comb += [
            low.eq(s2_addend[:width] + before[:width]),
            # The carry enters by a place below the lowest one.
            high.eq((Cat(C(1, 1), s2_addend[width:]) + Cat(carry, before[width:]))[: width + 1]),
        ]
        total = Signal(2 * width, reset_less=True)
        m.d.sync += total.eq(Cat(low[:width], high[1:]))
        m.d.comb += self.total.eq(total)
        return m


def _extended(value, width):
    """The bits of a signed value that has fewer."""
    return Cat(value, value[-1].replicate(width - len(value)))


class Accumulators(wiring.Component):
    """Adds up, for each index, the words that leave the array; one word a clock, exact::

        number = FULL: (c1 << 16) + c0, PAIR: c0 and c1, SUM: c0 + c1
        total = (first ? begin : psum[index]) + number
        last ? o = total : psum[index] = total

    Numbers have 2 * ``width`` bits. PAIR has two of ``width`` bits, c0's in the lower half.
    A word may be both ``first`` and ``last``. Two words of one index must be at least ``RETURN``
    clocks apart, because psum is not forwarded; words of other indices may come in any clock.

    Parameters
    ----------
    side : int
        Columns.
    width : int
        Bits of a number of a pair, 49..64; a sum that needs more bits loses the upper ones.
    depth : int
        Words of psum.

    Members
    -------
    control : In({valid, index, first, last, mode})
        The sum, ``index``, that a word of ``sums`` counts for; its ``first`` word, its ``last``.
    sums : In([side] of {c0, c1}), with ``control``
        The two sums that leave each column of the array.
    begin : In([side] of signed(47)), ``BEGIN_DELAY`` clocks after ``control``
        What a sum starts with; in PAIR both sums of the column start with it.
    o : Out({valid, index, word: [side] of 2 * ``width``}), ``LATENCY`` clocks after ``control``
        The complete sums, after each ``last``.
    """

    LATENCY = 3
    BEGIN_DELAY = 2
    #: Clocks from the read of a psum until the sum that replaces it can be read.
    RETURN = 3

    def __init__(self, side, *, depth, width=53):
        check_range("side", side, 1, 16)
        check_range("depth", depth, 1, 65536)
        check_range("width", width, SUM_WIDTH + 1, 64)
        self.side, self.depth, self.width = side, depth, width
        super().__init__(
            {
                "control": In(accumulator_control(depth)),
                "sums": In(data.ArrayLayout(sums_layout(), side)),
                "begin": In(data.ArrayLayout(signed(BEGIN_WIDTH), side)),
                "o": Out(
                    data.StructLayout(
                        {
                            "valid": 1,
                            "index": range(depth),
                            "word": data.ArrayLayout(2 * width, side),
                        }
                    )
                ),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        index, last = control.index, control.last
        s1_index = delay(m, index, 1, name="index")
        s3_index = delay(m, s1_index, 2, name="s1_index")
        s2_first = delay(m, control.first, 2, name="first")
        s3_last = delay(m, last, 3, name="last")
        s3_valid = delay(m, control.valid, 3, name="valid", reset=True)

        m.submodules.psum = psum = Ram(
            width=2 * self.width * self.side, depth=self.depth, style=style_of(self.depth)
        )
        m.d.comb += [
            psum.read_address.eq(s1_index),
            psum.write_enable.eq(s3_valid & ~s3_last),
            psum.write_address.eq(s3_index),
            psum.write_data.eq(self.o.word),
            self.o.valid.eq(s3_valid & s3_last),
            self.o.index.eq(s3_index),
        ]
        for c in range(self.side):
            m.submodules[f"column_{c}"] = column = SharedModule(ColumnAccumulator, self.width)
            m.d.comb += [
                column.sums.eq(self.sums[c]),
                column.mode.eq(control.mode),
                column.first.eq(s2_first),
                column.begin.eq(self.begin[c]),
                column.psum.eq(psum.read_data.word_select(c, 2 * self.width)),
                self.o.word[c].eq(column.total),
            ]
        return m
