"""Decodes a command of ``gae``: the beats that it moves, and whether it breaks a rule.

The outputs are right ``LATENCY`` clocks after ``raw``, and stay so with it and the stack.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.gae.commands import COMMANDS, MOMENTS, Error, Opcode, Phase
from hw.shell.program import COMMAND_BYTES

__all__ = ["EXPONENT_LIMIT", "FACTOR_WIDTH", "MAX_COUNT", "MEAN_WIDTH", "SHIFT_LIMIT", "Decode"]

#: Slots of one command.
MAX_COUNT = (1 << 16) - 1

#: Of PUSH: bits of a mean and of a factor, largest shift; magnitude of an exponent.
MEAN_WIDTH = 27
FACTOR_WIDTH = 26
SHIFT_LIMIT = 53
EXPONENT_LIMIT = 150


class Decode(wiring.Component):
    """What PUSH refuses within the slots themselves is found as they pass (``Intake``).

    Parameters
    ----------
    config : GaeKernelConfig

    Members
    -------
    raw : In(512)
        The command as in memory.
    phase : In(Phase), fill : In
        Of the stack.
    open : In(rows)
        Whether the newest slot of a row is a STEP.
    operands_bytes, results_bytes : In(32)
    source_beats, destination_beats : Out(24)
    error, detail : Out(32)
        Why the command is refused; of several reasons the first of the list below.
    """

    LATENCY = 2

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "raw": In(8 * COMMAND_BYTES),
                "phase": In(Phase),
                "fill": In(range(config.gae.depth + 2)),
                "open": In(config.gae.rows),
                "operands_bytes": In(32),
                "results_bytes": In(32),
                "source_beats": Out(24),
                "destination_beats": Out(24),
                "error": Out(32),
                "detail": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        gae, beats = self.config.gae, self.config.slot_beats
        beat_bytes = self.config.engine.beat_bytes
        command = {opcode: data.View(layout.shape, self.raw) for opcode, layout in COMMANDS.items()}
        head = command[Opcode.PULL]
        is_ = {opcode: Signal(name=f"is_{opcode.name.lower()}") for opcode in COMMANDS}
        m.d.comb += [signal.eq(head.opcode == opcode.value) for opcode, signal in is_.items()]
        pushes = is_[Opcode.PUSH] | is_[Opcode.PUSH_CODES]
        reads, counted = Signal(), Signal()
        m.d.comb += [
            reads.eq(pushes | is_[Opcode.STATISTICS]),
            counted.eq(reads | is_[Opcode.PULL]),
        ]

        count = head.count[: MAX_COUNT.bit_length()]
        for direction, wanted, planes in (
            ("source", is_[Opcode.PUSH] | is_[Opcode.STATISTICS], "numbers"),
            ("source", is_[Opcode.PUSH_CODES], "codes"),
            ("destination", is_[Opcode.PULL], "results"),
        ):
            with m.If(wanted):
                m.d.sync += getattr(self, f"{direction}_beats").eq(count * sum(beats[planes]))
        with m.If(is_[Opcode.STATISTICS]):
            m.d.sync += self.destination_beats.eq(2 * MOMENTS.size // beat_bytes)

        unfinished, open_row = Signal(), Signal(range(max(2, gae.rows)))
        m.d.sync += unfinished.eq(self.open.any())
        for row in reversed(range(gae.rows)):
            with m.If(self.open[row]):
                m.d.sync += open_row.eq(row)
        wrong = Signal()  # one of the numbers of the command
        m.d.sync += wrong.eq(
            is_[Opcode.PUSH] & _push_wrong(command[Opcode.PUSH])
            | is_[Opcode.STATISTICS] & _statistics_wrong(command[Opcode.STATISTICS])
            | is_[Opcode.ESTIMATE] & self._estimate_wrong(command[Opcode.ESTIMATE])
        )
        over = Signal()
        one = 1 << gae.coefficient.fraction
        estimate = command[Opcode.ESTIMATE]
        m.d.sync += over.eq(
            (estimate.gamma > one) | (estimate.decay > one) | (estimate.decay_power > one)
        )

        def leaves(offset, transfer, limit):
            """Whether beats leave a buffer of ``limit`` bytes, or begin off a multiple of 64."""
            return (offset[:6] != 0) | (offset + transfer * beat_bytes > limit)

        is_estimate, is_pull = is_[Opcode.ESTIMATE], is_[Opcode.PULL]
        results = self.phase == Phase.RESULTS
        writes = is_pull | is_[Opcode.STATISTICS]
        rules = [
            (~Cat(*is_.values()).any(), Error.OPCODE),
            (counted & ((head.count == 0) | (head.count > MAX_COUNT)), Error.COUNT),
            ((pushes | is_estimate) & results | is_pull & ~results, Error.PHASE),
            (is_pull & (head.count > self.fill) | is_estimate & (self.fill == 0), Error.COUNT),
            (pushes & (head.count + self.fill > gae.depth + 1), Error.FULL),
            (is_estimate & over, Error.COEFFICIENT),
            (wrong, Error.FACTOR),
            (is_estimate & unfinished, Error.UNFINISHED),
            (reads & leaves(head.source, self.source_beats, self.operands_bytes), Error.OPERANDS),
            (
                writes & leaves(head.destination, self.destination_beats, self.results_bytes),
                Error.RESULTS,
            ),
        ]
        for condition, code in reversed(rules):
            with m.If(condition):
                m.d.comb += self.error.eq(code)
        m.d.comb += self.detail.eq(Mux(self.error == Error.UNFINISHED, open_row, 0))
        return m

    def _estimate_wrong(self, command):
        """Scales and means outside of their formats; those of 32-bit codes are not read."""
        gae = self.config.gae
        if gae.code_width == 32:
            return C(0)
        wrong = C(0)
        for name in ("reward_scale", "value_scale"):
            wrong |= getattr(command, name) >> gae.scale.width != 0
        for name in ("reward_mean", "value_mean", "result_mean"):
            if gae.word.width < 32:
                wrong |= _outside(getattr(command, name), gae.word.width)
        return wrong


def _outside(number, width):
    """Whether a signed number of 32 bits needs more than ``width``."""
    sign = number[width - 1 :]
    return sign.any() & ~sign.all()


def _exponent_wrong(exponent):
    return (exponent.as_signed() > EXPONENT_LIMIT) | (exponent.as_signed() < -EXPONENT_LIMIT)


def _push_wrong(command):
    wrong = C(0)
    for name in ("reward", "value"):
        exponent, mean, factor, shift = (
            getattr(command, f"{name}_{field}") for field in ("exponent", "mean", "factor", "shift")
        )
        wrong |= _exponent_wrong(exponent) | _outside(mean, MEAN_WIDTH)
        wrong |= (factor >> FACTOR_WIDTH != 0) | (shift == 0) | (shift > SHIFT_LIMIT)
    return wrong


def _statistics_wrong(command):
    return _exponent_wrong(command.reward_exponent) | _exponent_wrong(command.value_exponent)
