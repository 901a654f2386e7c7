"""Requests of a serial line, as ``hw.uart.protocol`` has them, executed byte by byte on a port.

A request is executed when it is complete and its CRC is right; the next request waits meanwhile.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.stream.ram import Ram
from hw.uart.frame import FrameDecoder, FrameEncoder
from hw.uart.protocol import BYTE_PORT, CRC_BYTES, HEADER, HEADER_BYTES, Opcode, Status

__all__ = ["PATIENCE", "Bridge"]

#: Clocks that the port may take to answer: beyond, the request is STALLED.
PATIENCE = 4096

#: Clocks of ``reset``.
_RESET = 16


class Bridge(wiring.Component):
    """Executes the requests that come as frames on ``i``, and sends a reply frame for each.

    Frames with a wrong CRC are ignored. Each byte of a READ or WRITE is one access of ``port``. If
    an access is not answered within ``PATIENCE`` clocks, the request ends with STALLED. From then
    on every READ and WRITE is STALLED at once, until a RESET: a late answer must not be taken for
    another request's.

    Parameters
    ----------
    payload : int
        Largest count of a request.

    Members
    -------
    i : In(stream.Signature(8)), o : Out(stream.Signature(8))
        Bytes that were received; bytes to send.
    target : Out(12)
        The upper 12 bits of the address of the access under way, which choose the target.
    port : Out(BYTE_PORT)
        Accesses of one byte each, with the lower 20 bits of the address.
    reset : Out(1)
        High for 16 clocks when a RESET is executed, to reset all that ``port`` reaches.
    """

    def __init__(self, payload):
        self.payload = payload
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "target": Out(12),
                "port": Out(BYTE_PORT),
                "reset": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = FrameDecoder()
        m.submodules.encoder = encoder = FrameEncoder()
        connect(m, flipped(self.i), decoder.i)
        connect(m, encoder.o, flipped(self.o))

        # The bytes behind the header; those of the CRC among them, which nobody reads.
        longest = self.payload + CRC_BYTES
        m.submodules.buffer = buffer = Ram(width=8, depth=longest, style="block")
        header = Signal(HEADER, reset_less=True)
        length = Signal(range(longest + 2))  # bytes behind the header; one beyond: too many
        headed = Signal(range(HEADER_BYTES + 1))  # bytes of the header
        item, take = decoder.o.p, Signal()
        m.d.comb += [
            take.eq(decoder.o.valid & decoder.o.ready),
            buffer.write_enable.eq(take & ~item.end & (headed == HEADER_BYTES)),
            buffer.write_address.eq(length),
            buffer.write_data.eq(item.data),
        ]

        last = Signal(8)  # sequence number of the request that was executed last
        lasting = Signal()  # a request has been executed since reset, so ``last`` counts
        index = Signal(range(self.payload + 1))
        status = Signal(Status)
        stalled = Signal()
        clock = Signal(range(PATIENCE))
        is_read, repeated, bad_count = Signal(), Signal(), Signal()
        last_index = Signal.like(header.count)
        address = Signal(32, reset_less=True)
        m.d.comb += [
            is_read.eq(header.opcode == Opcode.READ),
            repeated.eq(lasting & (header.sequence == last) & (header.opcode == Opcode.WRITE)),
            buffer.read_address.eq(index),
            Cat(self.port.request.p.address, self.target).eq(address),
            self.port.request.p.write.eq(~is_read),
            self.port.request.p.data.eq(Mux(is_read, 0, buffer.read_data)),
        ]
        # Of the clock before: header and length are steady from the byte before the frame's end on.
        m.d.sync += [
            clock.eq(clock + 1),
            bad_count.eq(
                (header.count > self.payload)
                | (length != Mux(header.opcode == Opcode.WRITE, header.count, 0) + CRC_BYTES)
            ),
            last_index.eq(header.count - 1),
        ]

        r = SimpleNamespace(
            decoder=decoder,
            encoder=encoder,
            header=header,
            length=length,
            headed=headed,
            item=item,
            take=take,
            longest=longest,
            last=last,
            lasting=lasting,
            index=index,
            status=status,
            stalled=stalled,
            clock=clock,
            is_read=is_read,
            repeated=repeated,
            bad_count=bad_count,
            last_index=last_index,
            address=address,
        )
        with m.FSM():
            self._request_states(m, r)
            self._access_states(m, r)
            self._answer_states(m, r)
        return m

    def _request_states(self, m, r):
        """The states that receive and check a frame."""
        with m.State("COLLECT"):
            m.d.comb += r.decoder.o.ready.eq(1)
            m.d.sync += r.index.eq(0)
            with m.If(r.take & ~r.item.end):
                with m.If(r.headed != HEADER_BYTES):
                    raw = Value.cast(r.header)
                    m.d.sync += [raw.eq(Cat(raw[8:], r.item.data)), r.headed.eq(r.headed + 1)]
                with m.Elif(r.length <= r.longest):
                    m.d.sync += r.length.eq(r.length + 1)
            with m.Elif(r.take):
                with m.If(r.item.good & (r.length >= CRC_BYTES)):
                    m.next = "CHECK"
                with m.Else():
                    m.d.sync += [r.headed.eq(0), r.length.eq(0)]
        with m.State("CHECK"):
            m.d.sync += [r.headed.eq(0), r.length.eq(0), r.clock.eq(0)]
            m.d.comb += r.encoder.i.p.data.eq(r.header.sequence)
            m.d.comb += r.encoder.i.valid.eq(1)
            with m.If(r.encoder.i.ready):
                m.d.sync += [r.lasting.eq(1), r.last.eq(r.header.sequence)]
                m.d.sync += r.status.eq(Status.DONE)
                m.next = "STATUS"
                with m.If(r.bad_count):
                    m.d.sync += r.status.eq(Status.COUNT)
                with m.Elif(r.header.opcode == Opcode.RESET):
                    m.next = "RESET"
                with m.Elif(~r.is_read & (r.header.opcode != Opcode.WRITE)):
                    m.d.sync += r.status.eq(Status.OPCODE)
                with m.Elif(r.stalled):
                    m.d.sync += r.status.eq(Status.STALLED)
                with m.Elif(~r.repeated & (r.header.count != 0)):
                    m.next = "FETCH"
            with m.Else():
                # What is checked lasts as long as the encoder waits.
                m.d.sync += [r.headed.eq(r.headed), r.length.eq(r.length)]

    def _access_states(self, m, r):
        """The states that write bytes to the port or read them, one by one."""
        with m.State("FETCH"):
            m.d.sync += [r.clock.eq(0), r.address.eq(r.header.address + r.index)]
            m.next = "REQUEST"
        with m.State("REQUEST"):
            m.d.comb += self.port.request.valid.eq(1)
            with m.If(self.port.request.ready):
                m.next = "RESPONSE"
            with m.Elif(r.clock == PATIENCE - 1):
                m.d.sync += [r.stalled.eq(1), r.status.eq(Status.STALLED)]
                m.next = "STATUS"
        with m.State("RESPONSE"):
            m.d.comb += [
                r.encoder.i.valid.eq(self.port.response.valid & r.is_read),
                r.encoder.i.p.data.eq(self.port.response.p.data),
                self.port.response.ready.eq(r.encoder.i.ready | ~r.is_read),
            ]
            with m.If(self.port.response.valid):
                m.d.sync += r.clock.eq(0)
                with m.If(self.port.response.ready):
                    m.d.sync += r.index.eq(r.index + 1)
                    with m.If(self.port.response.p.failed):
                        m.d.sync += r.status.eq(Status.ADDRESS)
                    m.next = "FETCH"
                    with m.If(r.index == r.last_index):
                        m.next = "STATUS"
            with m.Elif(r.clock == PATIENCE - 1):
                m.d.sync += [r.stalled.eq(1), r.status.eq(Status.STALLED)]
                m.next = "STATUS"

    def _answer_states(self, m, r):
        """The states that end an answer."""
        with m.State("RESET"):
            m.d.comb += self.reset.eq(1)
            m.d.sync += r.stalled.eq(0)
            with m.If(r.clock == _RESET - 1):
                m.next = "STATUS"
        with m.State("STATUS"):
            m.d.comb += [r.encoder.i.valid.eq(1), r.encoder.i.p.data.eq(r.status)]
            with m.If(r.encoder.i.ready):
                m.next = "END"
        with m.State("END"):
            m.d.comb += [r.encoder.i.valid.eq(1), r.encoder.i.p.end.eq(1)]
            with m.If(r.encoder.i.ready):
                m.next = "COLLECT"
