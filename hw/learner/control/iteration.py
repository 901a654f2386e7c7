"""Iterations of LEARN: commands to the replay core, pulses to the learner, a report each.

The batch of the next iteration is drawn while the learner still works on this one. Besides its
work, and what of the replay core's is not hidden behind it, an iteration takes 5 clocks.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.learner.commands import COMMANDS, LearnOpcode
from hw.learner.contract import LearnerControl
from hw.learner.control.hyperparameter_reader import HyperparameterReader
from hw.learner.control.iteration_report import IterationReport
from hw.learner.control.report_writer import ReportWriter
from hw.learner.records import LearnError
from hw.replay.commands import MAX_COUNT, Opcode
from hw.replay.records import REPLAY_STATUS, Error
from hw.shell.ports import read_port, write_port
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["Iteration"]


class Iteration(wiring.Component):
    """Draw, train, give new priorities, insert, update, report; ``count`` times or to an error.

    UPDATE begins when all TD errors of the batch are known to be finite, so that a batch that
    diverged leaves the priorities alone; INSERT follows, then SAMPLE for the next iteration, which
    sees what both of them have left: tree, storage and generator are used in the order of the
    iterations. All three run while the learner computes gradients, whose layers update their
    parameters one by one as these are complete. The last iteration draws nothing ahead, and an
    error of a draw ends the command when the iteration before it is done and reported.

    HYPERPARAMETERS are fetched an iteration ahead.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    start : In(1), raw : In(512), advance, advance_list : In(32)
        Begin the LEARN ``raw``, which breaks no rule; bytes between iterations' experiences, and
        between their lists of priorities.
    operands, results : In(64)
    done : Out(1), error, detail : Out(32)
        The command's end, one clock; its outcome.
    command, outcome : streams
        Of the replay core.
    status : In(REPLAY_STATUS)
        Its state.
    drawing, giving, drop : Out(1), complete, empty : In(1)
        See ``BatchRedirect``; ``learner.train`` is its start.
    learner : Out(LearnerControl)
    iterations : Out(64)
        Gradient steps since reset.
    reading : Out(1), read : Out(read_port), write : Out(write_port)
        HYPERPARAMETERS and REPORTs; ``reading`` while the former are on their way.
    """

    def __init__(self, config):
        self.config = config
        width = config.engine.data_width
        super().__init__(
            {
                "start": In(1),
                "raw": In(8 * COMMAND_BYTES),
                "advance": In(32),
                "advance_list": In(32),
                "operands": In(64),
                "results": In(64),
                "done": Out(1),
                "error": Out(32),
                "detail": Out(32),
                "command": Out(stream.Signature(unsigned(8 * COMMAND_BYTES))),
                "outcome": In(stream.Signature(OUTCOME)),
                "status": In(REPLAY_STATUS.shape),
                "drawing": Out(1),
                "giving": Out(1),
                "drop": Out(1),
                "complete": In(1),
                "empty": In(1),
                "learner": Out(LearnerControl()),
                "iterations": Out(64),
                "reading": Out(1),
                "read": Out(read_port(width)),
                "write": Out(write_port(width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        learner, width = self.learner, self.config.engine.data_width
        m.submodules.hyperparameters = reader = HyperparameterReader(width)
        m.submodules.reports = reports = ReportWriter(width)
        connect(m, reader.read, flipped(self.read))
        connect(m, reports.write, flipped(self.write))
        self._learn = learn = data.View(COMMANDS[LearnOpcode.LEARN].shape, self.raw)
        self._left = Signal(range(MAX_COUNT + 1), name="left")
        self._experiences = Signal(32, name="experiences")
        self._priorities = Signal(32, name="priorities")
        training = self._training = Signal()  # from train to the update's end
        m.submodules.report = report = IterationReport()
        self._restart = report.restart
        m.d.comb += [
            reader.start.eq(self.start),
            reader.address.eq(self.operands + learn.source),
            reports.start.eq(self.start),
            reports.address.eq(self.results + learn.destination),
            learner.hyperparameters.eq(reader.hyperparameters),
            self.reading.eq(reader.busy),
            reports.report.eq(report.report),
            report.training.eq(training),
            report.train.eq(learner.train),
            report.drawn.eq(1),
            report.status.eq(self.status),
            *(getattr(report, name).eq(getattr(learner, name)) for name in report.numbers),
        ]
        with m.FSM() as fsm:
            m.d.comb += [
                self.drawing.eq(fsm.ongoing("SAMPLE") | fsm.ongoing("SAMPLED")),
                self.giving.eq(fsm.ongoing("UPDATE") | fsm.ongoing("UPDATED")),
            ]
            self._begin_state(m, reader)
            self._draw_states(m, reader)
            self._training_states(m, reader)
            self._insertion_states(m)
            self._end_states(m, reader, reports)
        return m

    def _ask(self, m, opcode, then, **fields):
        """A command to the replay core."""
        payload = COMMANDS[opcode].encode(opcode=C(opcode.value, 32), **fields)
        m.d.comb += [self.command.valid.eq(1), self.command.payload.eq(payload)]
        with m.If(self.command.ready):
            m.next = then

    def _answer(self, m, then, failed):
        """Its outcome; with an error, on to ``failed``."""
        outcome = self.outcome
        m.d.comb += outcome.ready.eq(1)
        with m.If(outcome.valid):
            m.next = then
            with m.If(outcome.p.error != Error.NONE):
                self._fail(m, outcome.p.error, outcome.p.detail, failed)

    def _fail(self, m, error, detail, then="FAIL"):
        m.d.sync += [self.error.eq(error), self.detail.eq(detail)]
        m.next = then

    def _begin_state(self, m, reader):
        learn = self._learn
        with m.State("IDLE"):
            m.d.sync += self.done.eq(0)
            m.d.comb += self._restart.eq(1)
            with m.If(self.start):
                m.d.sync += [
                    self._left.eq(learn.count),
                    self._experiences.eq(learn.experiences),
                    self._priorities.eq(learn.priorities),
                    self.error.eq(Error.NONE),
                    self.detail.eq(0),
                    self._training.eq(0),
                ]
                m.next = "FETCH"
        with m.State("FETCH"):
            m.d.comb += reader.fetch.eq(1)
            m.next = "BEGIN"

    def _draw_states(self, m, reader):
        """The batch of the iteration to come; an error waits for the end of the one under way."""
        learn = self._learn
        with m.State("BEGIN"):
            with m.If(reader.available):
                m.next = "SAMPLE"
                with m.If(reader.failed):
                    self._fail(m, Error.AXI, 0, "SETTLE")
                with m.Else():
                    m.d.comb += self.learner.begin.eq(1)
        with m.State("SAMPLE"):
            self._ask(
                m,
                Opcode.SAMPLE,
                "SAMPLED",
                count=learn.batch,
                stratum_width=learn.stratum_width,
                beta=reader.following.beta,
            )
        with m.State("SAMPLED"):
            self._answer(m, "SETTLE", "SETTLE")

    def _training_states(self, m, reader):
        """The batch, its TD errors, the update and the new priorities."""
        learn, learner = self._learn, self.learner
        with m.State("TAKE"):
            m.d.comb += reader.take.eq(1)
            m.next = "LOADED"
        with m.State("LOADED"):
            with m.If(learner.loaded & learner.bad):
                self._fail(m, LearnError.NUMBER, learner.bad_index)
            with m.Elif(learner.loaded):
                m.d.comb += [learner.train.eq(1), reader.fetch.eq(self._left != 1)]
                m.d.sync += self._training.eq(1)
                m.next = "TD"
        with m.State("TD"):
            with m.If(self.complete & learner.diverged):
                self._fail(m, LearnError.DIVERGED, learner.diverged_index)
            with m.Elif(self.complete):
                # Each layer waits for its own gradients; meanwhile, the priorities.
                m.d.comb += learner.update.eq(1)
                m.next = "UPDATE"
        with m.State("UPDATE"):
            self._ask(
                m,
                Opcode.UPDATE,
                "UPDATED",
                count=learn.batch,
                alpha=learn.alpha,
                epsilon=learn.epsilon,
            )
        with m.State("UPDATED"):
            self._answer(m, "INSERT", "FAIL")

    def _insertion_states(self, m):
        """The experiences that the iteration stores; then the draw of the next, if there is one."""
        learn, outcome = self._learn, self.outcome
        last = self._left == 1
        with m.State("INSERT"):
            with m.If(learn.inserts == 0):
                m.next = "BEGIN"
                with m.If(last):
                    m.next = "SETTLE"
            with m.Else():
                self._ask(
                    m,
                    Opcode.INSERT,
                    "INSERTED",
                    count=learn.inserts,
                    source=self._experiences,
                    alpha=learn.alpha,
                    epsilon=learn.epsilon,
                    given=learn.given,
                    priorities=self._priorities,
                )
        with m.State("INSERTED"):
            # The iteration has learned, whatever became of its experiences.
            m.d.comb += outcome.ready.eq(1)
            with m.If(outcome.valid):
                m.d.sync += [
                    self._experiences.eq(self._experiences + self.advance),
                    self._priorities.eq(self._priorities + self.advance_list),
                    self.error.eq(outcome.p.error),
                    self.detail.eq(outcome.p.detail),
                ]
                m.next = "BEGIN"
                with m.If(last | (outcome.p.error != Error.NONE)):
                    m.next = "SETTLE"

    def _end_states(self, m, reader, reports):
        """The iteration's report and the next iteration, or the command's end."""
        learner, training, failed = self.learner, self._training, self.error != Error.NONE
        with m.State("SETTLE"):
            with m.If(training & ~learner.busy):
                m.d.sync += [
                    training.eq(0),
                    self.iterations.eq(self.iterations + 1),
                    self._left.eq(self._left - 1),
                ]
                m.next = "REPORT"
            with m.Elif(~training):
                m.next = "TAKE"
                with m.If(failed):
                    m.next = "FAIL"
        with m.State("REPORT"):
            m.d.comb += reports.send.eq(~reports.sending)
            with m.If(~reports.sending):
                m.d.comb += self._restart.eq(1)
                m.next = "TAKE"
                with m.If(failed):
                    m.next = "FAIL"
                with m.Elif(self._left == 0):
                    m.next = "END"
        with m.State("FAIL"):
            # The next command must find nothing on its way, and no TD error in the redirect.
            m.d.comb += self.drop.eq(training)
            settled = ~training | (learner.trained & self.empty & ~learner.busy)
            with m.If(~reader.busy & settled):
                m.next = "END"
        with m.State("END"):
            with m.If(reports.idle):
                m.d.sync += self.done.eq(1)
                m.next = "IDLE"
