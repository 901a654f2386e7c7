"""Checks the rules of a list of tasks, and finds the first broken rule and the task that breaks it.

It takes three clocks a task, and two for each agent of a task.
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.comparison import above, at_least, below, beyond
from hw.fa3c.layouts import listed_task
from hw.fa3c.records import AGENTS, CONSTANTS, TASK, Error, Task
from hw.shell.program import misaligned

__all__ = ["Rules"]


class Rules(wiring.Component):
    """Checks the tasks in the order of the list, each for TASK, UNIT, SNAPSHOT, AGENT, STEP,
    OPERANDS, RESULTS in this order.

    ``hw.fa3c.records`` explains these errors.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    clear : In(1)
        One clock: a new list begins.
    i : In(stream of ``listed_task``)
        The list. All tasks are taken, also those behind a task that breaks a rule.
    operands_bytes, results_bytes : In(32)
        Sizes of these buffers.
    synced : In(snapshots)
        A bit for each snapshot: it was made before this list.
    agent : Out(8)
        Number of the agent whose rollout is asked for.
    length : In
        Steps, before this list, of the rollout of the agent that ``agent`` named one clock ago.
    done : Out(1)
        One clock: the last task has been taken.
    error, detail : Out
        The first broken rule, 0 for none, and the position of its task. Valid from the clock after
        ``done`` on, and steady until ``clear``.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "clear": In(1),
                "i": In(stream.Signature(listed_task(config))),
                "operands_bytes": In(32),
                "results_bytes": In(32),
                "synced": In(config.snapshots),
                "agent": Out(8),
                "length": In(range(config.steps + 1)),
                "done": Out(1),
                "error": Out(32),
                "detail": Out(range(max(2, config.tasks))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        task = self.i.p.task
        kinds = SimpleNamespace(
            **{kind.name.lower(): task.kind == kind.value for kind in Task},
        )
        #: Agents that were named, snapshots that were made or used by earlier tasks of this list.
        so_far = SimpleNamespace(
            taken=Signal(self.config.agents),
            made=Signal(self.config.snapshots),
            used=Signal(self.config.snapshots),
        )
        broken = SimpleNamespace(
            **{name: Signal(name=name) for name in ("task", "unit", "snapshot", "agent", "step")},
            operands=Signal(),
            results=Signal(),
        )
        index = Signal(range(AGENTS + 1))
        agents = task.agents.as_value()
        m.d.comb += self.agent.eq(agents.word_select(index[: exact_log2(AGENTS)], 8))
        count = Mux(kinds.infer, task.count, kinds.train)  # of agents

        with m.FSM():
            with m.State("FIELDS"):
                m.d.sync += [
                    broken.task.eq(self._fields(task, kinds)),
                    broken.unit.eq(self._unit(task, kinds)),
                    broken.snapshot.eq(self._snapshot(task, kinds, so_far)),
                    *(getattr(broken, name).eq(0) for name in ("agent", "step")),
                    index.eq(0),
                ]
                ends = self._ends(m, task, kinds)
                with m.If(self.i.valid):
                    with m.If(self.error != Error.NONE):
                        m.d.comb += self.i.ready.eq(1)
                    with m.Else():
                        m.next = "ROOM"
            with m.State("ROOM"):
                m.d.sync += [
                    broken.operands.eq(misaligned(task.operands) | (ends[0] > self.operands_bytes)),
                    broken.results.eq(misaligned(task.results) | (ends[1] > self.results_bytes)),
                ]
                # The loop over agents needs a count within its range.
                with m.If((count == 0) | broken.task):
                    m.next = "END"
                with m.Else():
                    m.next = "AGENT"
            with m.State("AGENT"):
                m.d.sync += index.eq(index + 1)
                m.next = "ROLLOUT"
                known = below(self.agent, self.config.agents)
                with m.If(~known | so_far.taken.bit_select(self.agent, 1)):
                    m.d.sync += broken.agent.eq(1)
                with m.Elif(known):
                    m.d.sync += so_far.taken.bit_select(self.agent, 1).eq(1)
            with m.State("ROLLOUT"):
                follows = (task.step == self.config.steps) | (task.step == self.length)
                with m.If(~Mux(kinds.train, task.count <= self.length, follows)):
                    m.d.sync += broken.step.eq(1)
                m.next = "AGENT"
                with m.If(index == count):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += self.i.ready.eq(1)
                self._end(m, broken)
                snapshot = task.snapshot[: max(1, (self.config.snapshots - 1).bit_length())]
                with m.If(kinds.sync):
                    m.d.sync += so_far.made.bit_select(snapshot, 1).eq(1)
                with m.Else():
                    m.d.sync += so_far.used.bit_select(snapshot, 1).eq(1)
                m.next = "FIELDS"
        m.d.comb += self.done.eq(self.i.valid & self.i.ready & self.i.p.last)
        with m.If(self.clear):
            m.d.sync += [
                self.error.eq(Error.NONE),
                *(signal.eq(0) for signal in vars(so_far).values()),
            ]
        return m

    def _end(self, m, broken):
        """Takes the first of the broken rules."""
        m.d.sync += self.detail.eq(self.i.p.position)
        for name, signal in reversed(vars(broken).items()):
            with m.If(signal):
                m.d.sync += self.error.eq(Error[name.upper()])

    def _fields(self, task, kinds):
        """Whether a field is out of its range, or is not 0 although the kind does not use it."""
        config, agents = self.config, task.agents.as_value()
        constants = Cat(getattr(task, name) for name in CONSTANTS).any()
        behind = task.as_value()[8 * TASK.used :].any()
        spare = Cat(agents.word_select(k, 8).any() & (task.count <= k) for k in range(AGENTS)).any()
        infer = (task.count == 0) | above(task.count, config.batch) | above(task.step, config.steps)
        train = (task.count == 0) | above(task.count, config.steps) | task.step.any()
        train |= task.results.any() | agents[8:].any()
        for name, (low, high) in CONSTANTS.items():
            train |= reduce(or_, beyond(getattr(task, name), low, high), C(0))
        fields = (task.unit, task.step, task.count, agents, task.operands, task.results)
        return (
            above(task.kind, max(kind.value for kind in Task))
            | behind
            | (kinds.infer & (infer | spare | constants))
            | (kinds.train & train)
            | (kinds.sync & (Cat(fields).any() | constants))
        )

    def _unit(self, task, kinds):
        """Whether the unit does not exist or has a role that does not allow the task."""

        def able(work):
            return Cat(task.unit == number for number in self.config.units_for(work)).any()

        return (kinds.infer & ~able("infer")) | (kinds.train & ~able("train"))

    def _snapshot(self, task, kinds, so_far):
        """Whether the snapshot does not exist, or its SYNC and its use are in the wrong order."""
        snapshots = self.config.snapshots
        number = task.snapshot[: max(1, (snapshots - 1).bit_length())]
        made, used, synced = (
            bits.bit_select(number, 1) for bits in (so_far.made, so_far.used, self.synced)
        )
        return (
            at_least(task.snapshot, snapshots)
            | (kinds.infer & ~(synced | made))
            | (kinds.train & (~synced | made))
            | (kinds.sync & (made | used))
        )

    def _ends(self, m, task, kinds):
        """Registers with the offsets at which operands and results of the task end."""
        config, ends = self.config, (Signal(34), Signal(34))
        count = Signal(range(config.samples + 1))  # a larger one breaks TASK
        m.d.comb += count.eq(task.count)
        needs = (
            Mux(kinds.train, count * config.output_bytes, count * config.screen_bytes),
            Mux(kinds.infer, count * config.output_bytes, 0),
        )
        for end, begin, need in zip(ends, (task.operands, task.results), needs, strict=True):
            m.d.sync += end.eq(begin + need)
        return ends
