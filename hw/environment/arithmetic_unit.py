"""The arithmetic of the barrel machine: one instruction a clock, its result five clocks later.

::

    clock 0        1          2             3            4          5
    operands   -> products -> middle two -> product  ->  shifted -> sum ----> clipped: result
               -> chosen   -> joined     ----------------------->

A product of 32 x 32 bits is four products of limbs of 17 and 15 bits, each in a multiplier of an
ECP5, 18 x 18 bits, or in a DSP block. The rounding adder also passes on the results of the other
instructions: what an instruction does not compute is 0 there.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.environment.task_program import Opcode
from hw.environment.trace import SHIFTS
from hw.stream.delay import delay

__all__ = ["OPERATION", "ArithmeticUnit"]

_WORD = 32
#: Bits of the low limb, which is unsigned.
_LIMB = 17

#: opcode, shift : of the instruction.
#: a, b : operands.
#: random : the result of RANDOM.
#: flag : whether SELECT gives ``a``.
OPERATION = data.StructLayout(
    {
        "opcode": 3,
        "shift": 3,
        "a": signed(_WORD),
        "b": signed(_WORD),
        "random": _WORD,
        "flag": 1,
    }
)


class ArithmeticUnit(wiring.Component):
    """The result of the instruction of ``LATENCY`` clocks ago, as ``task_program`` defines it.

    Free-running: no handshake and no stall.

    Members
    -------
    i : In(OPERATION)
    less : Out(1)
        In the same clock, whether ``a < b``; only for LESS, MIN and MAX.
    result : Out(signed(32))
        Undefined for LESS.
    clipped : Out(1)
        Whether ``result`` is the largest or smallest word instead of a number beyond it. 2^31 does
        not count: bounds of the tracer, such as the square of -2^31, may have it.
    """

    INTERVAL = 1
    LATENCY = 5

    def __init__(self):
        super().__init__(
            {
                "i": In(OPERATION),
                "less": Out(1),
                "result": Out(signed(_WORD)),
                "clipped": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shifted, joined = self._product(m), self._others(m)
        # One addition rounds a product, floor((2 x + 1) / 2), or passes on another result.
        total = Signal(signed(2 * _WORD - SHIFTS[0]), reset_less=True)
        m.d.sync += total.eq((shifted + Cat(Const(1, 1), joined).as_signed()) >> 1)
        sign, beyond = total[-1], Signal()
        m.d.comb += [
            beyond.eq((total[_WORD - 1 :] != 0) & ~total[_WORD - 1 :].all()),
            self.clipped.eq(beyond & (total != 1 << (_WORD - 1))),
            self.result.eq(Mux(beyond, Cat((~sign).replicate(_WORD - 1), sign), total)),
        ]
        return m

    def _product(self, m):
        """``floor(a b / 2^(shift - 1))`` after four clocks, 0 for other instructions than MUL."""
        a, b = self.i.a, self.i.b
        low = [Cat(each[:_LIMB], 0).as_signed() for each in (a, b)]
        high = [each[_LIMB:].as_signed() for each in (a, b)]
        products = [
            Signal(signed(2 * _LIMB + 2), name=f"product_{k}", reset_less=True) for k in range(4)
        ]
        m.d.sync += [
            products[0].eq(low[0] * low[1]),
            products[1].eq(low[0] * high[1]),
            products[2].eq(high[0] * low[1]),
            products[3].eq(high[0] * high[1]),
        ]
        outer = Cat(products[0][: 2 * _LIMB], products[3])[: 2 * _WORD]
        s2_outer = Signal(signed(2 * _WORD), reset_less=True)
        s2_middle = Signal(signed(2 * _LIMB + 2), reset_less=True)
        s3_product = Signal(signed(2 * _WORD), reset_less=True)
        m.d.sync += [
            s2_outer.eq(outer.as_signed()),
            s2_middle.eq(products[1] + products[2]),
            s3_product.eq(s2_outer + (s2_middle << _LIMB)),
        ]
        is_product = delay(m, self.i.opcode == Opcode.MUL, 3, name="is_product")
        shift = delay(m, self.i.shift, 3, name="shift")
        above = s3_product[SHIFTS[0] - 1 :].as_signed()
        shifted = Signal(above.shape(), reset_less=True)
        m.d.sync += shifted.eq(0)
        with m.If(is_product):
            m.d.sync += shifted.eq(above >> shift)
        return shifted

    def _others(self, m):
        """The results of the other instructions after four clocks, 0 for MUL."""
        operation, opcode = self.i, self.i.opcode
        subtracts = Signal()
        m.d.comb += subtracts.eq(opcode != Opcode.ADD)
        # The lowest bits make the carry of a difference, a + ~b + 1.
        second, total = Signal(signed(_WORD)), Signal(signed(_WORD + 1))
        m.d.comb += [
            second.eq(Mux(subtracts, ~operation.b, operation.b)),
            total.eq(
                (Cat(subtracts, operation.a).as_signed() + Cat(subtracts, second).as_signed()) >> 1
            ),
            self.less.eq(total[-1]),
        ]
        takes_a = Signal()
        with m.Switch(opcode):
            with m.Case(Opcode.MIN):
                m.d.comb += takes_a.eq(self.less)
            with m.Case(Opcode.MAX):
                m.d.comb += takes_a.eq(~self.less)
            with m.Default():
                m.d.comb += takes_a.eq(operation.flag)
        s1_sum = Signal(signed(_WORD + 1), reset_less=True)
        s1_choice = Signal(signed(_WORD), reset_less=True)
        s1_random = Signal(signed(_WORD), reset_less=True)
        m.d.sync += [s1_sum.eq(0), s1_choice.eq(0), s1_random.eq(0)]
        with m.Switch(opcode):
            with m.Case(Opcode.ADD, Opcode.SUB):
                m.d.sync += s1_sum.eq(total)
            with m.Case(Opcode.MIN, Opcode.MAX, Opcode.SELECT):
                m.d.sync += s1_choice.eq(Mux(takes_a, operation.a, operation.b))
            with m.Case(Opcode.RANDOM):
                m.d.sync += s1_random.eq(operation.random)
        joined = Signal(signed(_WORD + 1), reset_less=True)
        m.d.sync += joined.eq(s1_sum | s1_choice | s1_random)
        return delay(m, joined, 2, name="joined")
