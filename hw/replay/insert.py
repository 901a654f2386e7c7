"""The insert engine: dense experiences of operands go to their places in storage.

After the last of ``capacity`` places the first one follows. So a run of experiences is one write,
or two where it passes the end.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.replay.commands import MAX_COUNT, MAX_GRANULES
from hw.replay.records import GRANULE_BYTES
from hw.shell.ports import write_port
from hw.stream.pack import Unpack

__all__ = ["Insert"]


class Insert(wiring.Component):
    """Writes ``count`` experiences to storage: experience j goes to place (position + j) mod
    capacity. Place k begins k * stride beats behind the byte address ``storage``.

    Parameters
    ----------
    config : ReplayConfig
    data_width : int
        Bits of a beat.

    Members
    -------
    start : In(1)
        One clock: begin. All inputs below are steady until ``done``.
    storage : In(64), position, capacity : In, count : In(16), granules : In, stride : In
        Byte address of storage; place of the first experience; number of places; number of
        experiences (1 to ``capacity``); granules of 16 bytes of an experience (at least 1); beats
        of a place.
    words : In(stream.Signature(data_width))
        The experiences, dense.
    write : Out(write_port)
        Writes to storage: one request, or two if the places go on from the last to place 0.
    done : Out(1)
        1 for one clock: memory has answered every write, with or without an error.
    """

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        places = range(config.capacity + 1)
        super().__init__(
            {
                "start": In(1),
                "storage": In(64),
                "position": In(places),
                "capacity": In(places),
                "count": In(range(MAX_COUNT + 1)),
                "granules": In(range(MAX_GRANULES + 1)),
                "stride": In(range(MAX_GRANULES + 1)),
                "words": In(stream.Signature(unsigned(data_width))),
                "write": Out(write_port(data_width)),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.unpack = unpack = Unpack(
            8 * GRANULE_BYTES, self.data_width // (8 * GRANULE_BYTES)
        )
        connect(m, flipped(self.words), unpack.i)
        m.d.comb += [
            self.write.data.payload.eq(unpack.o.p.data),
            self.write.data.valid.eq(unpack.o.valid),
            unpack.o.ready.eq(self.write.data.ready),
        ]

        # One granule count for each experience.
        uncounted = Signal.like(self.count)
        m.d.comb += [
            unpack.count.valid.eq(uncounted != 0),
            unpack.count.p.count.eq(self.granules),
            unpack.count.p.last.eq(uncounted == 1),
        ]
        with m.If(unpack.count.valid & unpack.count.ready):
            m.d.sync += uncounted.eq(uncounted - 1)

        # One request for each run without a wrap; each product is one DSP block.
        left = Signal.like(self.count)
        place = Signal.like(self.position)
        room = Signal.like(self.position)
        run = Signal.like(self.count, reset_less=True)
        offset = Signal(len(self.position) + len(self.stride), reset_less=True)  # beats
        address = Signal(64, reset_less=True)
        beats = Signal(len(self.write.request.p.beats), reset_less=True)
        pending = Signal(2)
        accept, answer = Signal(), Signal()
        shift = (self.data_width // 8).bit_length() - 1
        m.d.comb += [
            room.eq(self.capacity - place),
            self.write.request.p.address.eq(address),
            self.write.request.p.beats.eq(beats),
            accept.eq(self.write.request.valid & self.write.request.ready),
            self.write.done.ready.eq(1),
            answer.eq(self.write.done.valid),
        ]
        m.d.sync += pending.eq(pending + accept - answer)

        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.start):
                    m.d.sync += [
                        left.eq(self.count),
                        uncounted.eq(self.count),
                        place.eq(self.position),
                    ]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.sync += run.eq(Mux(left > room, room, left))
                m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                m.d.sync += [offset.eq(place * self.stride), beats.eq(run * self.stride)]
                m.next = "ADD"
            with m.State("ADD"):
                m.d.sync += address.eq(self.storage + (offset << shift))
                m.next = "REQUEST"
            with m.State("REQUEST"):
                m.d.comb += self.write.request.valid.eq(1)
                with m.If(accept):
                    m.d.sync += [left.eq(left - run), place.eq(0)]
                    m.next = "MORE"
            with m.State("MORE"):
                with m.If(left != 0):
                    m.next = "RUN"
                with m.Elif(pending == 0):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
        return m
