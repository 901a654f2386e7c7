"""Feature maps on chip: one memory with four ports that read and two that write.

It reads a row and writes a row each clock; a row leaves ``LATENCY`` clocks after its request was
taken.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.rows import ROW_WIDTH
from hw.stream.queue import Queue
from hw.stream.ram import Ram, style_of

__all__ = ["FeatureBuffer", "feature_read", "feature_write"]


def feature_read(config):
    """A read port, seen by the user: ``request`` sends the number of a row, ``data`` brings the
    requested rows of 512 bits in the order of the requests."""
    return wiring.Signature(
        {
            "request": Out(stream.Signature(range(config.feature_rows))),
            "data": In(stream.Signature(unsigned(ROW_WIDTH))),
        }
    )


def feature_write(config):
    """A row to write: its number ``row`` and its 512 bits ``data``."""
    return data.StructLayout({"row": range(config.feature_rows), "data": ROW_WIDTH})


class FeatureBuffer(wiring.Component):
    """A memory of rows of 16 words. In a clock at most one request to read and at most one write
    are taken. If several ports of a kind ask in one clock, the port with the lowest number is
    first.

    If a port does not take its rows, it gets no more than its queue holds, and the other ports go
    on. The new row may be requested from the clock after its write was taken. If it is requested in
    the clock in which the write is taken, an undefined row comes; users avoid it.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    reads : In(feature_read(config)).array(4)
        Ports that read, each with rows in the order of its requests.
    writes : In(stream of feature_write(config)).array(2)
        Rows to write.
    """

    READS, WRITES = 4, 2
    #: Rows of a port that are requested and not yet taken, at most; 3 are enough for a row a clock.
    AHEAD = 4
    LATENCY = 1 + Queue.latency_of(AHEAD)

    def __init__(self, config):
        self.config = config
        write = stream.Signature(feature_write(config))
        super().__init__(
            {
                "reads": In(feature_read(config)).array(self.READS),
                "writes": In(write).array(self.WRITES),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows = self.config.feature_rows
        style = style_of(rows, self.config.ultra_ram)
        m.submodules.ram = ram = Ram(width=ROW_WIDTH, depth=rows, style=style)
        first, second = self.writes
        m.d.comb += [
            first.ready.eq(1),
            second.ready.eq(~first.valid),
            ram.write_enable.eq(first.valid | second.valid),
            ram.write_address.eq(Mux(first.valid, first.p.row, second.p.row)),
            ram.write_data.eq(Mux(first.valid, first.p.data, second.p.data)),
        ]
        wanted = Signal(self.READS)
        for number in range(self.READS):
            port = wiring.flipped(self.reads[number])
            queue = Queue(unsigned(ROW_WIDTH), self.AHEAD)
            m.submodules[f"queue_{number}"] = queue
            wiring.connect(m, queue.o, port.data)
            used = Signal(range(self.AHEAD + 1), name=f"used_{number}")
            fetch = Signal(name=f"fetch_{number}")
            fetched = Signal(name=f"fetched_{number}")
            room = Signal(name=f"room_{number}")
            m.d.comb += [
                room.eq(used != self.AHEAD),
                wanted[number].eq(port.request.valid & room),
                port.request.ready.eq(room & ~wanted[:number].any()),
                fetch.eq(port.request.valid & port.request.ready),
                queue.i.payload.eq(ram.read_data),
                queue.i.valid.eq(fetched),  # there is room: the fetch has reserved it
            ]
            with m.If(fetch):
                m.d.comb += ram.read_address.eq(port.request.payload)
            m.d.sync += [
                fetched.eq(fetch),
                used.eq(used + fetch - (port.data.valid & port.data.ready)),
            ]
        m.d.comb += ram.read_enable.eq(wanted.any())
        return m
