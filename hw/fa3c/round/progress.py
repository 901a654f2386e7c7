"""What rounds leave behind: the steps of every agent's rollout, and which snapshots were made.

It takes a clock for each agent of a task, and at least one for each task.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.layouts import listed_task
from hw.fa3c.records import AGENTS, Task
from hw.stream.ram import Ram, style_of

__all__ = ["Progress"]


class Progress(wiring.Component):
    """Goes through the tasks of a ROUND after its end, and notes what they have changed.

    An INFER of step k makes the rollouts of its agents k + 1 steps long; an INFER of a bootstrap
    changes nothing; a TRAIN empties the rollout of its agent; a SYNC makes its snapshot. If memory
    has failed, the rollouts of all agents of the ROUND are empty, and the snapshots of all its
    SYNCs are not made.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    clear : In(1)
        One clock, between ROUNDs: all rollouts become empty, and no snapshot counts as made.
    i : In(stream of ``listed_task``)
        The tasks of the ROUND.
    failed : In(1)
        Memory has failed during the ROUND.
    done : Out(1)
        One clock: the last task has been taken.
    agent : In(8)
        Number of the agent whose rollout is asked for. Not used while tasks are taken.
    length : Out
        Steps of the rollout of the agent that ``agent`` named one clock ago.
    synced : Out(snapshots)
        A bit for each snapshot: a SYNC has made it since the latest ``clear``.
    """

    LATENCY = 1

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "clear": In(1),
                "i": In(stream.Signature(listed_task(config))),
                "failed": In(1),
                "done": Out(1),
                "agent": In(8),
                "length": Out(range(config.steps + 1)),
                "synced": Out(config.snapshots),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, task = self.config, self.i.p.task
        ram = Ram(width=len(self.length), depth=config.agents, style=style_of(config.agents))
        m.submodules.lengths = ram
        # The memory holds a length only for an agent whose bit is set, so a reset empties all.
        begun, known = Signal(config.agents), Signal()
        number = self.agent[: ram.address_width]
        m.d.sync += known.eq(begun.bit_select(number, 1))
        m.d.comb += [ram.read_address.eq(number), self.length.eq(Mux(known, ram.read_data, 0))]

        infer, train, sync = (task.kind == kind.value for kind in Task)
        index = Signal(range(AGENTS))
        agent = task.agents.as_value().word_select(index, 8)[: ram.address_width]
        count = Signal(range(AGENTS + 1))
        snapshot = task.snapshot[: max(1, (config.snapshots - 1).bit_length())]
        kept = infer & (task.step != config.steps)
        grows = kept & ~self.failed
        m.d.comb += [
            count.eq(Mux(infer, task.count, train)),
            self.i.ready.eq(index + 1 >= count),
            self.done.eq(self.i.valid & self.i.ready & self.i.p.last),
            ram.write_enable.eq(self.i.valid & grows),
            ram.write_address.eq(agent),
            ram.write_data.eq(task.step + 1),
        ]
        with m.If(self.i.valid):
            m.d.sync += index.eq(Mux(self.i.ready, 0, index + 1))
            with m.If(kept | train | (infer & self.failed)):
                m.d.sync += begun.bit_select(agent, 1).eq(grows)
            with m.If(sync):
                m.d.sync += self.synced.bit_select(snapshot, 1).eq(~self.failed)
        with m.If(self.clear):
            m.d.sync += [begun.eq(0), self.synced.eq(0)]
        return m
