"""Sends the tasks of a list to the compute units and to RMSProp; each takes its tasks in order.

It takes a task a clock. The queue of each unit has room for a whole list, so no unit waits for
another unit's tasks.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.fa3c.layouts import listed_task, unit_task, update
from hw.fa3c.records import Task
from hw.fa3c.round.unit_queue import UnitQueue
from hw.fa3c.round.waves import Waves

__all__ = ["Dispatch"]


class Dispatch(wiring.Component):
    """Sends an INFER to its unit, a TRAIN to its unit and to RMSProp, a SYNC to RMSProp.

    If a SYNC of its snapshot stands before an INFER in the list, the INFER waits until this SYNC is
    done.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    clear : In(1)
        One clock: a new list begins.
    i : In(stream of ``listed_task``)
        The tasks of a list that has passed all checks.
    operands, results : In(64)
        Byte addresses of these buffers, to which the offsets in a task are added.
    tasks : Out(stream of ``unit_task``).array(units)
        Tasks for each unit.
    finished : In(units)
        A bit for each unit, high for one clock for each of its tasks: the unit has finished it.
    updates : Out(stream of ``update``)
        Work for RMSProp. The next piece comes only after ``updated`` for the piece before.
    updated : In(1)
        One clock: RMSProp has finished the latest piece of ``updates``.
    trains : Out(1)
        One of the tasks that came since ``clear`` is a TRAIN.
    done : Out(1)
        The whole list is executed; high until ``clear``.
    """

    def __init__(self, config):
        self.config, units = config, len(config.units)
        super().__init__(
            {
                "clear": In(1),
                "i": In(stream.Signature(listed_task(config))),
                "operands": In(64),
                "results": In(64),
                "tasks": Out(stream.Signature(unit_task(config))).array(units),
                "finished": In(units),
                "updates": Out(stream.Signature(update(config))),
                "updated": In(1),
                "trains": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, task = self.config, self.i.p.task
        infer, train, sync = (task.kind == kind.value for kind in Task)
        m.submodules.waves = waves = Waves(config)
        connect(m, waves.o, flipped(self.updates))
        listed = Signal(config.snapshots)  # snapshots that have a SYNC in the list so far
        snapshot = task.snapshot[: max(1, (config.snapshots - 1).bit_length())]
        taken, closed = self.i.valid & self.i.ready, Signal()
        m.d.comb += [
            self.i.ready.eq(1),  # every queue has room for a whole list
            waves.clear.eq(self.clear),
            waves.closed.eq(closed),
            waves.updated.eq(self.updated),
            waves.i.valid.eq(self.i.valid & ~infer),
            waves.i.p.sync.eq(sync),
            waves.i.p.unit.eq(task.unit),
            waves.i.p.snapshot.eq(task.snapshot),
            *(
                waves.i.p[name].eq(getattr(task, name))
                for name in ("rate", "decay", "gain", "epsilon")
            ),
        ]
        busy = [waves.busy]
        for number in range(len(config.units)):
            m.submodules[f"unit_{number}"] = unit = UnitQueue(config)
            connect(m, unit.o, flipped(self.tasks[number]))
            busy.append(unit.busy)
            m.d.comb += [
                unit.i.valid.eq(self.i.valid & ~sync & (task.unit == number)),
                unit.i.p.waits.eq(infer & listed.bit_select(snapshot, 1)),
                unit.i.p.train.eq(train),
                unit.i.p.agents.eq(task.agents),
                *(
                    unit.i.p[name].eq(getattr(task, name))
                    for name in ("count", "step", "snapshot", "operands", "results")
                ),
                unit.made.eq(waves.made),
                unit.operands.eq(self.operands),
                unit.results.eq(self.results),
                unit.finished.eq(self.finished[number]),
            ]
        with m.If(taken):
            m.d.sync += [closed.eq(self.i.p.last), self.trains.eq(self.trains | train)]
            with m.If(sync):
                m.d.sync += listed.bit_select(snapshot, 1).eq(1)
        m.d.comb += self.done.eq(closed & ~Cat(busy).any())
        with m.If(self.clear):
            m.d.sync += [closed.eq(0), listed.eq(0), self.trains.eq(0)]
        return m
