"""The weights of the rewards of a window, and the exact sum of weighted rewards.

One product at a time, in two halves of the weight: two MULT18 of an ECP5, or two DSP blocks. ::

    clock 0    1               2                 3          4
    age ->     reward, half -> factor, limb   -> product -> sum
               of a weight
"""

from amaranth import *
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.estimate import Estimate, together
from hw.stream.delay import delay
from hw.stream.ram import shallow_memory

__all__ = ["FRACTION", "WeightedSum"]

#: Fraction bits of discount, scale, powers and weights: all are UQ(1, 31).
FRACTION = 31
_LIMB = 16


class WeightedSum(wiring.Component):
    """``total = weight_0 r_0 + weight_1 r_1 + ..``, exact, with these weights::

        power_0  = 1      power_k+1  = power_k  * discount    both rounded half up to UQ(1, 31)
        weight_0 = scale  weight_k+1 = weight_k * discount

    Parameters
    ----------
    longest : int
        Rewards of a sum, at most.

    Attributes
    ----------
    LATENCY : int
        Clocks from the last half of a product until it is in the sum.

    Members
    -------
    weigh : In(1), n : In, discount : In(32), scale : In(32)
        ``weigh``, a pulse: compute weights 0 to n - 1 and powers 1 to n. The others are steady
        until ``done``; ``n`` is at least 1, ``discount`` at most 1.
    sum : In(1), length : In
        ``sum``, a pulse: add up ``length`` rewards, 1 to n, from the next clock on. ``length`` is
        steady until ``done``.
    age : Out
        r_age comes on ``reward`` in the next clock.
    reward : In(signed(32))
    done : Out(1)
        A pulse; the results are ready from the next clock on.
    total : Out(signed(width))
        With the fraction bits of a reward and FRACTION more, until the next pulse of an input.
    power : Out(32)
        Power number ``length``, while the unit is idle.
    """

    LATENCY = 3

    def __init__(self, longest):
        self.longest = longest
        super().__init__(
            {
                "weigh": In(1),
                "n": In(range(longest + 1)),
                "discount": In(32),
                "scale": In(32),
                "sum": In(1),
                "length": In(range(longest + 1)),
                "age": Out(range(longest)),
                "reward": In(signed(32)),
                "done": Out(1),
                "total": Out(signed(self.width_of(longest))),
                "power": Out(32),
            }
        )

    @staticmethod
    def width_of(longest):
        """Bits of the sum of ``longest`` rewards of 32 bits, each times a weight of 32 bits."""
        return 64 + (longest - 1).bit_length()

    @classmethod
    def sum_clocks(cls, length):
        """Clocks after ``sum`` until ``done``, its clock included."""
        return 2 * length + cls.LATENCY

    @classmethod
    def weigh_clocks(cls, n):
        """Clocks after ``weigh`` until ``done``, its clock included."""
        return 2 * n * (2 + cls.LATENCY)

    @classmethod
    def estimate(cls, longest):
        """Resources."""
        return together(
            [
                area("learner.play.weighted_sum", width=cls.width_of(longest)),
                shallow_memory(32, 2 << (longest - 1).bit_length()),
                Estimate(lut=0, ff=0, bram36=0, uram=0, dsp=2, ecp5=(0, 0, 0, 0, 2)),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        adds, weighs = Signal(), Signal()
        # Halves of a product go in clocks 0 and 1. Of weights, ``age`` is the one in the making.
        age, clock, last = self.age, Signal(range(2 + self.LATENCY)), Signal()
        power, weight = Signal(32, reset_less=True), Signal(32, reset_less=True)
        of_weight = Signal()  # the product is the next weight, not the next power
        m.d.comb += last.eq(age == Mux(weighs, self.n, self.length) - 1)
        s1 = Signal(data.StructLayout({"valid": 1, "high": 1, "first": 1}))
        m.d.sync += [
            s1.valid.eq((adds | weighs) & (clock < 2)),
            s1.high.eq(clock[0]),
            s1.first.eq((clock == 0) & (weighs | (age == 0))),
        ]
        read, write = self._table(m)
        m.d.comb += [
            read.addr.eq(Mux(adds, Cat(delay(m, age, 1, name="age"), 1), Cat(self._newest(m), 0))),
            self.power.eq(read.data),
        ]
        operand = Mux(weighs, self.discount, read.data)
        factor, limb = Signal(signed(33), reset_less=True), Signal(_LIMB, reset_less=True)
        product = Signal(signed(33 + _LIMB), reset_less=True)
        m.d.sync += [
            factor.eq(Mux(weighs, Mux(of_weight, weight, power), self.reward)),
            limb.eq(Mux(s1.high, operand[_LIMB:], operand[:_LIMB])),
            product.eq(factor * Cat(limb, 0).as_signed()),
        ]
        s3 = delay(m, s1, 2, name="halves", reset=True)
        with m.If(s3.valid):
            half = Mux(weighs, 1 << (FRACTION - 1), 0)
            begin = Mux(s3.first, half, self.total)
            m.d.sync += self.total.eq(begin + Mux(s3.high, product << _LIMB, product))

        rounded = self.total[FRACTION : FRACTION + 32]
        with m.If(adds):
            m.d.sync += clock.eq(clock + 1)
            with m.If((clock == 1) & ~last):
                m.d.sync += [clock.eq(0), age.eq(age + 1)]
            with m.If(clock == 1 + self.LATENCY):
                m.d.comb += self.done.eq(1)
        with m.If(weighs):
            m.d.sync += clock.eq(clock + 1)
            # In clock 0 the product before is complete.
            with m.If((clock == 0) & of_weight):
                m.d.comb += write.en.eq(1)
                m.d.sync += power.eq(rounded)
            with m.If((clock == 1) & of_weight):
                m.d.comb += write.en.eq(1)
            with m.If((clock == 0) & ~of_weight & (age != 0)):
                m.d.sync += weight.eq(rounded)
            with m.If(clock == 1 + self.LATENCY):
                m.d.comb += self.done.eq(of_weight & last)
                m.d.sync += [clock.eq(0), of_weight.eq(~of_weight), age.eq(age + of_weight)]
        m.d.comb += [
            write.addr.eq(Cat(age, clock[0])),
            write.data.eq(Mux(clock[0], weight, rounded)),
        ]
        with m.If(self.done):
            m.d.sync += [adds.eq(0), weighs.eq(0), clock.eq(0), age.eq(0), of_weight.eq(0)]
        with m.If(self.sum):
            m.d.sync += adds.eq(1)
        with m.If(self.weigh):
            m.d.sync += [weighs.eq(1), power.eq(1 << FRACTION), weight.eq(self.scale)]
        return m

    def _newest(self, m):
        """The place of power number ``length``."""
        place = Signal.like(self.age, name="newest")
        m.d.comb += place.eq(self.length - 1)
        return place

    def _table(self, m):
        """``(read, write)``: ports of the memory with powers 1 to n, and weights 0 to n - 1 after
        these."""
        m.submodules.table = table = memory.Memory(
            shape=unsigned(32), depth=2 << len(self.age), init=[]
        )
        return table.read_port(domain="comb"), table.write_port()
