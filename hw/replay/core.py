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
        with the same members and ``ERROR``. An INSERT that it calls bad ends like an INSERT that
        memory fails.
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
        self._wire(m, run, flags, **vars(units))
        refused = self._checked(m, run, units)
        self._run(m, run, flags, units, refused)
        self._status(m, run, flags, units)

    def _wire(self, m, run, flags, manager, items, insert, gather, ask, ring):
        command, selected = self.views(run.raw), run.selected
        lists = [opcode for opcode in COMMANDS.movers("source") if opcode is not Opcode.INSERT]
        batches = COMMANDS.movers("destination")
        for flag, opcodes in ((flags.is_list, lists), (flags.is_batch, batches)):
            m.d.comb += flag.eq(Cat(getattr(selected, o.name.lower()) for o in opcodes).any())
        m.d.comb += [
            flags.given.eq(selected.insert & (items.given != Given.NOTHING)),
            run.state.capacity.eq(ring.capacity),
            run.state.granules.eq(ring.granules),
            run.state.extent.eq(ring.extent),
            run.state.fill.eq(ring.fill),
            run.state.empty.eq(manager.total == 0),
        ]

        # Operands go to the insert engine or to the list; results come from the gather engine.
        m.d.comb += [
            insert.words.payload.eq(run.words.p.data),
            items.words.payload.eq(run.words.p.data),
            insert.words.valid.eq(run.words.valid & flags.storing),
            items.words.valid.eq(run.words.valid & ~flags.storing),
            run.words.ready.eq(Mux(flags.storing, insert.words.ready, items.words.ready)),
        ]
        connect(m, gather.o, run.reply_words)
        connect(m, gather.read, flipped(self.storage_read))
        connect(m, insert.write, flipped(self.storage_write))
        count = command[Opcode.SET].count
        m.d.comb += [
            insert.storage.eq(self.storage),
            insert.position.eq(ring.position),
            insert.capacity.eq(ring.capacity),
            insert.count.eq(count),
            insert.granules.eq(ring.granules),
            insert.stride.eq(ring.stride),
            items.opcode.eq(command[Opcode.SET].opcode),
            items.given.eq(command[Opcode.INSERT].given),
            items.fill.eq(ring.fill),
            items.place.eq(ring.position),
            items.failed.eq(run.failed),
            items.alpha.eq(command[Opcode.UPDATE].alpha),
            items.epsilon.eq(command[Opcode.UPDATE].epsilon),
            items.count.payload.eq(count),
            gather.count.eq(count),
            gather.granules.eq(Mux(selected.get, 0, ring.granules)),
            gather.stride.eq(ring.stride),
            gather.storage.eq(self.storage),
            gather.total.eq(manager.total),
            gather.fill.eq(ring.fill),
            gather.beta.eq(command[Opcode.SAMPLE].beta),
            manager.stratum_width.eq(command[Opcode.SAMPLE].stratum_width),
            manager.seed.eq(Cat(*command[Opcode.SEED].state)),
            ask.count.eq(count),
            ask.is_list.eq(flags.is_list | (flags.given & ~flags.clearing)),
            ask.is_insert.eq(selected.insert),
            ask.is_batch.eq(flags.is_batch),
            ask.is_find.eq(selected.find),
            ask.position.eq(ring.position),
            ask.entry.eq(Mux(flags.clearing, 0, ring.entry)),
            ring.raw.eq(run.raw),
            ring.transfer.eq(run.stages.transfer),
            ring.advance.eq(ask.advance),
            ring.saturated.eq(items.saturated),
            ring.largest.eq(manager.maximum),
        ]
        connect(m, items.request, ask.items)
        connect(m, ask.request, manager.request)
        connect(m, manager.response, ask.response)
        connect(m, ask.answer, gather.response)

    def _checked(self, m, run, units):
        """``bad``, and ``error`` and ``position`` of the INSERT that runs, by ``check``."""
        check, insert = self._check, units.insert
        if check is None:
            return SimpleNamespace(bad=Const(0), error=0, position=0)
        m.submodules.check = check
        written = insert.write.data
        m.d.comb += [
            check.start.eq(run.start),
            check.granules.eq(units.ring.granules),
            check.valid.eq(written.valid & written.ready),
            check.beat.eq(written.payload),
        ]
        return SimpleNamespace(bad=check.bad, error=check.ERROR, position=check.position)

    def _run(self, m, run, flags, units, refused):
        items, insert, ask, ring = units.items, units.insert, units.ask, units.ring
        selected, manager = run.selected, units.manager
        with m.FSM() as fsm:
            m.d.comb += [
                flags.storing.eq(fsm.ongoing("STORE")),
                flags.clearing.eq(fsm.ongoing("CLEAR")),
            ]
            with m.State("IDLE"):
                m.d.comb += [
                    items.start.eq(run.start),
                    ask.start.eq(run.start),
                    ring.mark.eq(run.start),
                    units.gather.start.eq(run.start & flags.is_batch),
                    run.reply.eq(run.start & flags.is_batch),
                    insert.start.eq(run.start & selected.insert & (ring.granules != 0)),
                ]
                with m.If(run.start):
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
                m.d.comb += [ask.begin.eq(~flags.given), run.fetch.priorities.eq(flags.given)]
                m.next = "ANSWER"
                with m.If(selected.insert & (run.failed | refused.bad)):
                    m.d.comb += [ask.begin.eq(0), run.fetch.priorities.eq(0)]
                    m.next = "UNDO"
                with m.Elif(flags.given):
                    m.next = "LIST"
            with m.State("ANSWER"):
                with m.If(ask.complete & (run.replied | ~flags.is_batch)):
                    m.next = "END"
                    with m.If(selected.insert & run.failed):
                        m.next = "UNDO"
            with m.State("UNDO"):
                # Of an INSERT that ends so: nothing that it may have touched can be drawn.
                m.d.comb += [ring.rewind.eq(1), ask.start.eq(1), ask.begin.eq(1)]
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
                m.d.comb += run.finish.eq(1)
                with m.If(items.error != Error.NONE):
                    m.d.comb += [run.error.eq(items.error), run.detail.eq(items.position)]
                with m.Elif(ask.missed):
                    m.d.comb += [run.error.eq(Error.TARGET), run.detail.eq(ask.detail)]
                with m.Elif(refused.bad):
                    m.d.comb += [run.error.eq(refused.error), run.detail.eq(refused.position)]
                m.next = "IDLE"

    def _status(self, m, run, flags, units):
        """The status block: the state of storage, and the clocks of the last batch until its last
        draw, its last arrival and its end."""
        manager, ring, gather = units.manager, units.ring, units.gather
        clock, drawn, gathered, written = (
            Signal(32, name=f"clock_{name}") for name in ("now", "drawn", "gathered", "written")
        )
        m.d.sync += clock.eq(clock + 1)
        with m.If(self.command.valid & self.command.ready):
            m.d.sync += clock.eq(0)
        with m.If(flags.is_batch & run.running & ~run.selected.get):
            with m.If(units.ask.answered):
                m.d.sync += drawn.eq(clock)
            with m.If(~gather.gathered):
                m.d.sync += gathered.eq(clock)
        with m.If(flags.is_batch & run.running & ~run.replied):
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
