"""The sequencer: fetches a launch's program, hands its commands to the core, writes the status.

Commands are fetched sixteen at a time, so that the memory's latency is paid once for a short
program. The first error ends the launch; the status block says which command and why.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.shell.ports import read_port, write_port
from hw.shell.program import COMMAND_BYTES, MAGIC, OUTCOME, STATUS, ShellError
from hw.stream.queue import Queue

__all__ = ["Sequencer"]

_CHUNK = 16  # commands of one fetch


class Sequencer(wiring.Component):
    """Runs command 0, 1, ... of ``program`` until one fails, then writes STATUS and ``status``.

    Parameters
    ----------
    data_width : int
        Bits of a beat, at most 512.
    status_bytes : int
        Size of the design's own status block, a multiple of 64.
    config_hash : int

    Members
    -------
    start, done : In(1), Out(1)
        One clock each: a launch begins and ends.
    program, status_address : In(64), command_count : In(32)
        Arguments of the launch.
    read, write : Out(read_port), Out(write_port)
        Not used while ``running``, when they are the core's.
    running : Out(1)
        The core executes a command.
    command : Out(stream.Signature(512)), outcome : In(stream of OUTCOME)
    axi_error : In(1)
        A read has failed since ``start``.
    status : In(8 * status_bytes)
        The design's block.
    """

    def __init__(self, *, data_width, status_bytes, config_hash):
        self.data_width, self.status_bytes = data_width, status_bytes
        self.config_hash = config_hash
        super().__init__(
            {
                "start": In(1),
                "done": Out(1),
                "program": In(64),
                "status_address": In(64),
                "command_count": In(32),
                "read": Out(read_port(data_width)),
                "write": Out(write_port(data_width)),
                "running": Out(1),
                "command": Out(stream.Signature(unsigned(8 * COMMAND_BYTES))),
                "outcome": In(stream.Signature(OUTCOME)),
                "axi_error": In(1),
                "status": In(8 * status_bytes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beats = 8 * COMMAND_BYTES // self.data_width  # of a command
        m.submodules.queue = queue = Queue(unsigned(8 * COMMAND_BYTES), _CHUNK)
        read, write = self.read, self.write

        # Beats of a fetch, put together to commands.
        part = Signal(range(beats))
        words = Signal(8 * COMMAND_BYTES - self.data_width)
        m.d.comb += [
            queue.i.payload.eq(Cat(words, read.data.payload)),
            queue.i.valid.eq(read.data.valid & (part == beats - 1) & ~self.running),
            read.data.ready.eq(~self.running & ((part != beats - 1) | queue.i.ready)),
        ]
        with m.If(read.data.valid & read.data.ready):
            m.d.sync += part.eq(Mux(part == beats - 1, 0, part + 1))
            if beats > 1:
                m.d.sync += words.eq(Cat(words, read.data.payload)[self.data_width :])

        cycles = Signal(64)
        header = Signal(STATUS.shape)
        executed, left, chunk = Signal(32), Signal(32), Signal(range(_CHUNK + 1))
        arrived = Signal.like(chunk)
        address = Signal(64)
        m.d.comb += [
            chunk.eq(Mux(left > _CHUNK, _CHUNK, left)),
            read.request.p.address.eq(address),
            read.request.p.beats.eq(chunk * beats),
            header.magic.eq(MAGIC),
            header.config_hash.eq(self.config_hash),
            header.executed.eq(executed),
        ]
        m.d.sync += cycles.eq(cycles + 1)
        m.d.comb += self.command.payload.eq(queue.o.payload)
        block = Signal(8 * (STATUS.size + self.status_bytes))
        sent = Signal(range(len(block) // self.data_width + 1))
        m.d.comb += [
            write.request.p.address.eq(self.status_address),
            write.request.p.beats.eq(len(block) // self.data_width),
            write.data.payload.eq(block[: self.data_width]),
        ]

        with m.FSM() as fsm:
            m.d.comb += self.running.eq(fsm.ongoing("RUN"))
            with m.State("IDLE"):
                m.d.sync += [
                    left.eq(self.command_count),
                    address.eq(self.program),
                    executed.eq(0),
                    header.error.eq(0),
                    header.error_command.eq(0),
                    header.error_detail.eq(0),
                    cycles.eq(0),
                ]
                with m.If(self.start):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.d.sync += arrived.eq(chunk)
                m.d.comb += read.request.valid.eq(left != 0)
                with m.If(left == 0):
                    m.next = "STATUS"
                with m.Elif(read.request.ready):
                    m.d.sync += [left.eq(left - chunk), address.eq(address + chunk * COMMAND_BYTES)]
                    m.next = "LOAD"
            with m.State("LOAD"):
                with m.If(queue.i.valid & queue.i.ready):
                    m.d.sync += arrived.eq(arrived - 1)
                with m.If(arrived == 0):
                    m.next = "NEXT"
            with m.State("NEXT"):
                with m.If(self.axi_error & (header.error == 0)):
                    m.d.sync += [header.error.eq(ShellError.AXI), header.error_command.eq(executed)]
                    m.next = "DRAIN"
                with m.Elif(header.error != 0):
                    m.next = "DRAIN"
                with m.Elif(~queue.o.valid):
                    m.next = "FETCH"
                with m.Else():
                    m.next = "RUN"
            with m.State("RUN"):
                # The command at the head of the queue is the core's; no other is fetched meanwhile.
                m.d.comb += self.outcome.ready.eq(1)
                with m.If(self.outcome.valid):
                    with m.If(self.outcome.p.error | self.axi_error):
                        m.d.sync += [
                            header.error.eq(
                                Mux(self.outcome.p.error != 0, self.outcome.p.error, ShellError.AXI)
                            ),
                            header.error_command.eq(executed),
                            header.error_detail.eq(self.outcome.p.detail),
                        ]
                    with m.Else():
                        m.d.sync += executed.eq(executed + 1)
                    m.next = "NEXT"
            with m.State("DRAIN"):
                # Commands behind the one that failed are dropped.
                with m.If(~queue.o.valid):
                    m.next = "STATUS"
            with m.State("STATUS"):
                m.d.sync += block.eq(Cat(header, self.status))
                m.d.comb += write.request.valid.eq(1)
                m.d.sync += sent.eq(0)
                with m.If(write.request.ready):
                    m.d.sync += data.View(STATUS.shape, block[: 8 * STATUS.size]).cycles.eq(cycles)
                    m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += write.data.valid.eq(1)
                with m.If(write.data.ready):
                    m.d.sync += [block.eq(block >> self.data_width), sent.eq(sent + 1)]
                    with m.If(sent == len(block) // self.data_width - 1):
                        m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += write.done.ready.eq(1)
                with m.If(write.done.valid):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"

        # A command leaves the queue towards the core only in RUN, once; dropped in DRAIN.
        taken = Signal()
        m.d.comb += [
            self.command.valid.eq(queue.o.valid & self.running & ~taken),
            queue.o.ready.eq(
                Mux(fsm.ongoing("DRAIN"), 1, self.running & ~taken & self.command.ready)
            ),
        ]
        with m.If(self.command.valid & self.command.ready):
            m.d.sync += taken.eq(1)
        with m.Elif(~self.running):
            m.d.sync += taken.eq(0)
        return m
