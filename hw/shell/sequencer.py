"""The sequencer: fetches a launch's program, hands its commands to the core, writes the status.

Commands are fetched sixteen at a time, so that the memory's latency is paid once for a short
program. The first error ends the launch; the status block says which command and why.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.shell.errors import ShellError
from hw.shell.ports import read_port, write_port
from hw.shell.program import COMMAND_BYTES, OUTCOME, misaligned
from hw.shell.status_block import MAGIC, STATUS, write_status
from hw.stream.queue import Queue

__all__ = ["CHUNK", "Sequencer"]

#: Commands of one fetch.
CHUNK = 16

#: A command as fetched, and whether a beat of it could not be read.
_FETCHED = data.StructLayout({"command": 8 * COMMAND_BYTES, "failed": 1})


class Sequencer(wiring.Component):
    """Runs command 0, 1, ... of ``program`` until one fails, then writes STATUS and ``status``.

    Nothing is executed if ``command_count`` commands take more than ``program_bytes`` (PROGRAM),
    or if a buffer does not begin on a multiple of 64 (POINTER, which comes first if both hold; the
    detail is the first such argument's id). A command that could not be read is not executed (AXI).
    If the status buffer is too small or not on a multiple of 64, the launch ends at once: nothing
    is executed, and nothing is written.

    Parameters
    ----------
    data_width : int
        Bits of a beat, at most 512.
    status_bytes : int
        Size of the design's own status block, a multiple of 64.
    config_hash : int
        The hash of the kernel's config, which STATUS has.
    pointers : sequence of int
        Ids of the arguments that are pointers.

    Members
    -------
    start, done : In(1), Out(1)
        Pulses of one clock: a launch begins; it has ended.
    program, status_address : In(64), command_count, program_bytes, status_room : In(32)
        Arguments of the launch: byte addresses of program and status buffer, the number of
        commands, and the bytes of the program buffer and of the status buffer.
    misaligned : In
        A bit for each of ``pointers``: 1 if its address is not a multiple of 64.
    read, write : Out(read_port), Out(write_port)
        The host master's ports: program in, status out. They stand still while ``running``, so
        that the core may use the master.
    running : Out(1)
        High while the core has a command, from its offer on ``command`` to its outcome.
    command : Out(stream.Signature(512)), outcome : In(stream of OUTCOME)
        A command for the core; then one item that says how it has ended.
    status : In(8 * status_bytes)
        The design's block, which must be steady while no command runs.
    """

    def __init__(self, *, data_width, status_bytes, config_hash, pointers):
        self.data_width, self.status_bytes = data_width, status_bytes
        self.config_hash, self.pointers = config_hash, tuple(pointers)
        super().__init__(
            {
                "start": In(1),
                "done": Out(1),
                "program": In(64),
                "status_address": In(64),
                "command_count": In(32),
                "program_bytes": In(32),
                "status_room": In(32),
                "misaligned": In(len(self.pointers)),
                "read": Out(read_port(data_width)),
                "write": Out(write_port(data_width)),
                "running": Out(1),
                "command": Out(stream.Signature(unsigned(8 * COMMAND_BYTES))),
                "outcome": In(stream.Signature(OUTCOME)),
                "status": In(8 * status_bytes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(_FETCHED, CHUNK)
        self._collect(m, queue)
        header = Signal(STATUS.shape)
        left, address, cycles = Signal(32), Signal(64), Signal(64)
        m.d.sync += cycles.eq(cycles + 1)
        with m.FSM() as fsm:
            self._begin(m, header, left, address, cycles)
            self._fetch(m, left, address, queue)
            self._run(m, header, queue)
            write_status(m, self, header, cycles)

        # A command leaves the queue towards the core only in RUN, once; dropped in DRAIN.
        taken = Signal()
        m.d.comb += [
            self.command.payload.eq(queue.o.p.command),
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

    def _collect(self, m, queue):
        """Beats of a fetch, put together to commands."""
        beats = 8 * COMMAND_BYTES // self.data_width  # of a command
        data_, part = self.read.data, Signal(range(beats))
        words, failed = Signal(8 * COMMAND_BYTES - self.data_width), Signal()
        last, whole = part == beats - 1, Cat(words, data_.p.data)
        m.d.comb += [
            queue.i.p.command.eq(whole),
            queue.i.p.failed.eq(failed | data_.p.error),
            queue.i.valid.eq(data_.valid & last & ~self.running),
            data_.ready.eq(~self.running & (~last | queue.i.ready)),
        ]
        with m.If(data_.valid & data_.ready):
            m.d.sync += [
                part.eq(Mux(last, 0, part + 1)),
                failed.eq(Mux(last, 0, failed | data_.p.error)),
            ]
            if beats > 1:
                m.d.sync += words.eq(whole[self.data_width :])

    def _begin(self, m, header, left, address, cycles):
        """A launch begins, or is refused as a whole."""
        size = STATUS.size + self.status_bytes
        silent, excess = Signal(), Signal()
        m.d.comb += [
            header.magic.eq(MAGIC),
            header.config_hash.eq(self.config_hash),
            silent.eq(misaligned(self.status_address) | (self.status_room < size)),
            excess.eq((self.command_count << 6) > self.program_bytes),
        ]
        with m.State("IDLE"):
            m.d.sync += [
                left.eq(self.command_count),
                address.eq(self.program),
                header.executed.eq(0),
                header.error.eq(ShellError.NONE),
                header.error_command.eq(0),
                header.error_detail.eq(0),
                cycles.eq(0),
            ]
            with m.If(self.start):
                m.next = "FETCH"
                with m.If(excess):
                    m.d.sync += header.error.eq(ShellError.PROGRAM)
                    m.next = "STATUS"
                with m.If(self.misaligned.any()):
                    m.d.sync += header.error.eq(ShellError.POINTER)
                    for bit, number in reversed(list(enumerate(self.pointers))):
                        with m.If(self.misaligned[bit]):
                            m.d.sync += header.error_detail.eq(number)
                    m.next = "STATUS"
                with m.If(silent):
                    m.next = "SILENT"
        with m.State("SILENT"):
            m.d.comb += self.done.eq(1)
            m.next = "IDLE"

    def _fetch(self, m, left, address, queue):
        read, beats = self.read, 8 * COMMAND_BYTES // self.data_width
        chunk = Signal(range(CHUNK + 1))
        arrived = Signal.like(chunk)
        m.d.comb += [
            chunk.eq(Mux(left > CHUNK, CHUNK, left)),
            read.request.p.address.eq(address),
            read.request.p.beats.eq(chunk * beats),
        ]
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

    def _run(self, m, header, queue):
        failed = (header.error == ShellError.NONE) & queue.o.valid & queue.o.p.failed
        with m.State("NEXT"):
            with m.If(failed):
                m.d.sync += [
                    header.error.eq(ShellError.AXI),
                    header.error_command.eq(header.executed),
                ]
                m.next = "DRAIN"
            with m.Elif(header.error != ShellError.NONE):
                m.next = "DRAIN"
            with m.Elif(~queue.o.valid):
                m.next = "FETCH"
            with m.Else():
                m.d.sync += self.running.eq(1)
                m.next = "RUN"
        with m.State("RUN"):
            # ``running`` is 1 here and nowhere else: a register, since all ports wait for it.
            # The command at the head of the queue is the core's; no other is fetched meanwhile.
            m.d.comb += self.outcome.ready.eq(1)
            with m.If(self.outcome.valid):
                with m.If(self.outcome.p.error != ShellError.NONE):
                    m.d.sync += [
                        header.error.eq(self.outcome.p.error),
                        header.error_command.eq(header.executed),
                        header.error_detail.eq(self.outcome.p.detail),
                    ]
                with m.Else():
                    m.d.sync += header.executed.eq(header.executed + 1)
                m.d.sync += self.running.eq(0)
                m.next = "NEXT"
        with m.State("DRAIN"):
            # Commands behind the one that failed are dropped.
            with m.If(~queue.o.valid):
                m.next = "STATUS"
