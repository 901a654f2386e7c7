"""Block RAM as the memory behind an AXI4 master, with a port for single bytes beside it.

A beat a clock in each direction, and a clock between bursts; a read's first beat comes
``READ_LATENCY`` clocks after its address, a write's answer a clock after its last beat. An access
to a byte stops the bursts for a clock.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hw.errors import UsageError
from hw.shell.axi import ADDRESS, RESPONSE, read_beat, write_beat
from hw.stream.queue import Queue
from hw.stream.ram import Ram
from hw.uart.protocol import BYTE_PORT, TARGET_SHIFT

__all__ = ["AxiMemory"]

_DECODE_ERROR = 0b11


class AxiMemory(wiring.Component):
    """The bytes of an AXI4 master's address space from ``base`` to ``base + size - 1``.

    Every burst is taken as INCR. A beat outside is answered DECERR, and not written. Contents after
    power-up are undefined.

    Parameters
    ----------
    size : int
        Bytes, whole beats, at most 2**TARGET_SHIFT.
    base : int
        A multiple of 2**TARGET_SHIFT.
    data_width : int
        Bits of a beat.

    Members
    -------
    ar, r, aw, w, b : streams of ADDRESS, ``read_beat``, ADDRESS, ``write_beat``, RESPONSE
        The channels of the kernel's master.
    port : In(BYTE_PORT)
        Accesses of one byte each, which go before the bursts. Addresses count from ``base``; an
        access at ``size`` or above fails.
    """

    READ_LATENCY = 3
    _ROOM = 4  # beats between the memory and ``r``

    def __init__(self, *, size, base, data_width):
        for name, value, unit in (
            ("size", size, data_width // 8),
            ("base", base, 1 << TARGET_SHIFT),
        ):
            if value % unit:
                raise UsageError(f"{name} must be a multiple of {unit} bytes, not {value!r}")
        self.size, self.base, self.data_width = size, base, data_width
        self.beats = size // (data_width // 8)
        super().__init__(
            {
                "ar": In(stream.Signature(ADDRESS)),
                "r": Out(stream.Signature(read_beat(data_width))),
                "aw": In(stream.Signature(ADDRESS)),
                "w": In(stream.Signature(write_beat(data_width))),
                "b": Out(stream.Signature(RESPONSE)),
                "port": In(BYTE_PORT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.data_width // 8
        rams = [Ram(width=8, depth=self.beats, style="block") for _ in range(lanes)]
        for lane, ram in enumerate(rams):
            m.submodules[f"lane_{lane}"] = ram
        byte_read, byte_write, address, byte = self._bytes(m, rams)
        self._reads(m, rams, byte_read, address)
        self._writes(m, rams, byte_write, address, byte)
        return m

    def _bytes(self, m, rams):
        """The byte port, which has priority. Registers hold its access of this clock, so no
        combinational path leads from the port into the bursts."""
        request, response = self.port.request, self.port.response
        address = Signal(TARGET_SHIFT, reset_less=True)
        byte = Signal(8, reset_less=True)
        byte_read, byte_write, reading = Signal(), Signal(), Signal()
        accept, inside = Signal(), Signal()
        m.d.comb += [
            request.ready.eq(~(byte_read | byte_write | reading | response.valid)),
            accept.eq(request.valid & request.ready),
            inside.eq(request.p.address < self.size),
        ]
        m.d.sync += [
            byte_read.eq(accept & inside & ~request.p.write),
            byte_write.eq(accept & inside & request.p.write),
            reading.eq(byte_read),
        ]
        with m.If(accept):
            m.d.sync += [
                address.eq(request.p.address),
                byte.eq(request.p.data),
                response.p.data.eq(0),
                response.p.failed.eq(~inside),
                response.valid.eq(~inside),
            ]
        with m.Elif(byte_write):
            m.d.sync += response.valid.eq(1)
        with m.Elif(reading):
            read_data = Cat(ram.read_data for ram in rams)
            lane = address[: exact_log2(len(rams))]
            m.d.sync += response.p.data.eq(read_data.word_select(lane, 8))
            m.d.sync += response.valid.eq(1)
        with m.Elif(response.ready):
            m.d.sync += response.valid.eq(0)
        return byte_read, byte_write, address, byte

    def _burst(self, channel, name):
        """Registers of a burst under way: the beat number, with one bit more for beats past the
        end, and whether the burst began in this memory's part of the address space."""
        width = TARGET_SHIFT - exact_log2(self.data_width // 8)
        beat = Signal(width + 1, name=f"{name}_beat", reset_less=True)
        ours = Signal(name=f"{name}_ours", reset_less=True)
        start = [
            beat.eq(channel.p.addr[TARGET_SHIFT - width : TARGET_SHIFT]),
            ours.eq(channel.p.addr[TARGET_SHIFT:] == self.base >> TARGET_SHIFT),
        ]
        return beat, ours & (beat < self.beats), start

    def _reads(self, m, rams, byte_read, address):
        beat, inside, start = self._burst(self.ar, "read")
        left, active, step = Signal(8, reset_less=True), Signal(), Signal()
        held = Signal(range(self._ROOM + 1))  # beats between the memory and ``r``
        m.submodules.queue = queue = Queue(read_beat(self.data_width), self._ROOM)
        connect(m, queue.o, flipped(self.r))
        m.d.comb += [
            self.ar.ready.eq(~active),
            step.eq(active & (held != self._ROOM) & ~byte_read),
        ]
        m.d.sync += held.eq(held + step - (self.r.valid & self.r.ready))
        with m.If(self.ar.ready):
            m.d.sync += [active.eq(self.ar.valid), left.eq(self.ar.p.len), *start]
        with m.If(step):
            m.d.sync += [beat.eq(beat + 1), left.eq(left - 1), active.eq(left != 0)]

        s1_step = Signal()
        s1_last, s1_inside = Signal(reset_less=True), Signal(reset_less=True)
        m.d.sync += [s1_step.eq(step), s1_last.eq(left == 0), s1_inside.eq(inside)]
        read_data = Cat(ram.read_data for ram in rams)
        m.d.comb += [
            queue.i.valid.eq(s1_step),
            queue.i.p.data.eq(Mux(s1_inside, read_data, 0)),
            queue.i.p.resp.eq(Mux(s1_inside, 0, _DECODE_ERROR)),
            queue.i.p.last.eq(s1_last),
        ]
        byte_beat = address[exact_log2(len(rams)) :]
        for ram in rams:
            m.d.comb += [
                ram.read_enable.eq(step | byte_read),
                ram.read_address.eq(Mux(byte_read, byte_beat, beat)),
            ]

    def _writes(self, m, rams, byte_write, address, byte):
        beat, inside, start = self._burst(self.aw, "write")
        active, step, failed = Signal(), Signal(), Signal()
        m.d.comb += [
            self.aw.ready.eq(~active & ~self.b.valid),
            self.w.ready.eq(active & ~byte_write),
            step.eq(self.w.valid & self.w.ready),
            self.b.p.resp.eq(Mux(failed, _DECODE_ERROR, 0)),
        ]
        with m.If(self.b.ready):
            m.d.sync += self.b.valid.eq(0)
        with m.If(self.aw.ready):
            m.d.sync += [active.eq(self.aw.valid), failed.eq(0), *start]
        with m.If(step):
            m.d.sync += [beat.eq(beat + 1), failed.eq(failed | ~inside)]
            with m.If(self.w.p.last):
                m.d.sync += [active.eq(0), self.b.valid.eq(1)]

        lane_bits = exact_log2(len(rams))
        for lane, ram in enumerate(rams):
            this = byte_write & (address[:lane_bits] == lane)
            m.d.comb += [
                ram.write_enable.eq((step & inside) | this),
                ram.write_address.eq(Mux(byte_write, address[lane_bits:], beat)),
                ram.write_data.eq(Mux(byte_write, byte, self.w.p.data.word_select(lane, 8))),
            ]
