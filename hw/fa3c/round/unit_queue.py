"""The tasks of one compute unit, from the list to the unit, in order.

A task that need not wait leaves three clocks after it came.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.layouts import queued_task, unit_task
from hw.stream.queue import Queue
from hw.stream.ram import style_of

__all__ = ["UnitQueue"]


class UnitQueue(wiring.Component):
    """The queue of the tasks of one compute unit. It has room for a whole list, so that a waiting
    task never holds up the tasks of other units.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    i : In(stream of ``queued_task``)
        Tasks of this unit.
    made : In(snapshots)
        A bit for each snapshot: its SYNC in this list is done. A task with ``waits`` leaves only
        when the bit of its snapshot is set.
    operands, results : In(64)
        Byte addresses of these buffers, to which the offsets in a task are added.
    o : Out(stream of ``unit_task``)
        Tasks for the unit.
    finished : In(1)
        One clock: the unit has finished a task.
    busy : Out(1)
        High while a task has come, in an earlier clock, that is not finished.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(queued_task(config))),
                "made": In(config.snapshots),
                "operands": In(64),
                "results": In(64),
                "o": Out(stream.Signature(unit_task(config))),
                "finished": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth = self.config.tasks
        m.submodules.queue = queue = Queue(self.i.payload.shape(), depth, style_of(depth))
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        task, out = queue.o.p, Signal(unit_task(self.config), reset_less=True)
        m.d.comb += [
            queue.o.ready.eq(
                (~self.o.valid | self.o.ready)
                & (~task.waits | self.made.bit_select(task.snapshot, 1))
            ),
            self.o.payload.eq(out),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(queue.o.ready):
            m.d.sync += [
                self.o.valid.eq(queue.o.valid),
                *(getattr(out, n).eq(getattr(task, n)) for n in ("train", "count", "step")),
                out.agents.eq(task.agents),
                out.snapshot_row.eq(task.snapshot * self.config.snapshot_rows),
                out.operands.eq(self.operands + task.operands),
                out.results.eq(self.results + task.results),
            ]
        left = Signal(range(depth + 1))
        m.d.sync += left.eq(left + (self.i.valid & self.i.ready) - self.finished)
        m.d.comb += self.busy.eq(left != 0)
        return m
