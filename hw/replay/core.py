"""The replay core: executes the commands of ``hw.replay.commands`` on manager and memory.

One command at a time; within it draw, gather and write overlap, and insert is a run of bursts.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import connect, flipped

from hw.replay.commands import BUFFERS, COMMANDS, Given, Opcode
from hw.replay.estimate import estimate
from hw.replay.gather import Gather
from hw.replay.insert import Insert
from hw.replay.item_reader import ItemReader
from hw.replay.operation_issuer import OperationIssuer
from hw.replay.records import REPLAY_STATUS, Error
from hw.replay.replay_state import ReplayState, state_shapes
from hw.replay.tree.manager import ReplayManager
from hw.shell.core import CommandCore

__all__ = ["ReplayCore"]


class ReplayCore(CommandCore):
    """Executes SETUP to GET: one command at a time, its parts overlapped.

    SAMPLE, FIND and GET draw, fetch and write at the same time, so a batch takes as long as the
    slowest of the three, plus the latency of the others. INSERT first writes its experiences and
    then sets their priorities, so that every experience that can be drawn is in memory.
    ``docs/replay.md`` follows each command.

    Parameters
    ----------
    config : ReplayKernelConfig
    check : Component or None
        Checks the experiences of every INSERT: ``hw.learner.samples.insert_check``, or a component
        with the same members and ``ERROR``. An INSERT that it calls bad ends with this error, and
        otherwise like one during which memory failed: position and fill stay as they were, and the
        places that it has written have priority 0.
    """

    COMMANDS = COMMANDS
    STATUS = REPLAY_STATUS
    BUFFERS = BUFFERS
    estimate = staticmethod(estimate)

    def __init__(self, config, check=None):
        self._check = check
        super().__init__(config)

    @staticmethod
    def state_layout(config):
        shapes = state_shapes(config.replay, config.engine.beat_bytes)
        return data.StructLayout({**shapes, "empty": 1})

    def execute(self, m, run):
        config, engine = self.config.replay, self.config.engine
        units = SimpleNamespace(
            manager=ReplayManager(config),
            items=ItemReader(config, engine.data_width),
            insert=Insert(config, engine.data_width),
            gather=Gather(config, engine.data_width, engine.depth),
            ask=OperationIssuer(config),
            ring=ReplayState(config, engine.beat_bytes),
        )
        for name, unit in vars(units).items():
            m.submodules[name] = unit
        # Of the command: it takes a list, writes a batch, brings a list of priorities. Of its
        # state: experiences move to storage, places are cleared.
        names = ("is_list", "is_batch", "given", "storing", "clearing")
        flags = Signal(data.StructLayout(dict.fromkeys(names, 1)))
        work, ring = self.work(m, run, units.gather), units.ring
        self._wire(m, work, flags, **vars(units))
        m.d.comb += [
            run.state.capacity.eq(ring.capacity),
            run.state.granules.eq(ring.granules),
            run.state.extent.eq(ring.extent),
            run.state.fill.eq(ring.fill),
            run.state.empty.eq(units.manager.total == 0),
            ring.raw.eq(run.raw),
            ring.transfer.eq(run.stages.transfer),
            units.manager.seed.eq(Cat(*self.field("state", run.raw))),
        ]
        self._run(m, work, flags, units, self._checked(m, work, units))
        self._status(m, work, flags, units)

    def work(self, m, run, gather):
        """A namespace of the command that is executed: its fields, and those members of ``run``
        that follow or drive it. ``taken``: the command comes in this clock. ``fetch``: request its
        list of priorities. Also connects the beats of ``gather`` to the reply. A core that has jobs
        besides commands overrides this method."""
        fields = ("opcode", "count", "given", "alpha", "epsilon", "stratum_width", "beta")
        followed = ("selected", "start", "running", "failed", "replied", "words")
        driven = ("reply", "finish", "error", "detail")
        connect(m, gather.o, run.reply_words)
        return SimpleNamespace(
            **{name: self.field(name, run.raw) for name in fields},
            **{name: getattr(run, name) for name in (*followed, *driven)},
            priority=self.views(run.raw)[Opcode.INSERT].priority,
            taken=self.command.valid & self.command.ready,
            fetch=run.fetch.priorities,
        )

    def _wire(self, m, work, flags, manager, items, insert, gather, ask, ring):
        for flag, name in ((flags.is_list, "source"), (flags.is_batch, "destination")):
            movers = (o.name.lower() for o in COMMANDS.movers(name) if o is not Opcode.INSERT)
            m.d.comb += flag.eq(Cat(getattr(work.selected, mover) for mover in movers).any())
        # Operands go to the insert engine or to the list; results come from the gather engine.
        m.d.comb += [
            flags.given.eq(work.selected.insert & (items.given != Given.NOTHING)),
            insert.words.payload.eq(work.words.p.data),
            items.words.payload.eq(work.words.p.data),
            insert.words.valid.eq(work.words.valid & flags.storing),
            items.words.valid.eq(work.words.valid & ~flags.storing),
            work.words.ready.eq(Mux(flags.storing, insert.words.ready, items.words.ready)),
        ]
        connect(m, gather.read, flipped(self.storage_read))
        connect(m, insert.write, flipped(self.storage_write))
        m.d.comb += [
            insert.storage.eq(self.storage),
            insert.position.eq(ring.position),
            insert.capacity.eq(ring.capacity),
            insert.count.eq(work.count),
            insert.granules.eq(ring.granules),
            insert.stride.eq(ring.stride),
            items.opcode.eq(work.opcode),
            items.given.eq(work.given),
            items.fill.eq(ring.fill),
            items.place.eq(ring.position),
            items.failed.eq(work.failed),
            items.alpha.eq(work.alpha),
            items.epsilon.eq(work.epsilon),
            items.count.payload.eq(work.count),
            gather.count.eq(work.count),
            gather.granules.eq(Mux(work.selected.get, 0, ring.granules)),
            gather.stride.eq(ring.stride),
            gather.storage.eq(self.storage),
            gather.total.eq(manager.total),
            gather.fill.eq(ring.fill),
            gather.beta.eq(work.beta),
            manager.stratum_width.eq(work.stratum_width),
            ask.count.eq(work.count),
            ask.is_insert.eq(work.selected.insert),
            ask.is_batch.eq(flags.is_batch),
            ask.is_find.eq(work.selected.find),
            ask.position.eq(ring.position),
            ask.entry.eq(Mux(flags.clearing, 0, ring.entry)),
            ring.priority.eq(work.priority),
            ring.advance.eq(ask.advance),
            ring.saturated.eq(items.saturated),
            ring.largest.eq(manager.maximum),
        ]
        # A register, since the list's ready waits for it; the first item comes after the start.
        with m.If(work.start):
            m.d.sync += ask.is_list.eq(flags.is_list | flags.given)
        connect(m, items.request, ask.items)
        connect(m, ask.request, manager.request)
        connect(m, manager.response, ask.response)
        connect(m, ask.answer, gather.response)

    def _checked(self, m, work, units):
        """``bad``, and ``error`` and ``position`` of the INSERT that runs, by ``check``."""
        check, insert = self._check, units.insert
        if check is None:
            return SimpleNamespace(bad=Const(0), error=0, position=0)
        m.submodules.check = check
        m.d.comb += [
            check.start.eq(work.start),
            check.granules.eq(units.ring.granules),
            check.valid.eq(insert.write.data.valid & insert.write.data.ready),
            check.beat.eq(insert.write.data.payload),
        ]
        return SimpleNamespace(bad=check.bad, error=check.ERROR, position=check.position)

    def _run(self, m, work, flags, units, refused):
        items, insert, ask, ring = units.items, units.insert, units.ask, units.ring
        selected, manager = work.selected, units.manager
        with m.FSM() as fsm:
            m.d.comb += [
                flags.storing.eq(fsm.ongoing("STORE")),
                flags.clearing.eq(fsm.ongoing("CLEAR")),
            ]
            with m.State("IDLE"):
                m.d.comb += [
                    items.start.eq(work.start),
                    ask.start.eq(work.start),
                    ring.mark.eq(work.start),
                    units.gather.start.eq(work.start & flags.is_batch),
                    work.reply.eq(work.start & flags.is_batch),
                    insert.start.eq(work.start & selected.insert & (ring.granules != 0)),
                ]
                with m.If(work.start):
                    m.next = "STATE"
                    with m.If(insert.start):
                        m.next = "STORE"
                    with m.Elif(flags.is_list):
                        m.next = "LIST"
                    with m.Elif(selected.sample | selected.insert):
                        m.next = "ASK"
            with m.State("STORE"):
                with m.If(insert.done):
                    m.next = "ASK"
            with m.State("LIST"):
                m.d.comb += items.count.valid.eq(1)
                with m.If(items.count.ready):
                    m.next = "ANSWER"
            with m.State("ASK"):
                m.d.comb += [ask.begin.eq(~flags.given), work.fetch.eq(flags.given)]
                m.next = "ANSWER"
                with m.If(selected.insert & (work.failed | refused.bad)):
                    m.d.comb += [ask.begin.eq(0), work.fetch.eq(0)]
                    m.next = "UNDO"
                with m.Elif(flags.given):
                    m.next = "LIST"
            with m.State("ANSWER"):
                with m.If(ask.complete & (work.replied | ~flags.is_batch)):
                    m.next = "END"
                    with m.If(selected.insert & work.failed):
                        m.next = "UNDO"
            with m.State("UNDO"):
                # Of an INSERT that ends so: nothing that it may have touched can be drawn.
                m.d.comb += [ring.rewind.eq(1), ask.start.eq(1), ask.begin.eq(1)]
                m.d.sync += ask.is_list.eq(0)  # the clearing priorities come from no list
                m.next = "CLEAR"
            with m.State("CLEAR"):
                with m.If(ask.complete):
                    m.d.comb += ring.rewind.eq(1)
                    m.next = "END"
            with m.State("STATE"):
                with m.If(manager.idle):
                    m.d.comb += [
                        manager.clear.eq(selected.setup),
                        ring.setup.eq(selected.setup),
                        manager.load.eq(selected.seed),
                        ring.restore.eq(selected.restore),
                    ]
                    m.next = "SETTLE"
            with m.State("SETTLE"):
                m.next = "IDLE_AGAIN"
            with m.State("IDLE_AGAIN"):
                with m.If(manager.idle):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += work.finish.eq(1)
                with m.If(items.error != Error.NONE):
                    m.d.comb += [work.error.eq(items.error), work.detail.eq(items.position)]
                with m.Elif(ask.missed):
                    m.d.comb += [work.error.eq(Error.TARGET), work.detail.eq(ask.detail)]
                with m.Elif(refused.bad):
                    m.d.comb += [work.error.eq(refused.error), work.detail.eq(refused.position)]
                m.next = "IDLE"

    def _status(self, m, work, flags, units):
        """The status block: the state of storage, and the clocks of the last batch until its last
        draw, its last arrival and its end."""
        manager, ring, gather = units.manager, units.ring, units.gather
        clock, drawn, gathered, written = (
            Signal(32, name=f"clock_{name}") for name in ("now", "drawn", "gathered", "written")
        )
        m.d.sync += clock.eq(clock + 1)
        with m.If(work.taken):
            m.d.sync += clock.eq(0)
        with m.If(flags.is_batch & work.running):
            with m.If(units.ask.answered & ~work.selected.get):
                m.d.sync += drawn.eq(clock)
            with m.If(~gather.gathered & ~work.selected.get):
                m.d.sync += gathered.eq(clock)
            with m.If(~work.replied):
                m.d.sync += written.eq(clock)
        status = data.View(REPLAY_STATUS.shape, self.status)
        m.d.comb += [
            status.total.eq(manager.total),
            Cat(*status.state).eq(manager.state),
            *(
                getattr(status, name).eq(getattr(ring, name))
                for name in ("maximum", "position", "fill", "saturations", "capacity", "granules")
            ),
            status.draw_cycles.eq(drawn),
            status.gather_cycles.eq(gathered - drawn),
            status.write_cycles.eq(written - gathered),
        ]
