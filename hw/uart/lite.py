"""Bytes of a kernel's registers: a port as the master of an AXI4-Lite slave.

One access at a time; every byte is an access of its word, with one strobe.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.shell.axi import slave_members
from hw.uart.protocol import BYTE_PORT

__all__ = ["LiteMaster"]

_PREFIX = "axi"
_ADDRESS_WIDTH = 12


class LiteMaster(wiring.Component):
    """Turns byte accesses into AXI4-Lite accesses. An address of 4096 or more fails, and so does an
    access that the slave answers with an error.

    Members
    -------
    port : In(BYTE_PORT)
        Accesses, a byte each.
    axi_* : AXI4-Lite master, 12 address bits, 32 data bits
        For the kernel's control slave.
    """

    def __init__(self):
        pins = slave_members(_PREFIX, _ADDRESS_WIDTH)
        super().__init__(
            {"port": In(BYTE_PORT), **{name: member.flip() for name, member in pins.items()}}
        )

    def elaborate(self, platform):
        m = Module()
        request, response = self.port.request, self.port.response
        address = Signal(_ADDRESS_WIDTH, reset_less=True)
        byte = Signal(8, reset_less=True)

        def pin(name):
            return getattr(self, f"{_PREFIX}_{name}")

        m.d.comb += [
            pin("awaddr").eq(address & ~3),
            pin("araddr").eq(address & ~3),
            pin("wdata").eq(byte.replicate(4)),
            pin("wstrb").eq(1 << address[:2]),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += request.ready.eq(1)
                m.d.sync += [address.eq(request.p.address), byte.eq(request.p.data)]
                m.d.sync += [response.p.data.eq(0), response.p.failed.eq(1)]
                with m.If(request.valid):
                    with m.If(request.p.address >> _ADDRESS_WIDTH):
                        m.next = "ANSWER"
                    with m.Elif(request.p.write):
                        m.d.sync += [pin("awvalid").eq(1), pin("wvalid").eq(1)]
                        m.next = "WRITE"
                    with m.Else():
                        m.d.sync += pin("arvalid").eq(1)
                        m.next = "READ"
            with m.State("WRITE"):
                for channel in ("aw", "w"):
                    with m.If(pin(f"{channel}ready")):
                        m.d.sync += pin(f"{channel}valid").eq(0)
                m.d.comb += pin("bready").eq(1)
                with m.If(pin("bvalid")):
                    m.d.sync += response.p.failed.eq(pin("bresp") != 0)
                    m.next = "ANSWER"
            with m.State("READ"):
                with m.If(pin("arready")):
                    m.d.sync += pin("arvalid").eq(0)
                m.d.comb += pin("rready").eq(1)
                with m.If(pin("rvalid")):
                    m.d.sync += [
                        response.p.data.eq(pin("rdata").word_select(address[:2], 8)),
                        response.p.failed.eq(pin("rresp") != 0),
                    ]
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += response.valid.eq(1)
                with m.If(response.ready):
                    m.next = "IDLE"
        return m
