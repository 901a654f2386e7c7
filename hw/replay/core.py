"""The replay core: executes the commands of ``hw.replay.commands`` on manager and memory.

One command at a time; within it draw, gather and write overlap, and insert is a run of bursts.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from hw.replay.ask import Ask
from hw.replay.commands import (
    COMMANDS,
    HEADER,
    REPLAY_STATUS,
    Error,
    Opcode,
)
from hw.replay.decode import Decode
from hw.replay.gather import Gather
from hw.replay.insert import Insert
from hw.replay.items import Items
from hw.replay.manager import ReplayManager
from hw.replay.ring import Ring
from hw.shell.ports import core_members
from hw.shell.program import COMMAND_BYTES
from hw.stream.ram import memory_blocks, style_of

__all__ = ["ReplayCore"]


class ReplayCore(wiring.Component):
    """What ``hw.shell.kernel.Kernel`` wraps; the members are its contract for every design.

    Parameters
    ----------
    config : ReplayKernelConfig

    Members
    -------
    command : In(stream.Signature(512)), outcome : Out(stream of OUTCOME)
        A command as in memory; its error, 0 when done, and the item that failed.
    status : Out(1024)
        REPLAY_STATUS; steady while no command runs.
    operands, results, storage : In(64), operands_bytes, results_bytes : In(32)
        The launch's arguments.
    host_read, host_write, storage_read, storage_write : ports
        One read and one write port for each AXI master.
    """

    #: Pointers of this design and their masters, after those of every kernel.
    POINTERS = (("storage", "m_axi_storage"),)
    STATUS = REPLAY_STATUS

    @staticmethod
    def estimate(config):
        """Resources of the whole kernel; None where unknown.

        Memory blocks are counted: those of the manager, the queues of the four engines and that of
        the headers. The interpolation tables of the logarithms, a block or two, are left out.
        """
        width, depth = config.engine.data_width, config.engine.depth
        queues = 4 * memory_blocks(width, depth, style_of(depth))
        queues += memory_blocks(8 * HEADER.size, depth, style_of(depth))
        manager = ReplayManager.estimate(config.replay)
        return {**manager, "cycles": None, "bram36": manager["bram36"] + queues}

    def __init__(self, config):
        self.config = config
        width = config.engine.data_width
        super().__init__(core_members(width, REPLAY_STATUS, ["storage"]))

    def elaborate(self, platform):
        m = Module()
        config, width = self.config.replay, self.config.engine.data_width
        m.submodules.manager = manager = ReplayManager(config)
        m.submodules.items = items = Items(config, width)
        m.submodules.insert = insert = Insert(config, width)
        m.submodules.gather = gather = Gather(config, width, self.config.engine.depth)

        m.submodules.ring = ring = Ring(config, self.config.engine.beat_bytes)
        m.d.comb += [ring.saturated.eq(items.saturated), ring.largest.eq(manager.maximum)]

        # The command under way.
        m.submodules.decode = decode = Decode(config, self.config.engine.beat_bytes)
        raw = Signal(8 * COMMAND_BYTES, reset_less=True)
        command = {opcode: data.View(layout.shape, raw) for opcode, layout in COMMANDS.items()}
        opcode, count, is_insert = decode.opcode, decode.count, decode.is_insert
        is_sample, is_list, is_batch = decode.is_sample, decode.is_list, decode.is_batch
        is_find = Signal()
        m.d.comb += [
            is_find.eq(opcode == Opcode.FIND),
            decode.raw.eq(raw),
            ring.raw.eq(raw),
            decode.capacity.eq(ring.capacity),
            decode.granules.eq(ring.granules),
            decode.fill.eq(ring.fill),
            decode.empty.eq(manager.total == 0),
            decode.operands_bytes.eq(self.operands_bytes),
            decode.results_bytes.eq(self.results_bytes),
        ]

        # Operands go to the insert engine or to the list; results come from the gather engine.
        read, write = self.host_read, self.host_write
        m.d.comb += [
            read.request.p.address.eq(self.operands + decode.source),
            read.request.p.beats.eq(decode.source_beats),
            insert.words.payload.eq(read.data.payload),
            items.words.payload.eq(read.data.payload),
            insert.words.valid.eq(read.data.valid & is_insert),
            items.words.valid.eq(read.data.valid & ~is_insert),
            read.data.ready.eq(Mux(is_insert, insert.words.ready, items.words.ready)),
            write.request.p.address.eq(self.results + decode.destination),
            write.request.p.beats.eq(decode.destination_beats),
        ]
        connect(m, gather.o, flipped(write.data))
        connect(m, gather.read, flipped(self.storage_read))
        connect(m, insert.write, flipped(self.storage_write))
        m.d.comb += [
            insert.storage.eq(self.storage),
            insert.position.eq(ring.position),
            insert.capacity.eq(ring.capacity),
            insert.count.eq(count),
            insert.granules.eq(ring.granules),
            insert.stride.eq(ring.stride),
            items.opcode.eq(opcode),
            items.fill.eq(ring.fill),
            items.alpha.eq(command[Opcode.UPDATE].alpha),
            items.epsilon.eq(command[Opcode.UPDATE].epsilon),
            items.count.payload.eq(count),
            gather.count.eq(count),
            gather.granules.eq(decode.payload),
            gather.stride.eq(ring.stride),
            gather.storage.eq(self.storage),
            gather.total.eq(manager.total),
            gather.fill.eq(ring.fill),
            gather.beta.eq(command[Opcode.SAMPLE].beta),
            manager.step.eq(command[Opcode.SAMPLE].step),
            manager.seed.eq(Cat(*command[Opcode.SEED].state)),
        ]

        m.submodules.ask = ask = Ask(config)
        m.d.comb += [
            ask.count.eq(count),
            ask.is_list.eq(is_list),
            ask.is_insert.eq(is_insert),
            ask.is_batch.eq(is_batch),
            ask.is_find.eq(is_find),
            ask.position.eq(ring.position),
            ask.entry.eq(ring.entry),
            ring.advance.eq(ask.advance),
        ]
        connect(m, items.request, ask.items)
        connect(m, ask.request, manager.request)
        connect(m, manager.response, ask.response)
        connect(m, ask.answer, gather.response)

        # Clocks of the last batch, cut at the last draw, the last arrival, the end.
        clock, drawn, gathered, written = (
            Signal(32, name=f"clock_{name}") for name in ("now", "drawn", "gathered", "written")
        )
        m.d.sync += clock.eq(clock + 1)
        with m.If(is_sample | is_find):
            with m.If(ask.answered):
                m.d.sync += drawn.eq(clock)
            with m.If(~gather.gathered):
                m.d.sync += gathered.eq(clock)

        detail = Signal(32)
        failed = Signal()  # a write to results
        batch_written = Signal()
        outcome = self.outcome
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.command.ready.eq(1)
                m.d.sync += [
                    raw.eq(self.command.payload),
                    batch_written.eq(0),
                    failed.eq(0),
                ]
                with m.If(self.command.valid):
                    m.next = "TRANSFER"
            with m.State("TRANSFER"):
                m.d.sync += clock.eq(0)
                m.next = "SIZES"
            with m.State("SIZES"):
                m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += [items.start.eq(1), ask.start.eq(1)]
                m.d.comb += gather.start.eq(is_batch & (decode.error == Error.NONE))
                m.d.sync += [outcome.p.error.eq(decode.error), detail.eq(0)]
                with m.If(decode.error != Error.NONE):
                    m.next = "OUTCOME"
                with m.Elif(is_list | (is_insert & (ring.granules != 0))):
                    m.next = "READ"
                with m.Elif(is_sample):
                    m.next = "WRITE"
                with m.Elif(is_insert):
                    m.next = "ASK"
                with m.Else():
                    m.next = "STATE"
            with m.State("READ"):
                m.d.comb += read.request.valid.eq(1)
                with m.If(read.request.ready):
                    m.next = "TAKE"
            with m.State("TAKE"):
                m.d.comb += [insert.start.eq(is_insert), items.count.valid.eq(is_list)]
                with m.If(is_insert):
                    m.next = "STORE"
                with m.Elif(items.count.ready):
                    m.next = "WRITE"
            with m.State("STORE"):
                with m.If(insert.done):
                    m.next = "ASK"
            with m.State("WRITE"):
                m.d.comb += write.request.valid.eq(is_batch)
                with m.If(write.request.ready | ~is_batch):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += ask.begin.eq(~is_list)
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += write.done.ready.eq(1)
                with m.If(write.done.valid):
                    m.d.sync += [
                        batch_written.eq(1),
                        failed.eq(write.done.payload),
                        written.eq(clock),
                    ]
                with m.If(ask.complete & (batch_written | ~is_batch)):
                    m.next = "ERRORS"
            with m.State("STATE"):
                with m.If(manager.idle):
                    with m.Switch(opcode):
                        with m.Case(Opcode.SETUP):
                            m.d.comb += [manager.clear.eq(1), ring.setup.eq(1)]
                        with m.Case(Opcode.SEED):
                            m.d.comb += manager.load.eq(1)
                        with m.Case(Opcode.RESTORE):
                            m.d.comb += ring.restore.eq(1)
                    m.next = "SETTLE"
            with m.State("SETTLE"):
                m.next = "IDLE_AGAIN"
            with m.State("IDLE_AGAIN"):
                with m.If(manager.idle):
                    m.next = "OUTCOME"
            with m.State("ERRORS"):
                with m.If(failed | (is_insert & (ring.granules != 0) & insert.failed)):
                    m.d.sync += outcome.p.error.eq(Error.AXI)
                with m.Elif(is_list & (items.error != Error.NONE)):
                    m.d.sync += [outcome.p.error.eq(items.error), detail.eq(items.position)]
                with m.Elif(ask.missed):
                    m.d.sync += [outcome.p.error.eq(Error.TARGET), detail.eq(ask.detail)]
                m.next = "OUTCOME"
            with m.State("OUTCOME"):
                m.d.comb += [outcome.valid.eq(1), outcome.p.detail.eq(detail)]
                with m.If(outcome.ready):
                    m.next = "IDLE"

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
        return m
