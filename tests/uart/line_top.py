"""Receiver and transmitter side by side, each with pins and streams of its own."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.uart.receiver import Receiver
from hw.uart.transmitter import Transmitter


class LineTop(wiring.Component):
    def __init__(self, divisor):
        self.divisor = divisor
        super().__init__(
            {"rx": In(1), "o": Out(stream.Signature(8)), "i": In(stream.Signature(8)), "tx": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = Receiver(self.divisor)
        m.submodules.transmitter = transmitter = Transmitter(self.divisor)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        connect(m, receiver.o, flipped(self.o))
        connect(m, flipped(self.i), transmitter.i)
        return m
