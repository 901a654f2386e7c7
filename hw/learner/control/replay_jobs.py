"""The jobs that LEARN gives the replay core: a SAMPLE draws a batch; an UPDATE and an INSERT follow
its training."""

from functools import partial

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.learner.commands import LEARNING
from hw.replay.commands import Opcode
from hw.replay.job_dispatcher import JOB
from hw.replay.records import GRANULE_BYTES, ITEM, Error
from hw.shell.command import round_up
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["ReplayJobs"]


class ReplayJobs(wiring.Component):
    """Gives the replay core three jobs for each iteration of a LEARN: SAMPLE when ``draw`` asks for
    it, UPDATE and then INSERT when ``give`` does. A job is a command with fields of the LEARN.

    Members
    -------
    start : In(1), raw : In(512)
        ``start``, a pulse: the LEARN ``raw`` begins. ``raw`` is steady until its end.
    run : In(32)
        Bytes of the experiences that an iteration stores.
    draw : In(1), beta : In(32)
        ``draw``, a pulse: give SAMPLE, with all 32 bits of ``beta``; SAMPLE itself refuses a value
        that is too large. ``beta`` is steady until ``done``.
    give : In(1)
        A pulse: give UPDATE, whose items are the TD errors of a batch. INSERT follows if UPDATE
        had no error and the LEARN has ``inserts``.
    done : Out(1), error, detail : Out(32)
        ``done`` is a pulse: the request ``draw`` or ``give`` has ended. In this clock ``error`` and
        ``detail`` belong to the last job; ``error`` is 0 if it had none.
    job : Out(stream of JOB), outcome : In(stream of OUTCOME)
        The jobs, and their outcomes.
    """

    def __init__(self):
        super().__init__(
            {
                "start": In(1),
                "raw": In(8 * COMMAND_BYTES),
                "run": In(32),
                "draw": In(1),
                "beta": In(32),
                "give": In(1),
                "done": Out(1),
                "error": Out(32),
                "detail": Out(32),
                "job": Out(stream.Signature(JOB)),
                "outcome": In(stream.Signature(OUTCOME)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        field, job, outcome = partial(LEARNING.field, raw=self.raw), self.job.p, self.outcome
        inserts = field("inserts")
        m.d.comb += [
            job.count.eq(field("batch")),
            job.stratum_width.eq(field("stratum_width")),
            job.beta.eq(self.beta),
            job.alpha.eq(field("alpha")),
            job.epsilon.eq(field("epsilon")),
            job.given.eq(field("given")),
            job.transfer.eq(self.run >> exact_log2(GRANULE_BYTES)),
            outcome.ready.eq(1),
            self.error.eq(outcome.p.error),
            self.detail.eq(outcome.p.detail),
        ]
        experiences, priorities = Signal(32), Signal(32)
        m.d.comb += [job.source.eq(experiences), job.priorities.eq(priorities)]
        with m.If(self.start):
            m.d.sync += [
                experiences.eq(field("experiences")),
                priorities.eq(field("priorities")),
            ]
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.draw):
                    m.next = "SAMPLE"
                with m.Elif(self.give):
                    m.next = "UPDATE"
            with m.State("SAMPLE"):
                self._give(m, Opcode.SAMPLE)
                with m.If(outcome.valid):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
            with m.State("UPDATE"):
                self._give(m, Opcode.UPDATE)
                with m.If(outcome.valid):
                    m.next = "INSERT"
                    with m.If((outcome.p.error != Error.NONE) | (inserts == 0)):
                        m.d.comb += self.done.eq(1)
                        m.next = "IDLE"
            with m.State("INSERT"):
                self._give(m, Opcode.INSERT)
                m.d.comb += job.count.eq(inserts)
                with m.If(outcome.valid):
                    m.d.comb += self.done.eq(1)
                    m.d.sync += [
                        experiences.eq(experiences + round_up(self.run, 64)),
                        priorities.eq(priorities + round_up(inserts * ITEM.size, 64)),
                    ]
                    m.next = "IDLE"
        return m

    def _give(self, m, opcode):
        m.d.comb += [self.job.valid.eq(1), self.job.p.opcode.eq(opcode)]
