"""Beats of slot records to slots for the stack, or to moments: a beat a clock.

A beat's kinds say which of its slot's numbers count; numbers pass the lanes of ``Standardize``,
codes go to ``SlotAssembler`` at once. From the last beat to ``done`` it takes
``Intake.clocks_after`` clocks.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.comparison import above
from hw.gae.commands import COMMANDS, MOST_CODE_BITS, Opcode
from hw.gae.intake.beat_counter import BeatCounter, Plane, of_beat
from hw.gae.intake.first_error import FirstError
from hw.gae.intake.slot_assembler import SlotAssembler
from hw.gae.intake.slot_rules import SlotRules, reward_counts, value_counts
from hw.gae.layouts import EXPONENT, slot_layout
from hw.gae.records import MOMENTS, Error, Kind
from hw.gae.standardize import LANE_BITS, Standardize
from hw.gae.statistics.statistics import Statistics
from hw.shell.program import COMMAND_BYTES
from hw.stream.delay import delay

__all__ = ["Intake"]

_SCALE_FIELDS = ("exponent", "mean", "factor", "shift")


class Intake(wiring.Component):
    """Executes the input side of STATISTICS, PUSH and PUSH_CODES (``hw.gae.commands``).

    All beats are taken and all slots leave even after an error; the core then rewinds the stack.
    STATISTICS, which pushes nothing, takes kinds of 0 to 3 in any order.

    Parameters
    ----------
    config : GaeKernelConfig

    Members
    -------
    start : In(1), opcode : In(Opcode), count : In(32), command : In(512)
        ``start`` is a pulse; the command's opcode, its number of slots (at least 1) and its 64
        bytes are steady until ``done``.
    i : In(stream.Signature(data_width))
        The slots' beats, one a clock.
    open : In(rows), open_next : Out(rows)
        Rows whose newest slot is a STEP: ``open`` before the command, ``open_next`` after it.
    o : Out(stream.Signature(slot_layout(config.gae)))
        Slots to push; none in a STATISTICS.
    done : Out(1)
        Pulse: every slot has left, and the members below are valid until the next start.
    error, detail : Out(32)
        The first error (by slot, then in the order KIND, UNFINISHED, NUMBER or CODE, then by row),
        and its position ``slot * rows + row``.
    clipped : Out(32)
        After a PUSH: number of codes that were clipped, or whose number was clipped. Otherwise 0.
    moments : Out(2 * 512)
        After a STATISTICS: the MOMENTS of rewards, then of values.
    """

    INTERVAL = 1

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "opcode": In(Opcode),
                "count": In(32),
                "command": In(8 * COMMAND_BYTES),
                "i": In(stream.Signature(config.engine.data_width)),
                "open": In(config.gae.rows),
                "open_next": Out(config.gae.rows),
                "o": Out(stream.Signature(slot_layout(config.gae))),
                "done": Out(1),
                "error": Out(32),
                "detail": Out(32),
                "clipped": Out(32),
                "moments": Out(2 * 8 * MOMENTS.size),
            }
        )

    @staticmethod
    def clocks_after(config):
        """``{Opcode: clocks from the command's last beat to done}``, if no slot has to wait."""
        return {
            Opcode.STATISTICS: Statistics.latency_of(config.engine.data_width // LANE_BITS) + 2,
            Opcode.PUSH: Standardize.LATENCY + SlotAssembler.LATENCY + 2,
            Opcode.PUSH_CODES: SlotAssembler.LATENCY + 2,
        }

    def elaborate(self, platform):
        m = Module()
        gae, beat_bytes = self.config.gae, self.config.engine.beat_bytes
        lanes = self.config.engine.data_width // LANE_BITS
        m.submodules.beats = self._beats = beats = BeatCounter(self.config)
        m.submodules.kinds = self._kinds = kinds = SlotRules(gae, beat_bytes)
        m.submodules.standardize = self._standardize = Standardize(gae, lanes)
        m.submodules.collect = self._collect = collect = SlotAssembler(gae, beat_bytes)
        connect(m, collect.o, flipped(self.o))

        advance, take = collect.advance, Signal()
        is_codes = self._is_codes = Signal()
        is_statistics = self._is_statistics = Signal()
        is_values = self._is_values = Signal()
        m.d.comb += [
            self.i.ready.eq(beats.active & advance),
            take.eq(self.i.valid & self.i.ready),
            is_codes.eq(self.opcode == Opcode.PUSH_CODES),
            is_statistics.eq(self.opcode == Opcode.STATISTICS),
            is_values.eq(beats.o.plane == Plane.VALUES),
            beats.start.eq(self.start),
            beats.opcode.eq(self.opcode),
            beats.count.eq(self.count),
            beats.step.eq(take),
            kinds.start.eq(self.start),
            kinds.open.eq(self.open),
            kinds.ordered.eq(~is_statistics),
            kinds.beat.eq(self.i.payload),
            kinds.row.eq(beats.o.row),
            kinds.step.eq(take & (beats.o.plane == Plane.KINDS)),
            self.open_next.eq(Cat(kind == Kind.STEP for kind in kinds.kinds)),
        ]
        number_counts = self._counts(m, lanes, "number_counts")
        code_counts = self._counts(m, 8 * beat_bytes // gae.code_width, "code_counts")
        self._scale(m, advance, number_counts)
        late_beat, late_step = self._assemble(m, advance, take, code_counts)
        self._find_errors(m, take, code_counts)
        clipped = self._count_clipped(m, advance, late_beat, late_step)
        self._sum(m, advance, take, number_counts, clipped)
        return m

    def _counts(self, m, elements, name):
        """Bit k: element k of the beat is a number that counts, by its slot's kind."""
        signal = Signal(elements, name=name)
        every = [Value.cast(kind) for kind in self._kinds.kinds]
        selected = of_beat(every, self._beats.o.row, elements)
        for k, kind in enumerate(selected):
            counts = Mux(self._is_values, value_counts(kind), reward_counts(kind))
            m.d.comb += signal[k].eq(counts)
        return signal

    def _scale(self, m, advance, counts):
        """Gives numbers to ``Standardize``, with the scale that the command sets."""
        standardize, is_statistics = self._standardize, self._is_statistics
        m.d.comb += [
            standardize.advance.eq(advance),
            Value.cast(standardize.i).eq(self.i.payload),
            standardize.counts.eq(counts),
            standardize.values.eq(self._is_values),
            standardize.squares.eq(is_statistics),
        ]
        push = data.View(COMMANDS[Opcode.PUSH].shape, self.command)
        for name in ("reward", "value"):
            scale = getattr(standardize, f"{name}s_scale")
            for field in _SCALE_FIELDS:
                number = getattr(push, f"{name}_{field}")
                m.d.comb += getattr(scale, field).eq(number[: scale.shape()[field].width])
        # Bit k of the largest code: every width with a bit k beside the sign has it.
        bits, width = push.code_bits[: MOST_CODE_BITS.bit_length()], self.config.gae.code_width
        m.d.sync += standardize.limit.eq(
            Cat((bits == 0) | above(bits, k + 1) for k in range(width - 1))
        )
        command = data.View(COMMANDS[Opcode.STATISTICS].shape, self.command)
        with m.If(is_statistics):
            m.d.comb += [
                standardize.rewards_scale.exponent.eq(command.reward_exponent[: EXPONENT.width]),
                standardize.values_scale.exponent.eq(command.value_exponent[: EXPONENT.width]),
            ]

    def _assemble(self, m, advance, take, code_counts):
        """Gives codes to ``SlotAssembler``: those of operands at once, those of numbers when they
        are computed. Returns the beat that leaves ``Standardize``, and whether there is one."""
        beats, collect, is_codes = self._beats, self._collect, self._is_codes
        beat, beat_bytes = self.i.payload, self.config.engine.beat_bytes
        clocks, width = Standardize.LATENCY, self.config.gae.code_width
        late_beat = delay(m, Value.cast(beats.o), clocks, name="beat", enable=advance)
        late_beat = data.View(beats.o.shape(), late_beat)
        late_step = delay(m, take & ~is_codes, clocks, name="step", enable=advance, reset=True)
        kinds = Cat(beat.word_select(k, 8)[:2] for k in range(beat_bytes))
        late_kinds = delay(m, kinds, clocks, name="kinds", enable=advance)
        m.d.comb += [
            collect.numbers.eq(~is_codes),
            collect.step.eq(Mux(is_codes, take, late_step & ~self._is_statistics)),
            Value.cast(collect.beat).eq(Mux(is_codes, Value.cast(beats.o), late_beat)),
            collect.kinds.eq(Mux(is_codes, kinds, late_kinds)),
        ]
        standardized = self._standardize.codes
        for k in range(len(code_counts)):
            number_code = Value.cast(standardized[k % len(standardized)])
            given = Mux(code_counts[k], beat.word_select(k, width), 0)
            m.d.comb += collect.codes.word_select(k, width).eq(Mux(is_codes, given, number_code))
        return late_beat, late_step

    def _find_errors(self, m, take, code_counts):
        gae, beats, kinds = self.config.gae, self._beats, self._kinds
        m.submodules.first_error = first_error = FirstError(gae.rows, self.config.engine.beat_bytes)
        width = gae.code_width
        codes = [self.i.payload.word_select(k, width) for k in range(len(code_counts))]
        lowest = Cat(code == 1 << (width - 1) for code in codes) & code_counts
        m.d.comb += [
            first_error.clear.eq(self.start),
            first_error.step.eq(take),
            first_error.new_slot.eq((beats.o.plane == Plane.KINDS) & (beats.o.row == 0)),
            first_error.base.eq(beats.base),
            first_error.row.eq(beats.o.row),
            self.error.eq(first_error.error),
            self.detail.eq(first_error.detail),
        ]
        wrong, code = first_error.wrong, first_error.code
        with m.If(beats.o.plane != Plane.KINDS):
            with m.If(self._is_codes):
                m.d.comb += [wrong.eq(lowest), code.eq(Error.CODE)]
            with m.Else():
                m.d.comb += [wrong.eq(self._standardize.invalid), code.eq(Error.NUMBER)]
        with m.Elif(kinds.bad.any()):
            m.d.comb += [wrong.eq(kinds.bad), code.eq(Error.KIND)]
        with m.Else():
            m.d.comb += [wrong.eq(kinds.unfinished), code.eq(Error.UNFINISHED)]

    def _count_clipped(self, m, advance, late_beat, late_step):
        """Counts the command's clipped numbers: rewards, values."""
        clipped = [Signal(32, name=f"{plane}_clipped") for plane in ("rewards", "values")]
        clips = sum(self._standardize.clipped, C(0))
        for plane, count in zip((Plane.REWARDS, Plane.VALUES), clipped, strict=True):
            with m.If(advance & late_step & (late_beat.plane == plane)):
                m.d.sync += count.eq(count + clips)
            with m.If(self.start):
                m.d.sync += count.eq(0)
        m.d.comb += self.clipped.eq(Mux(self._is_statistics, 0, clipped[0] + clipped[1]))
        return clipped

    def _sum(self, m, advance, take, counts, clipped):
        """Sums for STATISTICS; ends any command."""
        beats, collect, standardize = self._beats, self._collect, self._standardize
        m.submodules.statistics = statistics = Statistics(len(counts))
        m.d.comb += [
            statistics.advance.eq(advance),
            statistics.start.eq(self.start),
            statistics.command.eq(self.command),
            statistics.step.eq(take & self._is_statistics & (beats.o.plane != Plane.KINDS)),
            statistics.counts.eq(counts),
            statistics.values.eq(self._is_values),
            statistics.last.eq(beats.o.last),
            statistics.x.eq(standardize.x),
            statistics.products.eq(standardize.products),
            statistics.rewards_clipped.eq(clipped[0]),
            statistics.values_clipped.eq(clipped[1]),
            self.moments.eq(statistics.moments),
        ]
        # Two clocks more, in which the last error comes through.
        last_slot = Signal()
        with m.If(collect.step & advance):
            m.d.sync += last_slot.eq(collect.beat.last)
        finished = statistics.done | (self.o.valid & self.o.ready & last_slot)
        m.d.comb += self.done.eq(delay(m, finished, 2, name="finished", reset=True))
