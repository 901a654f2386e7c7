"""The memory for the tasks of a ROUND: written once, read as often as needed.

It takes and gives a task a clock; the first task leaves two clocks after ``replay``.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.layouts import listed_task
from hw.fa3c.records import TASK
from hw.stream.ram import Ram, style_of

__all__ = ["TaskMemory"]


class TaskMemory(wiring.Component):
    """Holds the list of one ROUND, up to ``config.tasks`` tasks.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    count : In
        Tasks of the list, at least 1; steady from ``fill`` on.
    fill : In(1)
        One clock: take a new list.
    i : In(stream of 512 bits)
        Its tasks, as they are in memory.
    filling : Out(1)
        High from the clock after ``fill`` until the last task of the list was taken.
    replay : In(1)
        One clock, when the list is there and the replay before has ended: send the whole list.
    o : Out(stream of ``listed_task``)
        The tasks of a replay.
    """

    LATENCY = 2

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "count": In(range(config.tasks + 1)),
                "fill": In(1),
                "i": In(stream.Signature(unsigned(8 * TASK.size))),
                "filling": Out(1),
                "replay": In(1),
                "o": Out(stream.Signature(listed_task(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth = self.config.tasks
        m.submodules.ram = ram = Ram(width=8 * TASK.size, depth=depth, style=style_of(depth))
        written = Signal(range(depth + 1))
        read = Signal(range(depth + 1))  # tasks fetched in this replay
        replaying, fetch = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(self.filling),
            ram.write_enable.eq(self.i.valid & self.i.ready),
            ram.write_address.eq(written),
            ram.write_data.eq(self.i.payload),
            fetch.eq(replaying & (~self.o.valid | self.o.ready)),
            ram.read_enable.eq(fetch),
            ram.read_address.eq(read),
            self.o.p.task.as_value().eq(ram.read_data),
        ]
        with m.If(ram.write_enable):
            m.d.sync += written.eq(written + 1)
            with m.If(written == self.count - 1):
                m.d.sync += self.filling.eq(0)
        with m.If(self.fill):
            m.d.sync += [written.eq(0), self.filling.eq(1)]

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(fetch):
            m.d.sync += [
                self.o.valid.eq(1),
                self.o.p.position.eq(read),
                self.o.p.last.eq(read == self.count - 1),
                read.eq(read + 1),
            ]
            with m.If(read == self.count - 1):
                m.d.sync += replaying.eq(0)
        with m.If(self.replay):
            m.d.sync += [read.eq(0), replaying.eq(1)]
        return m
