"""Bytes onto a serial line: start bit, eight data bits from the lowest, stop bit.

The start bit begins a clock after the byte was taken; interval 10 bits.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Transmitter"]


class Transmitter(wiring.Component):
    """Sends bytes on a serial line: start bit, eight data bits from the lowest, stop bit.

    Parameters
    ----------
    divisor : int
        Clocks a bit.

    Members
    -------
    i : In(stream.Signature(8))
        Bytes to send.
    tx : Out(1)
        The line, a register; 1 while idle.
    """

    def __init__(self, divisor):
        self.divisor = divisor
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        left = Signal(range(11))  # bits that are not over yet
        timer = Signal(range(self.divisor))
        bits = Signal(9, reset_less=True)
        m.d.comb += self.i.ready.eq((left == 0) | ((left == 1) & (timer == 0)))
        with m.If(self.i.ready):
            m.d.sync += [timer.eq(self.divisor - 1), left.eq(Mux(self.i.valid, 10, 0))]
            m.d.sync += [bits.eq(Cat(self.i.payload, 1)), self.tx.eq(~self.i.valid)]
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self.divisor - 1), left.eq(left - 1)]
            m.d.sync += [bits.eq(Cat(bits[1:], 1)), self.tx.eq(bits[0])]
        return m
