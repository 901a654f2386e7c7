"""Iterations of LEARN and TRAIN: asks for batches, tells the learner each step, writes reports.

The batch of the next iteration is drawn, or read, while the learner still works on this one
(``hw.learner.iteration_clocks``).
"""

from functools import partial

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.learner.commands import LEARNING
from hw.learner.contract import LearnerControl
from hw.learner.control.iteration_reader import IterationReader
from hw.learner.control.iteration_report import IterationReport
from hw.learner.control.iteration_writer import IterationWriter
from hw.learner.control.replay_jobs import ReplayJobs
from hw.learner.control.step_check import StepCheck
from hw.learner.records import STEP, LearnError
from hw.replay.commands import MAX_COUNT
from hw.replay.job_dispatcher import JOB
from hw.replay.records import ITEM, REPLAY_STATUS, Error
from hw.shell.command import round_up
from hw.shell.ports import read_port, write_port
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["Iteration"]


class Iteration(wiring.Component):
    """Runs the ``count`` iterations of a LEARN or a TRAIN, or fewer if one has an error.
    An iteration of LEARN draws a batch, trains on it, gives new priorities, inserts experiences,
    updates the parameters and writes a REPORT.

    The command UPDATE (new priorities) is given when all TD errors of the batch are known to be
    finite, so that a batch that diverged keeps the priorities; with ``early_priorities`` of
    the learner's config already with ``train``. INSERT and the SAMPLE of the next iteration, if one
    follows, run while the learner computes gradients; each layer updates its parameters when its
    own are complete. An error of a SAMPLE ends the command once the iteration before is reported.

    A TRAIN reads its next batch as soon as the learner trains on this one, and writes TD errors at
    the point where a LEARN gives priorities. HYPERPARAMETERS are fetched an iteration ahead. A STEP
    is checked before its batch is asked for; if it is wrong, the command ends once the iteration
    before is reported.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    start : In(1), raw : In(512), trains : In(1)
        ``start``, a pulse: begin the command ``raw`` (64 bytes), which has passed its rules.
        ``trains``: it is a TRAIN; if 0, a LEARN. Both are steady until ``done``.
    run : In(32)
        Bytes of the experiences that an iteration of LEARN stores, or of the batch that an
        iteration of TRAIN trains on. Steady until ``done``.
    operands, results : In(64)
        Byte addresses of the two buffers.
    done : Out(1), error, detail : Out(32)
        ``done`` is a pulse at the command's end; ``error`` and ``detail`` are its outcome.
    job : Out(stream of JOB), outcome : In(stream of OUTCOME)
        Commands for the replay core, and their outcomes.
    status : In(REPLAY_STATUS)
        The replay core's state.
    drop : Out(1), complete, empty : In(1)
        Wired to ``TdErrorQueue``'s members of the same names; its ``start`` is ``learner.train``.
    batch : Out(stream of beats), list : In(stream of beats)
        In a TRAIN: batches that were read, lists of TD errors to be written.
    learner : Out(LearnerControl)
        The steps of an iteration, to and from the learner.
    iterations : Out(64)
        Gradient steps since reset.
    reading : Out(1), read : Out(read_port), write : Out(write_port)
        The memory accesses that the replay core does not make; a read is under way if ``reading``.
    """

    def __init__(self, config):
        self.config = config
        width = config.engine.data_width
        super().__init__(
            {
                "start": In(1),
                "raw": In(8 * COMMAND_BYTES),
                "trains": In(1),
                "run": In(32),
                "operands": In(64),
                "results": In(64),
                "done": Out(1),
                "error": Out(32),
                "detail": Out(32),
                "job": Out(stream.Signature(JOB)),
                "outcome": In(stream.Signature(OUTCOME)),
                "status": In(REPLAY_STATUS.shape),
                "drop": Out(1),
                "complete": In(1),
                "empty": In(1),
                "batch": Out(stream.Signature(unsigned(width))),
                "list": In(stream.Signature(unsigned(width))),
                "learner": Out(LearnerControl(config.learner.step_record)),
                "iterations": Out(64),
                "reading": Out(1),
                "read": Out(read_port(width)),
                "write": Out(write_port(width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = self.config.engine.data_width
        m.submodules.reader = self._reader = reader = IterationReader(
            width, self.config.learner.step_record
        )
        m.submodules.writer = self._writer = writer = IterationWriter(width)
        m.submodules.report = self._report = IterationReport()
        m.submodules.jobs = self._jobs = jobs = ReplayJobs()
        connect(m, reader.read, flipped(self.read))
        connect(m, reader.batch, flipped(self.batch))
        connect(m, writer.write, flipped(self.write))
        connect(m, flipped(self.list), writer.list)
        connect(m, jobs.job, flipped(self.job))
        connect(m, flipped(self.outcome), jobs.outcome)
        self._check = None
        if self.config.learner.step_record is STEP:
            m.submodules.step_check = self._check = StepCheck(self.config.learner)
            m.d.comb += self._check.step.eq(reader.following)
        self._left = Signal(range(MAX_COUNT + 1), name="left")
        self._training = Signal(name="training")  # from train to the update's end
        self._begun = Signal(name="begun")  # a TRAIN's next batch is on its way
        self._updated = Signal(name="updated")  # since the update was asked for
        self._stepping = Signal(name="stepping")  # from train to the fall of busy
        self._addresses(m)
        self._numbers(m)
        with m.FSM():
            self._begin_states(m)
            self._training_states(m)
            self._end_states(m)
        return m

    def _addresses(self, m):
        """Addresses; beats of a batch and of a list of TD errors."""
        reader, writer, width = self._reader, self._writer, self.config.engine.data_width
        field = partial(LEARNING.field, raw=self.raw)
        listed, shift = field("batch") * ITEM.size, (width // 8).bit_length() - 1
        m.d.comb += [
            reader.start.eq(self.start),
            reader.address.eq(self.operands + field("source")),
            reader.batch_address.eq(self.operands + field("batches")),
            reader.beats.eq(round_up(self.run, width // 8) >> shift),
            reader.advance.eq(round_up(self.run, 64)),
            writer.start.eq(self.start),
            writer.address.eq(self.results + field("destination")),
            writer.list_address.eq(self.results + field("td_errors")),
            writer.beats.eq(round_up(listed, width // 8) >> shift),
            writer.advance.eq(round_up(listed, 64)),
            self.reading.eq(reader.busy),
        ]

    def _numbers(self, m):
        """Wires numbers between learner, replay core and report."""
        learner, jobs, report = self.learner, self._jobs, self._report
        m.d.comb += [
            jobs.start.eq(self.start),
            jobs.raw.eq(self.raw),
            jobs.run.eq(self.run),
            jobs.beta.eq(self._reader.following.beta),
            learner.hyperparameters.eq(self._reader.hyperparameters),
            report.stepping.eq(self._stepping),
            report.train.eq(learner.train),
            report.drawn.eq(~self.trains),
            report.status.eq(self.status),
            *(getattr(report, name).eq(getattr(learner, name)) for name in report.numbers),
            self._writer.report.eq(report.report),
        ]

        with m.If(learner.train):
            m.d.sync += [self._stepping.eq(1), self._updated.eq(0)]
        with m.Elif(learner.update):
            m.d.sync += self._updated.eq(1)
        with m.Elif(self._updated & ~learner.busy):
            m.d.sync += self._stepping.eq(0)

    def _fail(self, m, error, detail, then="FAIL"):
        m.d.sync += [self.error.eq(error), self.detail.eq(detail)]
        m.next = then

    def _begin_states(self, m):
        """The states at the begin of a command, and those that ask for the next batch, whose error
        waits for the end of the iteration under way."""
        reader, jobs = self._reader, self._jobs
        with m.State("IDLE"):
            m.d.sync += self.done.eq(0)
            m.d.comb += self._report.restart.eq(1)
            with m.If(self.start):
                m.d.sync += [
                    self._left.eq(LEARNING.field("count", self.raw)),
                    self._begun.eq(0),
                    self.error.eq(Error.NONE),
                    self.detail.eq(0),
                ]
                m.next = "FETCH"
        with m.State("FETCH"):
            m.d.comb += reader.fetch.eq(1)
            m.next = "BEGIN"
        with m.State("BEGIN"):
            with m.If(self._begun):
                m.next = "SETTLE"
            with m.Elif(reader.available & reader.failed):
                self._fail(m, Error.AXI, 0, "SETTLE")
            if self._check:
                with m.Elif(reader.available & self._check.wrong):
                    self._fail(m, LearnError.STEP, self._check.place, "SETTLE")
            with m.Elif(reader.available):
                m.d.comb += [
                    self.learner.begin.eq(1),
                    jobs.draw.eq(~self.trains),
                    reader.fetch_batch.eq(self.trains),
                ]
                m.next = "DRAW"
                with m.If(self.trains):
                    m.next = "SETTLE"
        with m.State("DRAW"):
            with m.If(jobs.done):
                self._fail(m, jobs.error, jobs.detail, "SETTLE")

    def _training_states(self, m):
        """The states of training: the batch, TD errors, the update, new priorities or a list."""
        learner, reader, writer, jobs = self.learner, self._reader, self._writer, self._jobs
        last = self._left == 1
        early = ~self.trains & self.config.learner.early_priorities
        with m.State("TAKE"):
            m.d.comb += reader.take.eq(1)
            m.next = "LOADED"
        with m.State("LOADED"):
            with m.If(learner.loaded & self.trains & reader.batch_failed):
                self._fail(m, Error.AXI, 0)
            with m.Elif(learner.loaded & learner.bad):
                self._fail(m, LearnError.NUMBER, learner.bad_index)
            with m.Elif(learner.loaded):
                m.d.comb += [learner.train.eq(1), reader.fetch.eq(~last), jobs.give.eq(early)]
                m.d.sync += [self._training.eq(1), self._begun.eq(0)]
                m.next = "TD"
                with m.If(early):
                    m.next = "GIVE"
        with m.State("TD"):
            ahead = reader.available & ~reader.failed & ~self._begun
            if self._check:
                ahead &= ~self._check.wrong
            with m.If(self.trains & ~last & ahead):
                m.d.comb += [learner.begin.eq(1), reader.fetch_batch.eq(1)]
                m.d.sync += self._begun.eq(1)
            with m.If(self.complete & learner.diverged):
                self._fail(m, LearnError.DIVERGED, learner.diverged_index)
            with m.Elif(self.complete):
                m.d.comb += [learner.update.eq(1), jobs.give.eq(~self.trains)]
                m.next = "GIVE"
                with m.If(self.trains):
                    m.next = "LIST"
        with m.State("GIVE"):
            # All TD errors are there before the job is done, those that went early too.
            m.d.comb += learner.update.eq(self.complete & ~self._updated)
            # The iteration has learned, whatever becomes of its experiences.
            with m.If(jobs.done):
                m.d.sync += [self.error.eq(jobs.error), self.detail.eq(jobs.detail)]
                m.next = "BEGIN"
                with m.If(last | (jobs.error != Error.NONE)):
                    m.next = "SETTLE"
        with m.State("LIST"):
            m.d.comb += writer.send_list.eq(~writer.sending)
            with m.If(~writer.sending):
                m.next = "LISTED"
        with m.State("LISTED"):
            with m.If(~writer.sending):
                m.next = "BEGIN"
                with m.If(last):
                    m.next = "SETTLE"

    def _end_states(self, m):
        """The states at the end: the report, then the next iteration or the end of the command."""
        learner, writer, training = self.learner, self._writer, self._training
        failed = self.error != Error.NONE
        with m.State("SETTLE"):
            with m.If(training & learner.trained & ~learner.busy):  # the sums are there too
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
            m.d.comb += writer.send.eq(~writer.sending)
            with m.If(~writer.sending):
                m.d.comb += self._report.restart.eq(1)
                m.next = "TAKE"
                with m.If(failed):
                    m.next = "FAIL"
                with m.Elif(self._left == 0):
                    m.next = "END"
        with m.State("FAIL"):
            # The next command must find nothing on its way, and no TD error in the queue.
            m.d.comb += self.drop.eq(training)
            settled = ~training | (learner.trained & self.empty & ~learner.busy)
            with m.If(~self._reader.busy & settled):
                m.d.sync += training.eq(0)
                m.next = "END"
        with m.State("END"):
            with m.If(writer.idle):
                m.d.sync += self.done.eq(1)
                m.next = "IDLE"
