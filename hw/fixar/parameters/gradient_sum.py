"""Gradients as the optimizers take them: sums of all cores, aligned, rounded and clipped.

Interval 1, free-running; latency of ``GradientSum.latency_of(cores)``.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.layouts import SHIFT_WIDTH
from hw.stream.delay import delay

__all__ = ["GradientSum"]


class GradientSum(wiring.Component):
    """``clip(floor(sum over the cores * 2^(shift - drop) + 1/2))`` for each number of a word, where
    ``drop`` is the arithmetic's ``GRADIENT_CUT``.

    The sums of a batch are together less than ``2^(width - 1)`` in magnitude, where ``width`` fits
    ``batch`` products of an activation and a gradient. Higher bits are ignored.

    Parameters
    ----------
    config : FixarConfig
    sum_width : int
        Bits of a core's sum.

    Members
    -------
    sums : In([cores][side] of signed(sum_width))
        Each core's sums for a word of weights.
    shift : In(5)
        Comes with ``sums``: how many places they are moved to the left, since codes lie below full
        precision. Bits that are shifted out at the top count as clipped.
    gradient : Out([side] of signed)
        The gradients of the word, ``latency_of(cores)`` clocks after ``sums``.
    clipped : Out(side)
        With ``gradient``: a bit for each number that was clipped.
    """

    def __init__(self, config, sum_width):
        self.config, self.sum_width = config, sum_width
        formats = config.arithmetic
        self.shape, self.drop = formats.gradient_sum_shape(config.batch), formats.GRADIENT_CUT
        self.width = self.width_of(config, sum_width)
        word = data.ArrayLayout(signed(sum_width), config.side)
        super().__init__(
            {
                "sums": In(data.ArrayLayout(word, config.cores)),
                "shift": In(SHIFT_WIDTH),
                "gradient": Out(data.ArrayLayout(self.shape, config.side)),
                "clipped": Out(config.side),
            }
        )

    @staticmethod
    def width_of(config, sum_width):
        """Bits in which the sums of a batch are added."""
        product = config.arithmetic.activation.width + config.arithmetic.gradient.width
        return min(sum_width, product + (config.batch - 1).bit_length())

    @staticmethod
    def latency_of(cores):
        """Clocks from sums to gradients."""
        return (cores - 1).bit_length() + 3

    def elaborate(self, platform):
        m = Module()
        clocks = self.latency_of(self.config.cores) - 3
        shift = delay(m, self.shift, clocks, name="shift")
        shifts = [
            shift[3:],
            *(
                delay(m, shift[low:high], clock, name=f"shift_{low}")
                for low, high, clock in ((1, 3, 1), (0, 1, 2))
            ),
        ]
        for lane in range(self.config.side):
            self._align(m, lane, self._total(m, lane), shifts)
        return m

    def _total(self, m, lane):
        """The sum over the cores, by pairs."""
        values = [
            Value.cast(self.sums[core][lane])[: self.width].as_signed()
            for core in range(self.config.cores)
        ]
        while len(values) > 1:
            sums = []
            for k in range(0, len(values), 2):
                total = Signal(
                    signed(self.width), name=f"sum_{lane}_{len(values)}_{k}", reset_less=True
                )
                m.d.sync += total.eq(sum(values[k + 1 : k + 2], values[k]))
                sums.append(total)
            values = sums
        return values[0]

    def _align(self, m, lane, total, shifts):
        """Shifts in three clocks: by multiples of 8, of 2, and of 1 with rounding."""
        sign = total[-1]
        # Of a number, its sign, and what is below its point.
        top = self.drop + self.shape.width
        value, beyond = total[:top], (total[top:] ^ sign.replicate(self.width - top)).any()
        for clock, (amount, unit) in enumerate(zip(shifts, (8, 2), strict=False)):
            registers = [
                Signal(width, name=f"s{clock}_{name}_{lane}", reset_less=True)
                for name, width in (("value", top), ("beyond", 1), ("sign", 1))
            ]
            moved, lost = _left(value, amount, unit, sign)
            m.d.sync += [
                register.eq(new)
                for register, new in zip(registers, (moved, beyond | lost, sign), strict=True)
            ]
            value, beyond, sign = registers
        moved, lost = _left(value, shifts[-1], 1, sign)
        low, rounding = moved[self.drop : -1], moved[self.drop - 1]
        ones, beyond = low.all(), beyond | lost
        outside = beyond | (moved[-1] ^ sign)
        # A half below the lowest is rounded to it: clipped alike, and yet not clipped.
        lowest = ~beyond & sign & ones & rounding
        # The largest has no place for what it rounds to; what is clipped has nothing to round.
        number = Mux(outside, (~sign).replicate(len(low)), low)
        carry = rounding & ~outside & ~(~sign & ones)
        result = Signal(self.shape, name=f"number_{lane}", reset_less=True)
        flag = Signal(name=f"clipped_{lane}", reset_less=True)
        m.d.sync += [
            result.eq(Cat(number, sign).as_signed() + carry),
            flag.eq(Mux(outside, ~lowest, ~sign & ones & rounding)),
        ]
        m.d.comb += [self.gradient[lane].eq(result), self.clipped[lane].eq(flag)]


def _left(value, amount, unit, sign):
    """``value`` moved to the left by ``amount * unit``, and whether a bit other than the sign's
    was lost."""
    top = len(value)
    moved = (value << Cat(C(0, unit.bit_length() - 1), amount))[:top]
    lost = C(0)
    for steps in range(1, 1 << len(amount)):
        part = value[top - steps * unit : top - (steps - 1) * unit]
        lost = lost | ((amount >= steps) & (part ^ sign.replicate(unit)).any())
    return moved, lost
