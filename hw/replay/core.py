"""The replay core: executes the commands of ``hw.replay.commands`` on manager and memory.

One command at a time; within it draw, gather and write overlap, and insert is a run of bursts.
"""
from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import ConfigBase
from hw.replay.commands import (
    COMMANDS,
    GRANULE_BYTES,
    ITEM,
    MAX_COUNT,
    MAX_GRANULES,
    MAX_TRANSFER,
    REPLAY_STATUS,
    Error,
    Opcode,
)
from hw.replay.config import ReplayConfig
from hw.replay.gather import Gather
from hw.replay.insert import Insert
from hw.replay.items import Items
from hw.replay.manager import Operation, ReplayManager
from hw.shell.axi import EngineConfig
from hw.shell.ports import read_port, write_port
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["ReplayCore", "ReplayKernelConfig"]

_LISTS = (Opcode.SET, Opcode.UPDATE, Opcode.FIND, Opcode.GET)
_BATCHES = (Opcode.SAMPLE, Opcode.FIND, Opcode.GET)


@dataclass(frozen=True, kw_only=True)
class ReplayKernelConfig(ConfigBase):
    """The whole kernel: replay manager and memory engines."""
    replay: ReplayConfig = ReplayConfig()
    engine: EngineConfig = EngineConfig()

    def __post_init__(self):
        if self.engine.data_width % (8 * GRANULE_BYTES):
            raise ValueError(f"data_width must be a multiple of {8 * GRANULE_BYTES} "
                             f"(a granule), not {self.engine.data_width!r}")


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

    def __init__(self, config):
        self.config = config
        width = config.engine.data_width
        super().__init__({
            "command": In(stream.Signature(unsigned(8 * COMMAND_BYTES))),
            "outcome": Out(stream.Signature(OUTCOME)),
            "status": Out(8 * REPLAY_STATUS.size),
            "operands": In(64), "results": In(64), "storage": In(64),
            "operands_bytes": In(32), "results_bytes": In(32),
            "host_read": Out(read_port(width)), "host_write": Out(write_port(width)),
            "storage_read": Out(read_port(width)), "storage_write": Out(write_port(width)),
        })

    def elaborate(self, platform):
        m = Module()
        config, width = self.config.replay, self.config.engine.data_width
        beat_bytes = width // 8
        m.submodules.manager = manager = ReplayManager(config)
        m.submodules.items = items = Items(config, width)
        m.submodules.insert = insert = Insert(config, width)
        m.submodules.gather = gather = Gather(config, width, self.config.engine.depth)

        # State of the memory, as the status block shows it.
        places = range(config.capacity + 1)
        capacity = Signal(places, init=config.capacity)
        granules = Signal(range(MAX_GRANULES + 1))
        stride = Signal.like(granules)  # beats of an experience
        initial = Signal(config.priority_width, init=config.one)
        restored = Signal(config.priority_width)
        maximum = Signal(config.priority_width)
        position, fill = Signal(places), Signal(places)
        saturations = Signal(32)
        m.d.comb += maximum.eq(Mux(manager.maximum > restored, manager.maximum, restored))
        with m.If(items.saturated & ~saturations.all()):
            m.d.sync += saturations.eq(saturations + 1)

        # The command under way.
        raw = Signal(8 * COMMAND_BYTES, reset_less=True)
        command = {opcode: data.View(layout.shape, raw) for opcode, layout in COMMANDS.items()}
        head = command[Opcode.SET]
        opcode = Signal(Opcode)
        m.d.comb += opcode.eq(Mux(head.opcode < 256, head.opcode, 0))

        def is_one_of(*opcodes):
            result = Signal(name="is_" + "_or_".join(o.name.lower() for o in opcodes))
            m.d.comb += result.eq(Cat(opcode == o for o in opcodes).any())
            return result

        is_insert, is_sample = is_one_of(Opcode.INSERT), is_one_of(Opcode.SAMPLE)
        is_find = is_one_of(Opcode.FIND)
        is_list, is_batch = is_one_of(*_LISTS), is_one_of(*_BATCHES)
        known = is_one_of(*COMMANDS)
        counted = Signal()
        m.d.comb += counted.eq(is_insert | is_sample | is_list)
        count = Signal(range(MAX_COUNT + 1))
        m.d.comb += count.eq(head.count)
        # Granules of experience in each record of a batch; a GET has headers alone.
        payload = Signal.like(granules)
        m.d.comb += payload.eq(Mux(opcode == Opcode.GET, 0, granules))

        # Sizes: what the command reads of operands and writes to results.
        transfer = Signal(32, reset_less=True)  # granules
        m.d.sync += transfer.eq(count * (payload + Mux(is_insert, 0, 1)))
        transfer_bytes = transfer * GRANULE_BYTES
        list_bytes = count * ITEM.size
        source_bytes = Signal(36, reset_less=True)
        destination_bytes = Signal(36, reset_less=True)
        m.d.sync += [
            source_bytes.eq(Mux(is_list, list_bytes, Mux(is_insert, transfer_bytes, 0))),
            destination_bytes.eq(Mux(is_batch, transfer_bytes, 0)),
        ]

        setup, restore = command[Opcode.SETUP], command[Opcode.RESTORE]
        priority = command[Opcode.INSERT].priority
        setup_wrong = ((setup.capacity < 2) | (setup.capacity > config.capacity)
                       | (setup.granules > MAX_GRANULES) | (setup.priority == 0)
                       | (setup.priority > config.priority_limit))
        restore_wrong = ((restore.position >= capacity) | (restore.fill > capacity)
                         | (restore.maximum > config.priority_limit))
        error = Signal(32)  # of the command as a whole
        for condition, code in reversed([
            (~known, Error.OPCODE),
            (counted & ((head.count == 0) | (head.count > MAX_COUNT)), Error.COUNT),
            (is_insert & (head.count > capacity), Error.COUNT),
            ((is_insert | is_batch) & (transfer > MAX_TRANSFER), Error.COUNT),
            ((opcode == Opcode.SETUP) & setup_wrong, Error.SETUP),
            ((opcode == Opcode.RESTORE) & restore_wrong, Error.SETUP),
            (is_insert & (priority > config.priority_limit), Error.PRIORITY),
            (is_sample & (head.count > fill), Error.FILL),
            (is_sample & (manager.total == 0), Error.EMPTY),
            ((is_list | is_insert) & ((head.source[:6] != 0)
                                      | (head.source + source_bytes > self.operands_bytes)),
             Error.OPERANDS),
            (is_batch & ((head.destination[:6] != 0)
                         | (head.destination + destination_bytes > self.results_bytes)),
             Error.RESULTS),
        ]):
            with m.If(condition):
                m.d.comb += error.eq(code)
        # In this order the last assignment, the first of the list, wins.

        # Operands go to the insert engine or to the list; results come from the gather engine.
        read, write = self.host_read, self.host_write
        m.d.comb += [
            read.request.p.address.eq(self.operands + head.source),
            read.request.p.beats.eq((source_bytes + beat_bytes - 1) // beat_bytes),
            insert.words.payload.eq(read.data.payload),
            items.words.payload.eq(read.data.payload),
            insert.words.valid.eq(read.data.valid & is_insert),
            items.words.valid.eq(read.data.valid & ~is_insert),
            read.data.ready.eq(Mux(is_insert, insert.words.ready, items.words.ready)),
            write.request.p.address.eq(self.results + head.destination),
            write.request.p.beats.eq((destination_bytes + beat_bytes - 1) // beat_bytes),
        ]
        connect(m, gather.o, flipped(write.data))
        connect(m, gather.read, flipped(self.storage_read))
        connect(m, insert.write, flipped(self.storage_write))
        m.d.comb += [
            insert.storage.eq(self.storage), insert.position.eq(position),
            insert.capacity.eq(capacity), insert.count.eq(count),
            insert.granules.eq(granules), insert.stride.eq(stride),
            items.opcode.eq(opcode), items.fill.eq(fill),
            items.alpha.eq(command[Opcode.UPDATE].alpha),
            items.epsilon.eq(command[Opcode.UPDATE].epsilon),
            items.count.payload.eq(count),
            gather.count.eq(count), gather.granules.eq(payload), gather.stride.eq(stride),
            gather.storage.eq(self.storage), gather.total.eq(manager.total),
            gather.fill.eq(fill), gather.beta.eq(command[Opcode.SAMPLE].beta),
            manager.step.eq(command[Opcode.SAMPLE].step),
            manager.seed.eq(Cat(*command[Opcode.SEED].state)),
        ]

        # Requests: one for each item, or made here.
        to_ask, to_answer = Signal.like(count), Signal.like(count)
        asked, answered = Signal(), Signal()
        inserted = Signal(config.priority_width)
        m.d.comb += [
            inserted.eq(Mux(priority != 0, priority, Mux(maximum != 0, maximum, initial))),
            asked.eq(manager.request.valid & manager.request.ready),
            answered.eq(manager.response.valid & manager.response.ready),
        ]
        with m.If(is_list):
            connect(m, items.request, manager.request)
        with m.Else():
            m.d.comb += [
                manager.request.valid.eq(to_ask != 0),
                manager.request.p.operation.eq(Mux(is_insert, Operation.SET, Operation.SAMPLE)),
                manager.request.p.index.eq(position),
                manager.request.p.value.eq(inserted),
                manager.request.p.first.eq(to_ask == count),
            ]
            with m.If(asked):
                m.d.sync += to_ask.eq(to_ask - 1)
                with m.If(is_insert):
                    m.d.sync += position.eq(Mux(position == capacity - 1, 0, position + 1))
                    with m.If(fill != capacity):
                        m.d.sync += fill.eq(fill + 1)
        m.d.comb += [
            gather.response.payload.eq(manager.response.payload),
            gather.response.valid.eq(manager.response.valid & is_batch),
            manager.response.ready.eq(~is_batch | gather.response.ready),
        ]
        # The first FIND past the total; the other bad items are the list's.
        detail, missed = Signal(32), Signal()
        with m.If(answered):
            m.d.sync += to_answer.eq(to_answer - 1)
            with m.If(is_find & manager.response.p.error & ~missed):
                m.d.sync += [missed.eq(1), detail.eq(count - to_answer)]

        # Clocks of the last batch, cut at the last draw, the last arrival, the end.
        clock, drawn, gathered, written = (Signal(32, name=f"clock_{name}")
                                           for name in ("now", "drawn", "gathered", "written"))
        m.d.sync += clock.eq(clock + 1)
        with m.If(is_sample | is_find):
            with m.If(answered):
                m.d.sync += drawn.eq(clock)
            with m.If(~gather.gathered):
                m.d.sync += gathered.eq(clock)

        failed = Signal()  # a write to results
        batch_written = Signal()
        outcome = self.outcome
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.command.ready.eq(1)
                m.d.sync += [raw.eq(self.command.payload), batch_written.eq(0), failed.eq(0),
                             missed.eq(0), detail.eq(0)]
                with m.If(self.command.valid):
                    m.next = "TRANSFER"
            with m.State("TRANSFER"):
                m.d.sync += clock.eq(0)
                m.next = "SIZES"
            with m.State("SIZES"):
                m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += [items.start.eq(1), gather.start.eq(is_batch)]
                m.d.sync += outcome.p.error.eq(error)
                with m.If(error != Error.NONE):
                    m.next = "OUTCOME"
                with m.Elif(is_list | (is_insert & (granules != 0))):
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
                m.d.sync += [to_ask.eq(Mux(is_list, 0, count)), to_answer.eq(count)]
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += write.done.ready.eq(1)
                with m.If(write.done.valid):
                    m.d.sync += [batch_written.eq(1), failed.eq(write.done.payload),
                                 written.eq(clock)]
                with m.If((to_answer == 0) & (batch_written | ~is_batch)):
                    m.next = "ERRORS"
            with m.State("STATE"):
                with m.If(manager.idle):
                    with m.Switch(opcode):
                        with m.Case(Opcode.SETUP):
                            m.d.comb += manager.clear.eq(1)
                            m.d.sync += [
                                capacity.eq(setup.capacity), granules.eq(setup.granules),
                                stride.eq((setup.granules * GRANULE_BYTES + beat_bytes - 1)
                                          // beat_bytes),
                                initial.eq(setup.priority), restored.eq(0),
                                position.eq(0), fill.eq(0), saturations.eq(0),
                            ]
                        with m.Case(Opcode.SEED):
                            m.d.comb += manager.load.eq(1)
                        with m.Case(Opcode.RESTORE):
                            m.d.sync += [position.eq(restore.position), fill.eq(restore.fill),
                                         restored.eq(restore.maximum)]
                    m.next = "SETTLE"
            with m.State("SETTLE"):
                m.next = "IDLE_AGAIN"
            with m.State("IDLE_AGAIN"):
                with m.If(manager.idle):
                    m.next = "OUTCOME"
            with m.State("ERRORS"):
                with m.If(failed | (is_insert & (granules != 0) & insert.failed)):
                    m.d.sync += outcome.p.error.eq(Error.AXI)
                with m.Elif(is_list & (items.error != Error.NONE)):
                    m.d.sync += [outcome.p.error.eq(items.error), detail.eq(items.position)]
                with m.Elif(missed):
                    m.d.sync += outcome.p.error.eq(Error.TARGET)
                m.next = "OUTCOME"
            with m.State("OUTCOME"):
                m.d.comb += [outcome.valid.eq(1), outcome.p.detail.eq(detail)]
                with m.If(outcome.ready):
                    m.next = "IDLE"

        status = data.View(REPLAY_STATUS.shape, self.status)
        m.d.comb += [
            status.total.eq(manager.total), status.maximum.eq(maximum),
            Cat(*status.state).eq(manager.state),
            status.position.eq(position), status.fill.eq(fill),
            status.saturations.eq(saturations), status.capacity.eq(capacity),
            status.granules.eq(granules),
            status.draw_cycles.eq(drawn), status.gather_cycles.eq(gathered - drawn),
            status.write_cycles.eq(written - gathered),
        ]
        return m
