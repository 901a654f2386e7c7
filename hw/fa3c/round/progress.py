"""What rounds leave behind: steps of every agent's rollout, and which snapshots were made.

A clock for each agent of a task, at least one a task.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.layouts import listed_task
from hw.fa3c.records import AGENTS, Task
from hw.stream.ram import Ram, style_of

__all__ = ["Progress"]


class Progress(wiring.Component):
    """Goes through the tasks of a ROUND after its end.

    An INFER of step k has made its agents' rollouts k + 1 steps long, one of a bootstrap changes
    nothing, a TRAIN has emptied its agent's, a SYNC has made its snapshot. If memory has failed,
    the rollouts of all agents are empty, and the snapshots of all SYNCs are not made.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    clear : In(1)
        One clock, between ROUNDs: all rollouts are empty, and no snapshot is made.
    i : In(stream of ``listed_task``), failed : In(1)
        Tasks of the ROUND, and whether memory has failed.
    done : Out(1)
        One clock: the last task has been taken.
    agent : In(8), length : Out
        An agent; a clock later, steps of its rollout. Not while tasks come.
    synced : Out(snapshots)
        A bit for each snapshot that was made.
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
        # Only of an agent whose bit is set does the memory hold a length: so a reset empties all.
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
