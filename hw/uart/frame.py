"""Converts frames to bytes of the line and back: stuffing and CRC of ``hw.uart.protocol``.

A byte a clock, without latency; the encoder takes another clock for a stuffed byte and for each
byte of the CRC.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.uart.protocol import CRC, CRC_BYTES, END, ESCAPE, ESCAPED

__all__ = ["FrameDecoder", "FrameEncoder"]


class FrameEncoder(wiring.Component):
    """Turns the bytes of a frame into bytes of the line, with stuffing, CRC and END.

    Members
    -------
    i : In(stream of data: 8, end: 1)
        The bytes of a frame, one an item with ``end`` 0; then one item with ``end`` 1, whose
        ``data`` is ignored and for which the CRC and END are sent.
    o : Out(stream.Signature(8))
        Bytes for the line.
    """

    INTERVAL = 1
    LATENCY = 0

    def __init__(self):
        item = data.StructLayout({"data": 8, "end": 1})
        super().__init__({"i": In(stream.Signature(item)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = CRC.create()
        sent = Signal(range(CRC_BYTES + 1))  # bytes of the CRC
        escaped = Signal()  # ESCAPE is out, what it stands for is not
        byte, final = Signal(8), Signal()
        m.d.comb += [
            final.eq(self.i.p.end & (sent == CRC_BYTES)),
            byte.eq(Mux(self.i.p.end, crc.crc.word_select(sent[:2], 8), self.i.p.data)),
            self.o.payload.eq(byte),
            self.o.valid.eq(self.i.valid),
            crc.start.eq(final & self.o.ready),
            crc.data.eq(self.i.p.data),
            crc.valid.eq(self.i.valid & self.i.ready & ~self.i.p.end),
        ]
        whole = Signal(init=1)  # after this byte of the line, the frame's byte is out
        with m.If(final):
            m.d.comb += self.o.payload.eq(END)
        with m.Else():
            for value, substitute in ESCAPED.items():
                with m.If(byte == value):
                    m.d.comb += [
                        whole.eq(escaped),
                        self.o.payload.eq(Mux(escaped, substitute, ESCAPE)),
                    ]
        m.d.comb += self.i.ready.eq(self.o.ready & whole & (~self.i.p.end | final))
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += escaped.eq(~whole)
            with m.If(final):
                m.d.sync += sent.eq(0)
            with m.Elif(self.i.p.end & whole):
                m.d.sync += sent.eq(sent + 1)
        return m


class FrameDecoder(wiring.Component):
    """Turns bytes of the line back into the bytes of frames, and checks their CRC.

    Members
    -------
    i : In(stream.Signature(8))
        Bytes of the line.
    o : Out(stream of data: 8, end: 1, good: 1)
        The bytes of a frame and of its CRC, one an item with ``end`` 0; then one item with ``end``
        1. ``good`` of this item is 1 if the CRC was right. ``data`` means nothing in it, and
        ``good`` means nothing in the others.
    """

    INTERVAL = 1
    LATENCY = 0

    def __init__(self):
        item = data.StructLayout({"data": 8, "end": 1, "good": 1})
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(item))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = CRC.create()
        escaped = Signal()
        is_escape, take = Signal(), Signal()
        m.d.comb += [
            self.o.p.end.eq(self.i.payload == END),
            self.o.p.data.eq(self.i.payload),
            self.o.p.good.eq(crc.match_detected & ~escaped),
            is_escape.eq((self.i.payload == ESCAPE) & ~escaped),
            self.o.valid.eq(self.i.valid & ~is_escape),
            self.i.ready.eq(self.o.ready | is_escape),
            take.eq(self.i.valid & self.i.ready),
            crc.data.eq(self.o.p.data),
            crc.valid.eq(take & ~is_escape & ~self.o.p.end),
            crc.start.eq(take & self.o.p.end),
        ]
        with m.If(escaped):
            for value, substitute in ESCAPED.items():
                with m.If(self.i.payload == substitute):
                    m.d.comb += self.o.p.data.eq(value)
        with m.If(take):
            m.d.sync += escaped.eq(is_escape)
        return m
