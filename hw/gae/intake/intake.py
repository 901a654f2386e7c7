"""Beats of slot records to slots for the stack, or to moments: a beat a clock.

A beat's kinds say which of its slot's numbers count; numbers pass the lanes of ``Standardize``,
codes go to ``SlotAssembler`` at once. From the last beat to ``done`` it takes
``estimate()["after"]`` cycles.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.gae.commands import COMMANDS, Opcode
from hw.gae.intake.beat_counter import BeatCounter, Plane, of_beat
from hw.gae.intake.first_error import FirstError
from hw.gae.intake.slot_assembler import SlotAssembler
from hw.gae.intake.slot_rules import SlotRules, reward_counts, value_counts
from hw.gae.intake.standardize import LANE_BITS, Standardize
from hw.gae.layouts import slot_layout
from hw.gae.records import MOMENTS, Error, Kind
from hw.gae.statistics.statistics import Statistics
from hw.shell.program import COMMAND_BYTES
from hw.stream.delay import delay

__all__ = ["Intake"]

_SCALE_FIELDS = ("exponent", "mean", "factor", "shift")


class Intake(wiring.Component):
    """STATISTICS, PUSH and PUSH_CODES as ``hw.gae.commands`` describes them.

    After an error too, all beats are taken and all slots leave: the core then rewinds the stack.
    STATISTICS, which pushes nothing, takes kinds of 0 to 3 in any order.

    Parameters
    ----------
    config : GaeKernelConfig

    Members
    -------
    start : In(1), opcode : In(Opcode), count : In(32), command : In(512)
        Strobe, and what the command asks for; steady until ``done``.
    i : In(stream.Signature(data_width))
        The slots' beats, one a clock.
    open : In(rows), open_next : Out(rows)
        Rows whose newest slot is a STEP: before a push, and after it.
    o : Out(stream.Signature(slot_layout(config.gae)))
    done : Out(1)
        Strobe: every slot has left, and the members below are right until the next start.
    error, detail : Out(32)
        First error by slot, then KIND, UNFINISHED, NUMBER or CODE, then row; its slot * rows + row.
    clipped : Out(32)
        Of PUSH: codes that were clipped, or whose number was.
    moments : Out(2 * 512)
        Of STATISTICS: MOMENTS of rewards, of values.
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

    @classmethod
    def estimate(cls, config):
        """``after``: clocks from a command's last beat to ``done``, unless slots have to wait."""
        lanes = config.engine.data_width // LANE_BITS
        after = {
            Opcode.STATISTICS: Statistics.latency_of(lanes) + 2,
            Opcode.PUSH: Standardize.LATENCY + SlotAssembler.LATENCY + 2,
            Opcode.PUSH_CODES: SlotAssembler.LATENCY + 2,
        }
        return dict(after=after, interval=cls.INTERVAL, dsp=2 * lanes, lut=None, ff=None)

    def elaborate(self, platform):
        m = Module()
        gae, beat_bytes = self.config.gae, self.config.engine.beat_bytes
        lanes = self.config.engine.data_width // LANE_BITS
        m.submodules.beats = beats = BeatCounter(self.config)
        m.submodules.kinds = kinds = SlotRules(gae, beat_bytes)
        m.submodules.first_error = first_error = FirstError(gae.rows, beat_bytes)
        m.submodules.standardize = standardize = Standardize(gae, lanes)
        m.submodules.collect = collect = SlotAssembler(gae, beat_bytes)
        connect(m, collect.o, flipped(self.o))

        advance, take = collect.advance, Signal()
        is_codes, is_statistics, is_values = Signal(), Signal(), Signal()
        beat = self.i.payload
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
            kinds.beat.eq(beat),
            kinds.row.eq(beats.o.row),
            kinds.step.eq(take & (beats.o.plane == Plane.KINDS)),
            self.open_next.eq(Cat(kind == Kind.STEP for kind in kinds.kinds)),
        ]

        def counts(elements, name):
            signal = Signal(elements, name=name)
            every = [Value.cast(kind) for kind in kinds.kinds]
            selected = of_beat(every, beats.o.row, elements)
            for k, kind in enumerate(selected):
                m.d.comb += signal[k].eq(Mux(is_values, value_counts(kind), reward_counts(kind)))
            return signal

        number_counts = counts(lanes, "number_counts")
        width = gae.code_width
        code_counts = counts(8 * beat_bytes // width, "code_counts")
        codes = [beat.word_select(k, width) for k in range(len(code_counts))]
        lowest = Cat(code == 1 << (width - 1) for code in codes) & code_counts

        # Numbers, and beside them what their beats are.
        m.d.comb += [
            standardize.advance.eq(advance),
            Value.cast(standardize.i).eq(beat),
            standardize.counts.eq(number_counts),
            standardize.values.eq(is_values),
            standardize.squares.eq(is_statistics),
        ]
        push = data.View(COMMANDS[Opcode.PUSH].shape, self.command)
        for name in ("reward", "value"):
            scale = getattr(standardize, f"{name}s_scale")
            for field in _SCALE_FIELDS:
                number = getattr(push, f"{name}_{field}")
                m.d.comb += getattr(scale, field).eq(number[: scale.shape()[field].width])
        statistics_command = data.View(COMMANDS[Opcode.STATISTICS].shape, self.command)
        with m.If(is_statistics):
            m.d.comb += [
                standardize.rewards_scale.exponent.eq(statistics_command.reward_exponent[:9]),
                standardize.values_scale.exponent.eq(statistics_command.value_exponent[:9]),
            ]
        clocks = Standardize.LATENCY
        late_beat = delay(m, Value.cast(beats.o), clocks, name="beat", enable=advance)
        late_beat = data.View(beats.o.shape(), late_beat)
        s0_step = take & ~is_codes
        late_step = delay(m, s0_step, clocks, name="step", enable=advance, reset=True)
        s0_kinds = Cat(beat.word_select(k, 8)[:2] for k in range(beat_bytes))
        late_kinds = delay(m, s0_kinds, clocks, name="kinds", enable=advance)

        m.d.comb += [
            collect.numbers.eq(~is_codes),
            collect.step.eq(Mux(is_codes, take, late_step & ~is_statistics)),
            Value.cast(collect.beat).eq(Mux(is_codes, Value.cast(beats.o), late_beat)),
            collect.kinds.eq(Mux(is_codes, s0_kinds, late_kinds)),
        ]
        for k, code in enumerate(codes):
            number_code = Value.cast(standardize.codes[k % lanes])
            given = Mux(code_counts[k], code, 0)
            m.d.comb += collect.codes.word_select(k, width).eq(Mux(is_codes, given, number_code))

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
            with m.If(is_codes):
                m.d.comb += [wrong.eq(lowest), code.eq(Error.CODE)]
            with m.Else():
                m.d.comb += [wrong.eq(standardize.invalid), code.eq(Error.NUMBER)]
        with m.Elif(kinds.bad.any()):
            m.d.comb += [wrong.eq(kinds.bad), code.eq(Error.KIND)]
        with m.Else():
            m.d.comb += [wrong.eq(kinds.unfinished), code.eq(Error.UNFINISHED)]

        clipped = [Signal(32, name=f"{plane}_clipped") for plane in ("rewards", "values")]
        clips = sum((standardize.clipped[lane] for lane in range(lanes)), C(0))
        for plane, count in zip((Plane.REWARDS, Plane.VALUES), clipped, strict=True):
            with m.If(advance & late_step & (late_beat.plane == plane)):
                m.d.sync += count.eq(count + clips)
            with m.If(self.start):
                m.d.sync += count.eq(0)
        m.d.comb += self.clipped.eq(Mux(is_statistics, 0, clipped[0] + clipped[1]))

        m.submodules.statistics = statistics = Statistics(lanes)
        m.d.comb += [
            statistics.advance.eq(advance),
            statistics.start.eq(self.start),
            statistics.command.eq(self.command),
            statistics.step.eq(take & is_statistics & (beats.o.plane != Plane.KINDS)),
            statistics.counts.eq(number_counts),
            statistics.values.eq(is_values),
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
        return m
