"""Receives bytes from a serial line: start bit, eight data bits from the lowest, stop bit.

A byte leaves half a bit before its stop bit ends; interval 10 bits.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["Receiver"]


class Receiver(wiring.Component):
    """Receives bytes from a serial line: start bit, eight data bits from the lowest, stop bit.

    It samples every bit in its middle. A byte without its stop bit is dropped.

    Parameters
    ----------
    divisor : int
        Clocks a bit, at least 4.

    Members
    -------
    rx : In(1)
        The line, asynchronous; 1 while idle.
    o : Out(stream.Signature(8))
        The received bytes. If a byte is not taken before the next one has come, the next one
        replaces it, because the line cannot wait.
    """

    def __init__(self, divisor):
        self.divisor = divisor
        super().__init__({"rx": In(1, init=1), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        left = Signal(range(11))  # samples to come of the byte under way
        timer = Signal(range(self.divisor))
        bits = Signal(8, reset_less=True)

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(left == 0):
            m.d.sync += timer.eq(self.divisor // 2 - 1)
            with m.If(~line):
                m.d.sync += left.eq(10)
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self.divisor - 1), left.eq(left - 1)]
            with m.If((left == 10) & line):  # a spike, no start bit
                m.d.sync += left.eq(0)
            with m.Elif(left != 1):
                m.d.sync += bits.eq(Cat(bits[1:], line))
            with m.Elif(line):
                m.d.sync += [self.o.payload.eq(bits), self.o.valid.eq(1)]
        return m
