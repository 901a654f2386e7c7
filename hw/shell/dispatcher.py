"""The dispatcher: what every core does with a command before and after it is executed.

A command is taken, decoded, and refused or started. The dispatcher requests the operands at
``source`` when the command starts, and announces results and requests other operands when the core
says so. If the core reports by ``fault`` that memory failed while the command ran, the outcome is
AXI, whatever else the core found, because the memory error may have caused it.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.shell.decoder import Decoder
from hw.shell.errors import ShellError
from hw.shell.ports import read_beats, read_port, write_port
from hw.shell.program import COMMAND_BYTES, OUTCOME
from hw.stream.ready_register import ReadyRegister

__all__ = ["Dispatcher"]


class Dispatcher(wiring.Component):
    """Takes one command at a time from ``command``, and answers each with one item of ``outcome``.

    ``start`` comes ``START`` clocks after the command was taken, ``outcome`` is valid one clock
    after ``finish``. A command that breaks a rule has no ``start``: its outcome is valid ``START``
    + 1 clocks after the command was taken. If ``fault`` was high in a clock of the command, the
    outcome's error is AXI instead of ``error``. The dispatcher itself reads no error of memory,
    neither of the beats that it passes on nor of its write.

    A footprint is the part of a buffer that a command reads or writes (``Footprint``). It is moved
    if the dispatcher requests the whole part from memory, in one request; other parts are requested
    by the core.

    Parameters
    ----------
    table, config, state, buffers :
        As of ``Decoder``.
    data_width : int
        Bits of a beat of the host's master.

    Members
    -------
    command : In(stream.Signature(512)), outcome : Out(stream of OUTCOME)
        A command as in memory; how it has ended.
    state, <size name> : In
        As of ``Decoder``.
    operands, results : In(64)
        Addresses of these buffers.
    raw, selected, stages, beats : Out
        ``raw`` has the bits of the command under way. The others are the outputs of ``Decoder``
        with these names: ``selected``, a bit for each command of the table, is 1 for this command's
        opcode; ``stages`` has the values of the named functions ``table.stages`` for this command;
        ``beats`` has the beats of each footprint. All are valid from ``start`` until the outcome is
        taken.
    start, running : Out(1)
        ``start`` is a pulse: the command breaks no rule and begins. ``running`` is high from the
        next clock to that of ``finish``.
    fetch : In
        A bit for each moved footprint of operands but ``source``: a pulse requests this footprint,
        of at least one beat, from memory. A command may fetch at most one, and only after memory
        has taken the request of ``source``.
    reply : In(1)
        A pulse requests the write of the footprint ``destination``, of at least one beat.
    replied : Out(1)
        High from the clock after memory has answered this write until that of the next ``start``.
    fault : In(1)
        The core takes a memory answer with an error in this clock; read while ``running``.
    failed : Out(1)
        High if ``fault`` was high in an earlier clock of this command.
    finish, error, detail : In
        ``finish`` is a pulse: the command ends with ``error`` (0: none) and ``detail`` of the same
        clock.
    read : Out(read_port), write : Out(write_port)
        The ports by which operands are read and results written.
    words : Out(stream), reply_words : In(stream)
        The beats that were read, each with its error; the beats to write.
    """

    def __init__(self, table, config, state, buffers, data_width):
        self.decoder = Decoder(table, config, state, buffers)
        #: Clocks from the taking of a command to ``start``.
        self.START = self.decoder.LATENCY + 1
        self._others = [
            name
            for name, (buffer, _) in table.footprints.items()
            if buffer == "operands" and name != "source" and table.movers(name)
        ]
        outer = self.decoder.signature.members
        self._passed_in = [n for n, m in outer.items() if m.flow == In and n != "raw"]
        self._passed_out = [n for n in ("selected", "stages", "beats") if n in outer]
        super().__init__(
            {
                "command": In(stream.Signature(unsigned(8 * COMMAND_BYTES))),
                "outcome": Out(stream.Signature(OUTCOME)),
                **{name: outer[name] for name in (*self._passed_in, *self._passed_out)},
                "operands": In(64),
                "results": In(64),
                "raw": Out(8 * COMMAND_BYTES),
                "start": Out(1),
                "running": Out(1),
                "fetch": In(data.StructLayout(dict.fromkeys(self._others, 1))),
                "reply": In(1),
                "replied": Out(1),
                "fault": In(1),
                "failed": Out(1),
                "finish": In(1),
                "error": In(32),
                "detail": In(32),
                "read": Out(read_port(data_width)),
                "write": Out(write_port(data_width)),
                "words": Out(stream.Signature(read_beats(data_width))),
                "reply_words": In(stream.Signature(unsigned(data_width))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = self.decoder
        raw = Signal(8 * COMMAND_BYTES, reset_less=True)
        m.d.comb += [
            self.raw.eq(raw),
            decoder.raw.eq(raw),
            *(getattr(decoder, name).eq(getattr(self, name)) for name in self._passed_in),
            *(getattr(self, name).eq(getattr(decoder, name)) for name in self._passed_out),
        ]

        self._operands(m)
        self._results(m)

        timer = Signal(range(decoder.LATENCY + 1))
        outcome = Signal(OUTCOME)
        m.d.comb += [
            self.outcome.p.error.eq(Mux(self.failed, ShellError.AXI, outcome.error)),
            self.outcome.p.detail.eq(outcome.detail),
        ]
        with m.FSM() as fsm:
            m.d.comb += self.running.eq(fsm.ongoing("RUN"))
            with m.State("IDLE"):
                m.d.comb += self.command.ready.eq(1)
                m.d.sync += [
                    raw.eq(self.command.payload),
                    timer.eq(decoder.LATENCY),
                    self.failed.eq(0),
                ]
                with m.If(self.command.valid):
                    m.next = "DECODE"
            with m.State("DECODE"):
                m.d.sync += [
                    timer.eq(timer - 1),
                    outcome.error.eq(decoder.error),
                    outcome.detail.eq(decoder.detail),
                ]
                with m.If(timer == 0):
                    m.next = "OUTCOME"
                    with m.If(~decoder.refused):
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
                    m.next = "IDLE"
        return m

    def _moved(self, name):
        """Whether the command under way has the footprint moved."""
        return Cat(
            getattr(self.selected, o.name.lower()) for o in self.decoder.table.movers(name)
        ).any()

    def _operands(self, m):
        """Requests ``source`` when the command starts and other operands when the core wants them;
        passes their beats."""
        table, read, asking = self.decoder.table, self.read, Signal()
        offset, beats = Signal(32), Signal(len(read.request.p.beats))
        if "source" in table.footprints:
            m.d.comb += [offset.eq(table.field("source", self.raw)), beats.eq(self.beats.source)]
            with m.If(self.start):
                m.d.sync += asking.eq(self._moved("source") & (self.beats.source != 0))
        for name in self._others:
            wanted = Signal(name=f"{name}_wanted")
            with m.If(wanted):
                m.d.comb += [
                    offset.eq(table.field(name, self.raw)),
                    beats.eq(getattr(self.beats, name)),
                ]
            with m.If(getattr(self.fetch, name)):
                m.d.sync += [wanted.eq(1), asking.eq(1)]
            with m.If(self.start):
                m.d.sync += wanted.eq(0)
        with m.If(asking & read.request.ready):
            m.d.sync += asking.eq(0)
        m.d.comb += [
            read.request.p.address.eq(self.operands + offset),
            read.request.p.beats.eq(beats),
            read.request.valid.eq(asking),
            self.words.payload.eq(read.data.payload),
            self.words.valid.eq(read.data.valid),
            read.data.ready.eq(self.words.ready),
        ]

    def _results(self, m):
        table, write, announcing = self.decoder.table, self.write, Signal()
        if "destination" in table.footprints:
            m.d.comb += write.request.p.beats.eq(self.beats.destination)
        with m.If(self.reply):
            m.d.sync += announcing.eq(1)
        with m.If(announcing & write.request.ready):
            m.d.sync += announcing.eq(0)
        with m.If(write.done.valid):
            m.d.sync += self.replied.eq(1)
        with m.If(self.start):
            m.d.sync += self.replied.eq(0)
        m.d.comb += [
            write.request.p.address.eq(self.results + table.field("destination", self.raw)),
            write.request.valid.eq(announcing),
            write.done.ready.eq(1),
        ]
        # The engine's ready would go on through the core's units to those that it reads from.
        m.submodules.reply = reply = ReadyRegister(self.reply_words.payload.shape())
        connect(m, flipped(self.reply_words), reply.i)
        connect(m, reply.o, flipped(write.data))
