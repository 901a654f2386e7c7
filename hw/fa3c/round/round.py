"""A whole ROUND, from the beats of its list of tasks to its notes.

The list is read four times: to check its rules, to check the numbers of its error rows, to execute
it, and to note its results. Nothing changes before it is executed.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.fa3c.layouts import unit_task, update
from hw.fa3c.records import TASK, Error
from hw.fa3c.round.dispatch import Dispatch
from hw.fa3c.round.error_rows import ErrorRows
from hw.fa3c.round.progress import Progress
from hw.fa3c.round.rules import Rules
from hw.fa3c.round.task_memory import TaskMemory
from hw.fa3c.rows import ROW_WIDTH
from hw.shell.ports import read_port

__all__ = ["Round"]


class Round(wiring.Component):
    """Takes one list of tasks after the other, and holds the state that lasts from round to round.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    start : In(1)
        One clock: a ROUND begins.
    count : In
        Tasks of this ROUND; steady until ``done``.
    clear : In(1)
        One clock, between ROUNDs: rollouts become empty, and no snapshot counts as made.
    i : In(stream of 512 bits)
        The tasks of the list, one in each item; ``count`` items are taken after ``start``.
    operands, results : In(64)
        Byte addresses of these buffers.
    operands_bytes, results_bytes : In(32)
        Sizes of these buffers.
    failed : In(1)
        Memory has failed since ``start``, in an earlier clock.
    read : Out(read_port(512))
        Reads error rows; byte addresses.
    tasks : Out(stream of ``unit_task``).array(units)
        Tasks for each compute unit.
    finished : In(units)
        A bit for each compute unit, high for one clock for each task: the unit has finished it.
    updates : Out(stream of ``update``)
        Work for RMSProp. The next piece comes only after ``updated`` for the piece before.
    updated : In(1)
        One clock: RMSProp has finished the latest piece of ``updates``.
    synced : Out(snapshots)
        A bit for each snapshot: a SYNC has made it since the latest ``clear``.
    working : Out(1)
        High while tasks are executed, not while they are checked or noted.
    done : Out(1)
        One clock: the ROUND has ended.
    error, detail : Out(32)
        With ``done``: the error in the list, 0 for none, and the position of the task that has it.
        A failure of memory is not such an error.
    started : Out(1)
        With ``done``: the tasks were executed, even if memory has failed.
    trained : Out(1)
        With ``done``: the tasks were executed, and a TRAIN was among them.
    """

    def __init__(self, config):
        self.config, units = config, len(config.units)
        super().__init__(
            {
                "start": In(1),
                "count": In(range(config.tasks + 1)),
                "clear": In(1),
                "i": In(stream.Signature(unsigned(8 * TASK.size))),
                "operands": In(64),
                "results": In(64),
                "operands_bytes": In(32),
                "results_bytes": In(32),
                "failed": In(1),
                "read": Out(read_port(ROW_WIDTH)),
                "tasks": Out(stream.Signature(unit_task(config))).array(units),
                "finished": In(units),
                "updates": Out(stream.Signature(update(config))),
                "updated": In(1),
                "synced": Out(config.snapshots),
                "working": Out(1),
                "done": Out(1),
                "error": Out(32),
                "detail": Out(32),
                "started": Out(1),
                "trained": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.memory = memory = TaskMemory(config)
        m.submodules.rules = rules = Rules(config)
        m.submodules.rows = rows = ErrorRows(config)
        m.submodules.dispatch = dispatch = Dispatch(config)
        m.submodules.progress = progress = Progress(config)
        connect(m, flipped(self.i), memory.i)
        connect(m, rows.read, flipped(self.read))
        connect(m, dispatch.updates, flipped(self.updates))
        for inner, outer in zip(dispatch.tasks, self.tasks, strict=True):
            connect(m, inner, flipped(outer))
        m.d.comb += [
            memory.count.eq(self.count),
            memory.fill.eq(self.start),
            *(unit.clear.eq(self.start) for unit in (rules, rows, dispatch)),
            rules.operands_bytes.eq(self.operands_bytes),
            rules.results_bytes.eq(self.results_bytes),
            rules.synced.eq(progress.synced),
            progress.agent.eq(rules.agent),
            rules.length.eq(progress.length),
            rows.operands.eq(self.operands),
            dispatch.operands.eq(self.operands),
            dispatch.results.eq(self.results),
            dispatch.finished.eq(self.finished),
            dispatch.updated.eq(self.updated),
            progress.failed.eq(self.failed),
            progress.clear.eq(self.clear),
            self.synced.eq(progress.synced),
            self.trained.eq(self.started & dispatch.trains),
        ]
        self._run(m, memory, rules, rows, dispatch, progress)
        return m

    def _run(self, m, memory, rules, rows, dispatch, progress):
        def following(state):
            """Reads the list once more, in the next state."""
            m.d.comb += memory.replay.eq(1)
            m.next = state

        def given(user):
            m.d.comb += [
                user.i.payload.eq(memory.o.payload),
                user.i.valid.eq(memory.o.valid),
                memory.o.ready.eq(user.i.ready),
            ]

        with m.FSM() as fsm:
            m.d.comb += self.working.eq(fsm.ongoing("WORK"))
            with m.State("IDLE"):
                m.d.sync += self.started.eq(0)
                with m.If(self.start):
                    m.next = "TAKE"
            with m.State("TAKE"):
                with m.If(~memory.filling):
                    following("RULES")
            with m.State("RULES"):
                given(rules)
                with m.If(rules.done):
                    m.next = "CHECKED"
            with m.State("CHECKED"):
                with m.If(rules.error != Error.NONE):
                    m.next = "END"
                with m.Else():
                    following("NUMBERS")
            with m.State("NUMBERS"):
                given(rows)
                with m.If(rows.done):
                    m.next = "COUNTED"
            with m.State("COUNTED"):
                # ``failed`` also says that memory failed while the list was read. What came instead
                # has passed the checks of its offsets, so reading error rows did no harm.
                with m.If(self.failed | rows.broken):
                    m.next = "END"
                with m.Else():
                    following("WORK")
            with m.State("WORK"):
                m.d.sync += self.started.eq(1)
                given(dispatch)
                with m.If(dispatch.done):
                    m.next = "WORKED"
            with m.State("WORKED"):
                following("NOTE")
            with m.State("NOTE"):
                given(progress)
                with m.If(progress.done):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += self.done.eq(1)
                with m.If(rules.error != Error.NONE):
                    m.d.comb += [self.error.eq(rules.error), self.detail.eq(rules.detail)]
                with m.Elif(rows.broken):
                    m.d.comb += [self.error.eq(Error.NUMBER), self.detail.eq(rows.detail)]
                m.next = "IDLE"
