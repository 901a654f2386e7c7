"""The board's description as bytes that can be read: IDENTITY of ``hw.uart.protocol``. Answers come
a clock later."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.uart.protocol import BYTE_PORT

__all__ = ["Identity"]


class Identity(wiring.Component):
    """A target of the serial line that answers reads with ``record[address]``, a clock later.
    Writes fail, and so do reads past the end of the record.

    Parameters
    ----------
    record : bytes
        The board's IDENTITY record.

    Members
    -------
    port : In(BYTE_PORT)
        Accesses, a byte each.
    """

    def __init__(self, record):
        self.record = bytes(record)
        super().__init__({"port": In(BYTE_PORT)})

    def elaborate(self, platform):
        m = Module()
        request, response = self.port.request, self.port.response
        m.d.comb += request.ready.eq(~response.valid)
        with m.If(request.ready):
            m.d.sync += [
                response.valid.eq(request.valid),
                response.p.data.eq(0),
                response.p.failed.eq(request.p.write | (request.p.address >= len(self.record))),
            ]
            with m.Switch(request.p.address):
                for address, byte in enumerate(self.record):
                    with m.Case(address):
                        m.d.sync += response.p.data.eq(byte)
        with m.Elif(response.ready):
            m.d.sync += response.valid.eq(0)
        return m
