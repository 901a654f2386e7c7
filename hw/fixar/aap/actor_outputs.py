"""After the actor's last layer, one lane after the other: tanh, and errors times its slope."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.aap.sample_mask import sample_mask
from hw.fixar.config import CELL_WIDTH, CODE_WIDTH
from hw.fixar.layouts import cells_layout
from hw.fixar.numbers.coder import Coder, Collect
from hw.fixar.numbers.lanes import LaneByLane
from hw.fixar.numbers.tanh_slope import TanhSlope
from hw.fixar.numbers.tanh_tail import TanhTail
from hw.fixar.plan import Result
from hw.stream.delay import delay

__all__ = ["ActorOutputs"]

#: Clocks in which a lane's action becomes a number, before its slope.
_DECODE = 1


class ActorOutputs(wiring.Component):
    """Turns words of numbers into words of cells, in passes of TANH and of SLOPE.

    A word with n lanes takes n clocks, and so the next word may come n clocks after it.

    Parameters
    ----------
    config : FixarConfig
    layouts : Layouts
    result : StructLayout
        Layout of the member ``result`` of ``Schedule``.

    Members
    -------
    pass_ : In(PASS), steady
        The pass, TANH or SLOPE, under way.
    batch : In, acting : In(1)
        ``batch``: how many samples the batch has from this core's first on. ``acting``: an ACT is
        under way; cells then hold the tanh itself in 16 bits, not its code.
    valid : In(1), value : In([side] of two signed(32)), result : In
        A word of numbers, each of one sample or of two, and where ``Schedule`` says that it
        belongs.
    action : In([lanes] of 32 bits)
        In a SLOPE, the action's cells of the same samples and lanes.
    write : Out({valid, address, word: [lanes] of 32 bits})
        A word of the action's cells or, in a SLOPE, of E cells.
    slope : Out({valid, keep: 2, value: [2] of signed(32)})
        For the range: the errors of one existing lane, of up to two samples; ``keep``: which exist.
    saturated : Out(range(3))
        Codes that were clipped in this clock.
    busy : Out(1)
        A word has come, in an earlier clock, whose cells are not written yet.
    """

    def __init__(self, config, layouts, result):
        self.config, self.layouts = config, layouts
        self.lanes = layouts.action_lanes
        self._last = (config.action - 1) % config.side  # lane, of the last word
        numbers = data.ArrayLayout(data.ArrayLayout(signed(CELL_WIDTH), 2), config.side)
        cells = cells_layout(self.lanes)
        self._address = layouts.PASS.members["destination"]
        pair = data.ArrayLayout(signed(CELL_WIDTH), 2)
        super().__init__(
            {
                "pass_": In(layouts.PASS),
                "batch": In(range(config.batch + 1)),
                "acting": In(1),
                "valid": In(1),
                "value": In(numbers),
                "result": In(result),
                "action": In(cells),
                "write": Out(
                    data.StructLayout({"valid": 1, "address": self._address, "word": cells})
                ),
                "slope": Out(data.StructLayout({"valid": 1, "keep": 2, "value": pair})),
                "saturated": Out(range(3)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        back = Signal()
        m.d.comb += back.eq(self.pass_.result == Result.SLOPE)
        self._tag = data.StructLayout(
            {"lane": range(self.lanes), "last": 1, "address": self._address, "keep": 2}
        )
        tanh, slope = self._tanh(m), self._slope(m)
        m.submodules.coder = coder = Coder()
        lane_valid, tag = Signal(), Signal(self._tag)
        for source, chosen in ((tanh, ~back), (slope, back)):
            with m.If(chosen):
                m.d.comb += [
                    lane_valid.eq(source["valid"]),
                    tag.eq(source["tag"]),
                    coder.half.eq(source["half"]),
                    Value.cast(coder.value).eq(source["value"]),
                ]
        m.d.comb += [
            coder.shift.eq(self.pass_.code_shift),
            coder.cut.eq(self.pass_.code_cut),
            self.slope.valid.eq(lane_valid & back),
            self.slope.keep.eq(tag.keep),
            self.slope.value.eq(coder.value),
        ]
        late = delay(m, lane_valid, Coder.LATENCY, name="coded", reset=True)
        late_tag = delay(m, tag, Coder.LATENCY, name="coded_tag")
        m.submodules.collect = collect = Collect(self.lanes)
        clipped = coder.clipped & late_tag.keep
        m.d.comb += [
            collect.i.valid.eq(late),
            collect.i.lane.eq(late_tag.lane),
            collect.i.last.eq(late_tag.last),
            collect.i.cell.eq(coder.cell),
            self.saturated.eq(Mux(late, clipped[0] + clipped[1], 0)),  # codes alone are
            self.write.valid.eq(collect.valid),
            self.write.address.eq(delay(m, late_tag.address, 1, name="address")),
            self.write.word.eq(collect.word),
        ]
        self._pending(m, collect.valid)
        return m

    def _pending(self, m, written):
        """How many words have come and are not written yet."""
        pending = Signal(5)
        comes = self.valid & self._mine()
        m.d.sync += pending.eq(pending + comes - written)
        m.d.comb += self.busy.eq(pending != 0)

    def _mine(self):
        return (self.pass_.result == Result.TANH) | (self.pass_.result == Result.SLOPE)

    def _is_last(self, lane, final):
        return lane == Mux(final, self._last, self.lanes - 1)

    def _count(self):
        return Mux(self.result.final, self._last + 1, self.lanes)

    def _tanh(self, m):
        """The tanh of numbers, lane by lane."""
        config, pass_, result = self.config, self.pass_, self.result
        m.submodules.tanh = tail = TanhTail(config)
        words = self.layouts.regions.action_words
        m.d.comb += [
            tail.i.valid.eq(self.valid & (pass_.result == Result.TANH)),
            tail.i.index.eq(result.index),
            tail.i.tile.eq(result.tile),
            tail.i.count.eq(self._count()),
            *(tail.i.value[k].eq(self.value[k]) for k in range(self.lanes)),
        ]
        # What has to be found anew of a lane takes two clocks.
        wait = 2
        o = tail.o
        keep = sample_mask(m, o.index, pass_.half_x, self.batch, config, name="tanh_keep")
        version, place = Signal(self._address), Signal(self._address)
        with m.Switch(pass_.version):
            for number in range(1, 4):
                with m.Case(number):
                    m.d.comb += version.eq((number - 1) * words * config.samples)
        with m.Switch(o.tile):
            for number in range(words):
                with m.Case(number):
                    m.d.comb += place.eq(number * config.samples)
        s1_address = delay(m, (version + place)[: len(version)], 1, name="tanh_base")
        s1_index = delay(m, o.index, 1, name="tanh_index")
        s2_address = delay(m, (s1_address + s1_index)[: len(version)], 1, name="tanh_address")
        lane = delay(m, o.lane, wait, name="tanh_lane")
        final = delay(m, o.tile == words - 1, wait, name="tanh_final")
        values = [delay(m, o.value[k], wait, name=f"tanh_{k}") for k in range(2)]
        tag = Signal(self._tag)
        m.d.comb += [
            tag.lane.eq(lane),
            tag.last.eq(self._is_last(lane, final)),
            tag.address.eq(s2_address),
            tag.keep.eq(keep),
        ]
        number = Signal(data.ArrayLayout(signed(CELL_WIDTH), 2))
        with m.If(self.acting):
            codes = Cat(*(value[:CODE_WIDTH] for value in values))
            m.d.comb += number[0].eq(Mux(pass_.half_x, codes, codes[:CODE_WIDTH]))
        with m.Else():
            m.d.comb += [number[k].eq(values[k] << config.arithmetic.tanh_cut) for k in range(2)]
        return dict(
            valid=delay(m, o.valid, wait, name="tanh_valid", reset=True),
            tag=tag,
            half=pass_.half_x & ~self.acting,
            value=number.as_value(),
        )

    def _slope(self, m):
        """Errors times 1 - a**2, lane by lane."""
        config, pass_, result = self.config, self.pass_, self.result
        errors = config.arithmetic.gradient
        pair = data.StructLayout({"dx": errors.shape, "code": CODE_WIDTH})
        tag = data.StructLayout({"address": self._address, "final": 1, "upper": 1, "keep": 2})
        m.submodules.serial = serial = LaneByLane(self.lanes, pair, tag)
        m.d.comb += [
            serial.i.valid.eq(self.valid & (pass_.result == Result.SLOPE)),
            serial.i.count.eq(self._count()),
            serial.i.tag.address.eq(result.store),
            serial.i.tag.final.eq(result.final),
            serial.i.tag.upper.eq(result.index[0] & ~pass_.half_e),
            serial.i.tag.keep.eq(result.keep),
        ]
        for k in range(self.lanes):
            for half in range(2):
                m.d.comb += [
                    serial.i.value[k][half].dx.eq(self.value[k][half]),
                    serial.i.value[k][half].code.eq(self.action[k].word_select(half, CODE_WIDTH)),
                ]
        m.submodules.slope = slope = TanhSlope(config.arithmetic)
        o = serial.o
        drop, width = config.arithmetic.tanh_cut, config.arithmetic.tanh_format.width
        codes = [o.value[k].code for k in range(2)]
        for k in range(2):
            code = Mux(o.tag.upper, codes[1], codes[0]) if k == 0 else codes[1]
            shifted = (code.as_signed() << pass_.frame_shift)[drop : drop + width]
            whole = Cat(*codes)[drop : drop + width]
            a = Mux(pass_.half_x, shifted, whole).as_signed()
            m.d.comb += [
                slope.i.a[k].eq(delay(m, a, _DECODE, name=f"a_{k}")),
                slope.i.dx[k].eq(delay(m, o.value[k].dx, _DECODE, name=f"dx_{k}")),
            ]
        m.d.comb += slope.i.valid.eq(delay(m, o.valid, _DECODE, name="decoded", reset=True))
        lane = Signal(self._tag)
        m.d.comb += [
            lane.lane.eq(o.lane),
            lane.last.eq(self._is_last(o.lane, o.tag.final)),
            lane.address.eq(o.tag.address),
            lane.keep.eq(o.tag.keep),
        ]
        wait = _DECODE + TanhSlope.LATENCY
        value = Signal(data.ArrayLayout(signed(CELL_WIDTH), 2))
        m.d.comb += [value[k].eq(slope.o.value[k]) for k in range(2)]
        return dict(
            valid=slope.o.valid,
            tag=delay(m, lane, wait, name="slope_tag"),
            half=pass_.half_e,
            value=value.as_value(),
        )
