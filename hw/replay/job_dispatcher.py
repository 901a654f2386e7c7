"""Jobs: what a core around the replay core has it do, by streams where a command has memory.

A job is a SAMPLE whose batch leaves by a stream, an UPDATE whose items come by a stream, or an
INSERT. It begins a clock after it comes.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.replay.commands import BUFFERS, COMMANDS, MAX_COUNT, MAX_TRANSFER, Given, Opcode
from hw.replay.config import FRACTION_WIDTH
from hw.replay.records import GRANULE_BYTES, ITEM
from hw.shell.command import round_up
from hw.shell.errors import ShellError
from hw.shell.ports import read_port
from hw.shell.program import OUTCOME

__all__ = ["JOB", "JobDispatcher"]

#: A job, with the fields of its command. ``source`` and ``priorities`` are byte offsets in operands
#: that nobody checks here, ``transfer`` the granules of all experiences at ``source``.
JOB = data.StructLayout(
    {
        "opcode": Opcode,
        "count": MAX_COUNT.bit_length(),
        "stratum_width": FRACTION_WIDTH + 1,
        "beta": 32,
        "alpha": 16,
        "epsilon": 16,
        "source": 32,
        "given": Given,
        "priorities": 32,
        "transfer": MAX_TRANSFER.bit_length(),
    }
)
#: The fields of its command that a job has.
_JOBS = {
    Opcode.SAMPLE: ("count", "stratum_width", "beta"),
    Opcode.UPDATE: ("count", "alpha", "epsilon"),
    Opcode.INSERT: ("count", "alpha", "epsilon", "given"),
}


class JobDispatcher(wiring.Component):
    """Takes one job at a time from ``job`` to ``outcome``, and brings its operands. The replay core
    around this unit executes the job.

    A job is refused as its command would be, by limits, rules and storage; that its operands are
    inside their buffer, and that a batch has at most MAX_TRANSFER granules, is for its giver to
    know. ``start`` comes a clock after ``job``, ``outcome`` a clock after ``finish``. ``job`` is
    ready when its outcome is taken, so that its fields are steady until then.

    Parameters
    ----------
    config : ReplayKernelConfig
    state : data.Layout
        What the rules read, as of ``ReplayCore``.

    Members
    -------
    job : In(stream of JOB), outcome : Out(stream of OUTCOME)
        A job, and then its error, 0 for none, with the error's detail.
    items : In(stream of beats)
        The items of an UPDATE, dense, as in a list of operands.
    state : In(state), storage_pages : In(32), operands : In(64)
        What the rules read; pages of the buffer storage; byte address of the buffer operands.
    busy : Out(1)
        A job is under way, from the clock after it came until its outcome is taken.
    selected : Out({sample, update, insert})
        While ``busy``: the bit of the job's kind is 1.
    start, running : Out(1)
        ``start``: one clock, the core begins the job. ``running``: from the next clock to
        ``finish``. A job that is refused has neither.
    fetch : In(1)
        One clock, while ``running``: request the list at ``priorities``.
    fault : In(1), failed : Out(1)
        ``fault``: memory has failed in this clock. ``failed``: it has, in an earlier clock while
        ``running``; then the outcome's error is AXI.
    finish : In(1), error : In(32), detail : In(32)
        ``finish``: one clock, the core has executed the job, with this error and its detail.
    read : Out(read_port)
        The port by which operands come: the experiences of an INSERT, then its list.
    words : Out(stream of beats)
        For the core: ``items`` for an UPDATE, otherwise the beats of ``read``.
    """

    def __init__(self, config, state):
        self.config, width = config, config.engine.data_width
        super().__init__(
            {
                "job": In(stream.Signature(JOB)),
                "outcome": Out(stream.Signature(OUTCOME)),
                "items": In(stream.Signature(unsigned(width))),
                "state": In(state),
                "storage_pages": In(32),
                "operands": In(64),
                "busy": Out(1),
                "selected": Out(data.StructLayout({o.name.lower(): 1 for o in _JOBS})),
                "start": Out(1),
                "running": Out(1),
                "failed": Out(1),
                "fetch": In(1),
                "fault": In(1),
                "finish": In(1),
                "error": In(32),
                "detail": In(32),
                "read": Out(read_port(width)),
                "words": Out(stream.Signature(unsigned(width))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        outcome, refused = Signal(OUTCOME), Signal(OUTCOME)
        for wrong, error, detail in reversed(list(self._refusals())):
            with m.If(wrong):
                m.d.comb += [refused.error.eq(error), refused.detail.eq(detail)]
        m.d.comb += [
            self.outcome.p.error.eq(Mux(self.failed, ShellError.AXI, outcome.error)),
            self.outcome.p.detail.eq(outcome.detail),
            self.job.ready.eq(self.outcome.valid & self.outcome.ready),
        ]
        self._operands(m)
        with m.FSM() as fsm:
            m.d.comb += self.running.eq(fsm.ongoing("RUN"))
            with m.State("IDLE"):
                m.d.sync += [outcome.eq(refused), self.failed.eq(0)]
                for opcode in _JOBS:
                    selected = getattr(self.selected, opcode.name.lower())
                    m.d.sync += selected.eq(self.job.p.opcode == opcode)
                with m.If(self.job.valid):
                    m.d.sync += self.busy.eq(1)
                    m.next = "START"
            with m.State("START"):
                m.next = "OUTCOME"
                with m.If(outcome.error == ShellError.NONE):
                    m.d.comb += self.start.eq(1)
                    m.next = "RUN"
            with m.State("RUN"):
                with m.If(self.fault):
                    m.d.sync += self.failed.eq(1)
                m.d.sync += [outcome.error.eq(self.error), outcome.detail.eq(self.detail)]
                with m.If(self.finish):
                    m.next = "OUTCOME"
            with m.State("OUTCOME"):
                m.d.comb += self.outcome.valid.eq(1)
                with m.If(self.outcome.ready):
                    m.d.sync += self.busy.eq(0)
                    m.next = "IDLE"
        return m

    def _refusals(self):
        """``(condition, error, detail)`` of everything for which a job is refused, in order."""
        (storage,) = BUFFERS
        room = self.storage_pages * storage.unit
        state = {name: getattr(self.state, name) for name, _ in self.state.shape()}
        s = SimpleNamespace(config=self.config, **state)
        for opcode, names in _JOBS.items():
            command, chosen = COMMANDS[opcode], self.job.p.opcode == opcode
            fields = {f.name: self.job.p[f.name] if f.name in names else 0 for f in command.fields}
            c = SimpleNamespace(**fields, transfer=0)
            refusals = [*command.outside(c, self.config), *command.broken(c, s)]
            refusals += [
                (f.bytes(c, s) > room, f.error, 0)
                for f in command.footprints
                if f.buffer == storage.name
            ]
            yield from ((chosen & wrong, *why) for wrong, *why in refusals)

    def _operands(self, m):
        """Requests experiences at the start of an INSERT, and their list at ``fetch``."""
        job, request, asking, listing = self.job.p, self.read.request, Signal(), Signal()
        beat_bytes = self.config.engine.beat_bytes
        size = Mux(listing, job.count * ITEM.size, job.transfer * GRANULE_BYTES)
        with m.If(self.start):
            m.d.sync += [asking.eq(self.selected.insert & (job.transfer != 0)), listing.eq(0)]
        with m.If(self.fetch):
            m.d.sync += [asking.eq(1), listing.eq(1)]
        with m.If(asking & request.ready):
            m.d.sync += asking.eq(0)
        given = self.selected.update
        m.d.comb += [
            request.p.address.eq(self.operands + Mux(listing, job.priorities, job.source)),
            request.p.beats.eq(round_up(size, beat_bytes) >> exact_log2(beat_bytes)),
            request.valid.eq(asking),
            self.words.payload.eq(Mux(given, self.items.payload, self.read.data.p.data)),
            self.words.valid.eq(self.busy & Mux(given, self.items.valid, self.read.data.valid)),
            self.items.ready.eq(self.words.ready & self.busy & given),
            self.read.data.ready.eq(self.words.ready & ~given),
        ]
