"""The core of ``gae``: executes the commands of ``hw.gae.commands`` on intake, stack and rows.

One command at a time. A PUSH moves operands through the intake to the stack, a beat a clock. An
ESTIMATE replaces the stack's codes by results in place, a slot a clock. A PULL writes results, a
beat a clock.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import connect

from hw.comparison import lowest
from hw.gae.array.estimator import Estimator
from hw.gae.array.pe import coefficient_ports
from hw.gae.commands import COMMANDS, Opcode
from hw.gae.intake.intake import Intake
from hw.gae.output import Output
from hw.gae.records import GAE_STATUS, Error, Kind, Phase
from hw.shell.core import CommandCore

__all__ = ["GaeCore"]


class GaeCore(CommandCore):
    """Executes the commands one after the other. A PUSH that fails, whatever the cause, leaves the
    stack as it was: its slots are dropped.

    Parameters
    ----------
    config : GaeKernelConfig
    """

    COMMANDS = COMMANDS
    STATUS = GAE_STATUS

    @staticmethod
    def state_layout(config):
        gae = config.gae
        return data.StructLayout(
            {
                "phase": 1,
                "fill": range(gae.depth + 2),
                "unfinished": 1,
                "unfinished_row": range(max(2, gae.rows)),
            }
        )

    def execute(self, m, run):
        config = self.config
        m.submodules.intake = intake = Intake(config)
        m.submodules.estimator = estimator = Estimator(config.gae)
        m.submodules.output = output = Output(config)
        selected, count = run.selected, self.field("count", run.raw)
        numbers = self.views(run.raw)[Opcode.ESTIMATE]
        now = SimpleNamespace(
            phase=Signal(Phase),
            open=Signal(config.gae.rows),  # rows whose newest slot is a STEP
            fill=Signal.like(estimator.fill),  # before the command
            clipped=Signal(32),
            push_cycles=Signal(32),
            pull_cycles=Signal(32),
            writing=Signal(),  # beats of the reply are still to leave
        )
        m.d.comb += [
            intake.start.eq(
                run.start & (selected.push | selected.push_codes | selected.statistics)
            ),
            intake.command.eq(run.raw),
            intake.opcode.eq(self.field("opcode", run.raw)),
            intake.count.eq(count),
            intake.open.eq(now.open),
            intake.i.payload.eq(run.words.p.data),
            intake.i.valid.eq(run.words.valid),
            run.words.ready.eq(intake.i.ready),
            *(
                getattr(estimator, name).eq(getattr(numbers, name))
                for name in coefficient_ports(config.gae)
            ),
            estimator.pull_count.eq(count),
            estimator.rewind_to.eq(now.fill),
            output.moments.eq(intake.moments),
            output.pulling.eq(selected.pull),
            output.beats.payload.eq(run.beats.destination),
            output.beats.valid.eq(now.writing),
        ]
        connect(m, intake.o, estimator.push)
        connect(m, estimator.o, output.results)
        connect(m, output.o, run.reply_words)
        with m.If(output.beats.ready):
            m.d.sync += now.writing.eq(0)
        self._state(m, run, now.phase, estimator.fill, now.open)
        self._run(m, run, intake, estimator, now)
        self._status(m, estimator, now)

    def _overfull(self, m, run, pushed, fill):
        """Whether this command has put more than bootstraps into the stack's last slot."""
        full = Signal()
        steps = Cat(
            (cell.kind == Kind.STEP) | (cell.kind == Kind.TERMINAL) for cell in pushed.payload
        )
        with m.If(run.start):
            m.d.sync += full.eq(0)
        with m.If(pushed.valid & pushed.ready & (fill == self.config.gae.depth) & steps.any()):
            m.d.sync += full.eq(1)
        return full

    def _run(self, m, run, intake, estimator, now):
        selected, clock = run.selected, Signal(32)
        full = self._overfull(m, run, intake.o, estimator.fill)
        m.d.sync += clock.eq(clock + 1)

        def reply():
            m.d.comb += run.reply.eq(1)
            m.d.sync += now.writing.eq(1)
            m.next = "REPLY"

        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += now.fill.eq(estimator.fill)
                with m.If(self.command.valid & self.command.ready):
                    m.d.sync += clock.eq(0)
                with m.If(run.start):
                    with m.If(selected.clear):
                        m.d.comb += estimator.clear.eq(1)
                        m.d.sync += [now.phase.eq(Phase.CODES), now.open.eq(0), now.clipped.eq(0)]
                        m.next = "CLEARED"
                    with m.Elif(selected.estimate):
                        m.d.comb += estimator.start.eq(1)
                        m.d.sync += now.phase.eq(Phase.RESULTS)
                        m.next = "ESTIMATE"
                    with m.Elif(selected.pull):
                        m.d.comb += estimator.pull.eq(1)
                        reply()
                    with m.Else():
                        m.next = "TAKE"
            with m.State("CLEARED"):
                m.d.comb += run.finish.eq(1)
                m.next = "IDLE"
            with m.State("TAKE"):
                with m.If(intake.done):
                    m.next = "TAKEN"
            with m.State("TAKEN"):
                m.next = "IDLE"
                m.d.comb += run.finish.eq(1)
                with m.If(intake.error != Error.NONE):
                    m.d.comb += [run.error.eq(intake.error), run.detail.eq(intake.detail)]
                with m.Elif(full):
                    m.d.comb += run.error.eq(Error.FULL)
                with m.If(run.failed | (run.error != Error.NONE)):
                    m.d.comb += estimator.rewind.eq(1)
                with m.Elif(selected.statistics):
                    m.d.comb += run.finish.eq(0)
                    reply()
                with m.Else():
                    m.d.sync += [
                        now.open.eq(intake.open_next),
                        now.clipped.eq(now.clipped + intake.clipped),
                        now.push_cycles.eq(clock),
                    ]
            with m.State("ESTIMATE"):
                with m.If(estimator.done):
                    m.d.comb += run.finish.eq(1)
                    m.next = "IDLE"
            with m.State("REPLY"):
                with m.If(selected.pull):
                    m.d.sync += now.pull_cycles.eq(clock)
                with m.If(run.replied):
                    m.d.comb += run.finish.eq(1)
                    m.next = "IDLE"

    def _status(self, m, estimator, now):
        status = data.View(GAE_STATUS.shape, self.status)
        m.d.comb += [
            status.fill.eq(estimator.fill),
            status.phase.eq(now.phase),
            status.clipped.eq(now.clipped),
            status.saturated.eq(estimator.saturated),
            status.overflows.eq(estimator.overflows),
            status.estimate_cycles.eq(estimator.cycles),
            status.busy.eq(estimator.busy),
            status.push_cycles.eq(now.push_cycles),
            status.pull_cycles.eq(now.pull_cycles),
        ]

    def _state(self, m, run, phase, fill, open_rows):
        """The state that rules read. The first unfinished row is found a clock later."""
        state = run.state
        m.d.comb += [state.phase.eq(phase), state.fill.eq(fill)]
        unfinished, row = lowest(open_rows)
        m.d.sync += [state.unfinished.eq(unfinished), state.unfinished_row.eq(row)]
