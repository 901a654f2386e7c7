"""The replay core inside a kernel that gives it jobs, whose batches and items are streams.

The kernel ``replay`` does not have it.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.replay.core import ReplayCore
from hw.replay.job_dispatcher import JOB, JobDispatcher
from hw.shell.ports import mux_ports
from hw.shell.program import OUTCOME

__all__ = ["JobReplayCore"]


class JobReplayCore(ReplayCore):
    """A replay core that also executes jobs: a SAMPLE, UPDATE or INSERT from another unit of the
    kernel. No command may come while a job is under way, and no job while a command is.

    Members
    -------
    Those of ``ReplayCore``, and
    job : In(stream of JOB), job_outcome : Out(stream of OUTCOME)
        A job, and its outcome: an error (0 for none) and its detail. A job is taken when its
        outcome is taken.
    items : In(stream of beats)
        The items of an UPDATE.
    batch : Out(stream of beats)
        The batch of a SAMPLE: it has left completely when the job's outcome is valid.
    """

    def own_members(self):
        beats = stream.Signature(unsigned(self.config.engine.data_width))
        return {
            "job": In(stream.Signature(JOB)),
            "job_outcome": Out(stream.Signature(OUTCOME)),
            "items": In(beats),
            "batch": Out(beats),
        }

    def attach(self, m, run):
        m.submodules.jobs = self._jobs = jobs = JobDispatcher(
            self.config, self.state_layout(self.config)
        )
        connect(m, flipped(self.command), run.command)
        connect(m, run.outcome, flipped(self.outcome))
        connect(m, flipped(self.job), jobs.job)
        connect(m, jobs.outcome, flipped(self.job_outcome))
        connect(m, flipped(self.items), jobs.items)
        m.d.comb += [
            jobs.state.eq(run.state),
            jobs.storage_pages.eq(self.storage_pages),
            jobs.operands.eq(self.operands),
            jobs.fault.eq(run.fault),
        ]
        mux_ports(m, self.host_read, [(~jobs.busy, run.read), (jobs.busy, jobs.read)])
        # A job's batch goes the way of results, as far as the port.
        mux_ports(m, self.host_write, [(~jobs.busy, run.write)])
        m.d.comb += [
            self.batch.payload.eq(run.write.data.payload),
            self.batch.valid.eq(run.write.data.valid & jobs.busy),
        ]
        with m.If(jobs.busy):
            m.d.comb += run.write.data.ready.eq(self.batch.ready)

    def work(self, m, run, gather):
        """The job, or else the command."""
        jobs, command = self._jobs, super().work(m, run, gather)
        busy = jobs.busy
        fields = {
            name: Mux(busy, jobs.job.p[name], value)
            for name, value in vars(command).items()
            if name in JOB.members
        }
        work = SimpleNamespace(
            **fields,
            priority=Mux(busy, 0, command.priority),
            selected=Signal(run.selected.shape()),
            start=command.start | jobs.start,
            taken=command.taken | jobs.start,
            running=command.running | jobs.running,
            failed=Mux(busy, jobs.failed, command.failed),
            # What has left the gather engine may still wait in the dispatcher's register.
            replied=Mux(busy, gather.sent & ~run.write.data.valid, command.replied),
            words=stream.Signature(data.StructLayout({"data": len(jobs.words.payload)})).create(),
            **{name: Signal(name=name) for name in ("reply", "fetch", "finish")},
            **{name: Signal(32, name=name) for name in ("error", "detail")},
        )
        for name, _ in run.selected.shape():
            own = getattr(jobs.selected, name) if name in jobs.selected.shape().members else 0
            m.d.comb += getattr(work.selected, name).eq(
                Mux(busy, own, getattr(command.selected, name))
            )
        m.d.comb += [
            work.words.p.data.eq(Mux(busy, jobs.words.payload, command.words.p.data)),
            work.words.valid.eq(Mux(busy, jobs.words.valid, command.words.valid)),
            jobs.words.ready.eq(work.words.ready & busy),
            command.words.ready.eq(work.words.ready & ~busy),
            command.reply.eq(work.reply & ~busy),
            command.fetch.eq(work.fetch & ~busy),
            jobs.fetch.eq(work.fetch & busy),  # a command's list is none of a job's
        ]
        for name in ("finish", "error", "detail"):
            for each in (command, jobs):
                m.d.comb += getattr(each, name).eq(getattr(work, name))
        return work
