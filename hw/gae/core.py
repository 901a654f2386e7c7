"""The core of ``gae``: executes the commands of ``hw.gae.commands`` on intake, stack and rows.

One command at a time. What lies in operands passes the intake to the stack, a beat a clock; an
ESTIMATE turns the stack over in place, a slot a clock; results leave a beat a clock.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from hw.gae.commands import COMMANDS, GAE_STATUS, Error, Kind, Opcode, Phase
from hw.gae.decode import Decode
from hw.gae.estimate import estimate
from hw.gae.estimator import Estimator
from hw.gae.intake import Intake
from hw.gae.output import Output
from hw.gae.pe import settings
from hw.shell.ports import core_members
from hw.shell.program import COMMAND_BYTES

__all__ = ["GaeCore"]


class GaeCore(wiring.Component):
    """What ``hw.shell.kernel.Kernel`` wraps (``docs/adding_a_design.md``).

    A PUSH that fails leaves the stack as it was: its slots are dropped again.

    Parameters
    ----------
    config : GaeKernelConfig
    """

    POINTERS = ()
    STATUS = GAE_STATUS
    estimate = staticmethod(estimate)

    def __init__(self, config):
        self.config = config
        super().__init__(core_members(config.engine.data_width, GAE_STATUS, []))

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.decode = decode = Decode(config)
        m.submodules.intake = intake = Intake(config)
        m.submodules.estimator = estimator = Estimator(config.gae)
        m.submodules.output = output = Output(config)

        raw = Signal(8 * COMMAND_BYTES, reset_less=True)
        command = {opcode: data.View(layout.shape, raw) for opcode, layout in COMMANDS.items()}
        head, numbers = command[Opcode.PULL], command[Opcode.ESTIMATE]
        opcode, phase = Signal(Opcode), Signal(Phase)
        open_rows = Signal(config.gae.rows)  # whose newest slot is a STEP
        read, write = self.host_read, self.host_write
        m.d.comb += [
            opcode.eq(head.opcode),
            decode.raw.eq(raw),
            decode.phase.eq(phase),
            decode.fill.eq(estimator.fill),
            decode.open.eq(open_rows),
            decode.operands_bytes.eq(self.operands_bytes),
            decode.results_bytes.eq(self.results_bytes),
            intake.command.eq(raw),
            intake.opcode.eq(opcode),
            intake.count.eq(head.count),
            intake.open.eq(open_rows),
            *(
                getattr(estimator, name).eq(_as(shape, getattr(numbers, name)))
                for name, shape in settings(config.gae).items()
            ),
            estimator.pull_count.eq(head.count),
            read.request.p.address.eq(self.operands + head.source),
            read.request.p.beats.eq(decode.source_beats),
            intake.i.payload.eq(read.data.payload),
            intake.i.valid.eq(read.data.valid),
            read.data.ready.eq(intake.i.ready),
            write.request.p.address.eq(self.results + head.destination),
            write.request.p.beats.eq(decode.destination_beats),
            output.beats.payload.eq(decode.destination_beats),
            output.moments.eq(intake.moments),
            output.pulling.eq(opcode == Opcode.PULL),
        ]
        connect(m, intake.o, estimator.push)
        connect(m, estimator.o, output.results)
        connect(m, output.o, flipped(write.data))

        # The stack's last slot holds bootstraps alone.
        full, pushed = Signal(), intake.o
        last = estimator.fill == config.gae.depth
        steps = Cat(
            (cell.kind == Kind.STEP) | (cell.kind == Kind.TERMINAL) for cell in pushed.payload
        )
        with m.If(pushed.valid & pushed.ready & last & steps.any()):
            m.d.sync += full.eq(1)

        timer = Signal(range(Decode.LATENCY + 1))
        fill = Signal.like(estimator.fill)  # before the command
        clock, push_cycles, pull_cycles = Signal(32), Signal(32), Signal(32)
        clipped = Signal(32)
        sent = Signal()  # all that the command writes
        error, detail = Signal(32), Signal(32)
        m.d.sync += clock.eq(clock + 1)
        m.d.comb += [
            estimator.rewind_to.eq(fill),
            self.outcome.p.error.eq(error),
            self.outcome.p.detail.eq(detail),
        ]
        with m.FSM() as fsm:
            m.d.comb += output.beats.valid.eq(fsm.ongoing("WRITTEN") & ~sent)
            with m.State("IDLE"):
                m.d.comb += self.command.ready.eq(1)
                m.d.sync += [
                    raw.eq(self.command.payload),
                    timer.eq(Decode.LATENCY),
                    clock.eq(0),
                    full.eq(0),
                    sent.eq(0),
                    fill.eq(estimator.fill),
                ]
                with m.If(self.command.valid):
                    m.next = "DECODE"
            with m.State("DECODE"):
                m.d.sync += [
                    timer.eq(timer - 1),
                    error.eq(decode.error),
                    detail.eq(decode.detail),
                ]
                with m.If(timer == 0):
                    with m.If(decode.error != Error.NONE):
                        m.next = "OUTCOME"
                    with m.Else():
                        with m.Switch(opcode):
                            with m.Case(Opcode.CLEAR):
                                m.d.comb += estimator.clear.eq(1)
                                m.d.sync += [
                                    phase.eq(Phase.CODES),
                                    open_rows.eq(0),
                                    clipped.eq(0),
                                ]
                                m.next = "OUTCOME"
                            with m.Case(Opcode.ESTIMATE):
                                m.d.comb += estimator.start.eq(1)
                                m.d.sync += phase.eq(Phase.RESULTS)
                                m.next = "ESTIMATE"
                            with m.Case(Opcode.PULL):
                                m.d.comb += estimator.pull.eq(1)
                                m.next = "WRITE"
                            with m.Default():
                                m.next = "READ"
            with m.State("READ"):
                m.d.comb += [
                    read.request.valid.eq(1),
                    intake.start.eq(read.request.ready),
                ]
                with m.If(read.request.ready):
                    m.next = "TAKE"
            with m.State("TAKE"):
                with m.If(intake.done):
                    m.next = "TAKEN"
            with m.State("TAKEN"):
                failed = (intake.error != Error.NONE) | full
                m.d.sync += [
                    error.eq(Mux(intake.error != Error.NONE, intake.error, Error.FULL)),
                    detail.eq(Mux(intake.error != Error.NONE, intake.detail, 0)),
                ]
                m.next = "OUTCOME"
                with m.If(failed):
                    m.d.comb += estimator.rewind.eq(1)
                with m.Else():
                    m.d.sync += error.eq(Error.NONE)
                    with m.If(opcode == Opcode.STATISTICS):
                        m.next = "WRITE"
                    with m.Else():
                        m.d.sync += [
                            open_rows.eq(intake.open_next),
                            clipped.eq(clipped + intake.clipped),
                            push_cycles.eq(clock),
                        ]
            with m.State("ESTIMATE"):
                with m.If(estimator.done):
                    m.next = "OUTCOME"
            with m.State("WRITE"):
                m.d.comb += write.request.valid.eq(1)
                with m.If(write.request.ready):
                    m.next = "WRITTEN"
            with m.State("WRITTEN"):
                m.d.comb += write.done.ready.eq(1)
                with m.If(output.beats.ready):
                    m.d.sync += sent.eq(1)
                m.d.sync += error.eq(Mux(write.done.payload, Error.AXI, Error.NONE))
                with m.If(output.pulling):
                    m.d.sync += pull_cycles.eq(clock)
                with m.If(write.done.valid):
                    m.next = "OUTCOME"
            with m.State("OUTCOME"):
                m.d.comb += self.outcome.valid.eq(1)
                with m.If(self.outcome.ready):
                    m.next = "IDLE"

        status = data.View(GAE_STATUS.shape, self.status)
        m.d.comb += [
            status.fill.eq(estimator.fill),
            status.phase.eq(phase),
            status.clipped.eq(clipped),
            status.saturated.eq(estimator.saturated),
            status.overflows.eq(estimator.overflows),
            status.estimate_cycles.eq(estimator.cycles),
            status.busy.eq(estimator.busy),
            status.push_cycles.eq(push_cycles),
            status.pull_cycles.eq(pull_cycles),
        ]
        return m


def _as(shape, number):
    """A field of 32 bits with the sign of ``shape``, which may be wider."""
    return number.as_signed() if Shape.cast(shape).signed else number
