"""Iterations of LEARN: commands to the replay core, pulses to the learner, a report each.

Besides the work of replay core and learner an iteration takes some 30 clocks.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.learner.commands import COMMANDS, LearnOpcode
from hw.learner.contract import LearnerControl
from hw.learner.control.hyperparameter_reader import HyperparameterReader
from hw.learner.control.report_writer import ReportWriter
from hw.learner.records import REPORT, LearnError
from hw.replay.commands import MAX_COUNT, Opcode
from hw.replay.records import REPLAY_STATUS, Error
from hw.shell.ports import read_port, write_port
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["Iteration"]


class Iteration(wiring.Component):
    """Draw, train, give new priorities, insert, update, report; ``count`` times or to an error.

    The next HYPERPARAMETERS are fetched beside SAMPLE. UPDATE begins when all TD errors of the
    batch are known to be finite, so that a batch that diverged leaves the priorities alone; INSERT
    follows. Both run while the learner computes gradients, whose layers update their parameters one
    by one as these are complete.

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
        See ``BatchRedirect``; ``learner.begin`` is its start.
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
        width = self.config.engine.data_width
        learner = self.learner
        m.submodules.hyperparameters = reader = HyperparameterReader(width)
        m.submodules.reports = reports = ReportWriter(width)
        connect(m, reader.read, flipped(self.read))
        connect(m, reports.write, flipped(self.write))
        learn = data.View(COMMANDS[LearnOpcode.LEARN].shape, self.raw)
        left = Signal(range(MAX_COUNT + 1))
        experiences, priorities = Signal(32), Signal(32)
        m.d.comb += [
            reader.start.eq(self.start),
            reader.address.eq(self.operands + learn.source),
            reports.start.eq(self.start),
            reports.address.eq(self.results + learn.destination),
            learner.hyperparameters.eq(reader.hyperparameters),
            self.reading.eq(reader.busy),
        ]

        # What the replay core is to do, and what it answers.
        commands = {
            Opcode.SAMPLE: dict(
                count=learn.batch,
                stratum_width=learn.stratum_width,
                beta=learner.hyperparameters.beta,
            ),
            Opcode.UPDATE: dict(count=learn.batch, alpha=learn.alpha, epsilon=learn.epsilon),
            Opcode.INSERT: dict(
                count=learn.inserts,
                source=experiences,
                alpha=learn.alpha,
                epsilon=learn.epsilon,
                given=learn.given,
                priorities=priorities,
            ),
        }

        def ask(opcode, then):
            payload = COMMANDS[opcode].encode(opcode=C(opcode.value, 32), **commands[opcode])
            m.d.comb += [self.command.valid.eq(1), self.command.payload.eq(payload)]
            with m.If(self.command.ready):
                m.next = then

        def fail(error, detail):
            m.d.sync += [self.error.eq(error), self.detail.eq(detail)]
            m.next = "FAIL"

        answered, refused = Signal(name="answered"), Signal(name="refused")
        m.d.comb += [
            answered.eq(self.outcome.valid & self.outcome.ready),
            refused.eq(self.outcome.p.error != Error.NONE),
        ]

        def answer(then, *changes):
            m.d.comb += self.outcome.ready.eq(1)
            with m.If(answered):
                m.d.sync += changes
                m.next = then
                with m.If(refused):
                    fail(self.outcome.p.error, self.outcome.p.detail)

        training = Signal()  # from train to the update
        clock, step_clock = Signal(32), Signal(32)
        m.d.sync += clock.eq(clock + 1)
        with m.If(training):
            m.d.sync += step_clock.eq(step_clock + 1)

        with m.FSM() as fsm:
            m.d.comb += [
                self.drawing.eq(fsm.ongoing("SAMPLE") | fsm.ongoing("SAMPLED")),
                self.giving.eq(fsm.ongoing("UPDATE") | fsm.ongoing("UPDATED")),
            ]
            with m.State("IDLE"):
                m.d.sync += self.done.eq(0)
                with m.If(self.start):
                    m.d.sync += [
                        left.eq(learn.count),
                        experiences.eq(learn.experiences),
                        priorities.eq(learn.priorities),
                        self.error.eq(Error.NONE),
                        self.detail.eq(0),
                        clock.eq(0),
                        training.eq(0),
                    ]
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.d.comb += reader.fetch.eq(1)
                m.next = "TAKE"
            with m.State("TAKE"):
                m.d.comb += reader.take.eq(reader.available)
                with m.If(reader.available):
                    m.next = "BEGIN"
                    with m.If(reader.failed):
                        fail(Error.AXI, 0)
            with m.State("BEGIN"):
                m.d.comb += [learner.begin.eq(1), reader.fetch.eq(left != 1)]
                m.d.sync += step_clock.eq(0)
                m.next = "SAMPLE"
            with m.State("SAMPLE"):
                ask(Opcode.SAMPLE, "SAMPLED")
            with m.State("SAMPLED"):
                answer("LOADED")
            with m.State("LOADED"):
                with m.If(learner.loaded & learner.bad):
                    fail(LearnError.NUMBER, learner.bad_index)
                with m.Elif(learner.loaded):
                    m.d.comb += learner.train.eq(1)
                    m.d.sync += training.eq(1)
                    m.next = "TD"
            with m.State("TD"):
                with m.If(self.complete & learner.diverged):
                    fail(LearnError.DIVERGED, learner.diverged_index)
                with m.Elif(self.complete):
                    # Each layer waits for its own gradients; meanwhile, the priorities.
                    m.d.comb += learner.update.eq(1)
                    m.next = "UPDATE"
            with m.State("UPDATE"):
                ask(Opcode.UPDATE, "UPDATED")
            with m.State("UPDATED"):
                answer("INSERT")
            with m.State("INSERT"):
                with m.If(learn.inserts == 0):
                    m.next = "BUSY"
                with m.Else():
                    ask(Opcode.INSERT, "INSERTED")
            with m.State("INSERTED"):
                # The iteration has learned, whatever became of its experiences.
                m.d.comb += self.outcome.ready.eq(1)
                with m.If(answered):
                    m.d.sync += [
                        experiences.eq(experiences + self.advance),
                        priorities.eq(priorities + self.advance_list),
                        self.error.eq(self.outcome.p.error),
                        self.detail.eq(self.outcome.p.detail),
                    ]
                    m.next = "BUSY"
            with m.State("BUSY"):
                with m.If(~learner.busy):
                    m.d.sync += [
                        training.eq(0),
                        self.iterations.eq(self.iterations + 1),
                        left.eq(left - 1),
                    ]
                    m.next = "REPORT"
            with m.State("REPORT"):
                m.d.comb += reports.send.eq(~reports.sending)
                with m.If(~reports.sending):
                    m.d.sync += clock.eq(0)
                    m.next = "TAKE"
                    with m.If(self.error != Error.NONE):
                        m.next = "FAIL"
                    with m.Elif(left == 0):
                        m.next = "END"
            with m.State("FAIL"):
                # The next command must find nothing on its way, and no TD error in the redirect.
                m.d.comb += self.drop.eq(training)
                with m.If(
                    ~reader.busy & (~training | (learner.trained & self.empty & ~learner.busy))
                ):
                    m.next = "END"
            with m.State("END"):
                with m.If(reports.idle):
                    m.d.sync += self.done.eq(1)
                    m.next = "IDLE"

        m.d.comb += reports.report.eq(
            REPORT.encode(
                loss=learner.loss,
                td=learner.td_sum,
                value=learner.value,
                weight=learner.weight,
                saturations=learner.saturations,
                position=self.status.position,
                cycles=Cat(self.status.draw_cycles, self.status.gather_cycles, step_clock, clock),
            )
        )
        return m
