"""The way of a core's sums: to cells, actions, Q values and their sum, ranges."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.aap.actor_outputs import ActorOutputs
from hw.fixar.config import CELL_WIDTH, CODE_WIDTH
from hw.fixar.layouts import cells_layout, streams_pairs
from hw.fixar.numbers.ranges import PassRange, range_layout
from hw.fixar.numbers.round_and_encode import RoundAndEncode
from hw.fixar.plan import Kind, Result, Version
from hw.stream.delay import delay
from hw.stream.ram import Ram, style_of

__all__ = ["ResultWriter", "saturation_layout"]

_SUM_WIDTH = 48


def saturation_layout(side):
    """Numbers and codes that were clipped in a clock."""
    return data.StructLayout({"activations": range(4 * side + 3), "gradients": range(4 * side + 5)})


class ResultWriter(wiring.Component):
    """Writes the results of the accumulators, one word a clock, to the place that ``pass_`` names.

    Parameters
    ----------
    config : FixarConfig
    layouts : Layouts
    schedule : Schedule
        The schedule that gives ``result``.
    sums : StructLayout
        Layout of the accumulators' results.

    Members
    -------
    pass_ : In(PASS), steady; batch : In; acting : In(1)
        The pass under way; how many samples the batch has from this core's first on; whether an ACT
        is under way, in which nothing is counted and actions are no codes.
    end : In(1), clear : In(1)
        One clock each. ``end``: the pass is over. ``clear``: ``value_sum`` starts at 0 again.
    sums : In({valid, index, word}), result : In
        A word of the accumulators, and ``Schedule.result`` for it.
    x : In([side] of 32 bits), a clock before ``sums``
        In a pass of ERROR: the cells whose zeros make errors zero.
    action_address : Out
        Address of the policy's actions for a word of a SLOPE.
    action : In([action_lanes] of 32 bits)
        The word of the action's cells, two clocks after ``action_address``.
    x_write, e_write, action_write : Out({valid, address, word})
        Words for the X cells, the E cells and the action's cells.
    q_address : In, q, next_q : Out([2] of signed(32)), a clock later
        The critic's values of s and of s', of one sample or of a pair.
    value_sum : Out(signed(48))
        Sum of the values that VALUE passes have computed since ``clear``.
    range : Out(stream.Signature(range_layout(...)))
        The range of the pass and its slot, after ``end``.
    saturated : Out({activations, gradients})
        How many numbers and codes are counted as clipped in this clock.
    busy : Out(1)
        A result is not yet written.
    """

    def __init__(self, config, layouts, schedule, sums):
        self.config, self.layouts = config, layouts
        side, members = config.side, layouts.PASS.members
        cells, address = cells_layout(side), members["destination"]
        self._sums = sums
        self._width = sums.members["word"].elem_shape // 2
        self._slots = members["range_slot"].stop
        actions = cells_layout(layouts.action_lanes)
        write, action_write = (
            Out(data.StructLayout({"valid": 1, "address": address, "word": word}))
            for word in (cells, actions)
        )
        pair = data.ArrayLayout(signed(CELL_WIDTH), 2)
        super().__init__(
            {
                "pass_": In(layouts.PASS),
                "batch": In(range(config.batch + 1)),
                "acting": In(1),
                "end": In(1),
                "clear": In(1),
                "sums": In(sums),
                "result": In(schedule.signature.members["result"].shape),
                "x": In(cells),
                "action_address": Out(range(layouts.action_depth)),
                "action": In(actions),
                "x_write": write,
                "e_write": write,
                "action_write": action_write,
                "q_address": In(range(config.samples)),
                "q": Out(pair),
                "next_q": Out(pair),
                "value_sum": Out(signed(_SUM_WIDTH)),
                "range": Out(stream.Signature(range_layout(self._slots))),
                "saturated": Out(saturation_layout(side)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, pass_, result = self.config, self.pass_, self.result
        m.submodules.round_and_encode = rounding = RoundAndEncode(
            config.side, self._width, config.arithmetic
        )
        m.submodules.actor_outputs = outputs = ActorOutputs(config, self.layouts, result.shape())
        is_result = {kind: Signal(name=f"is_{kind.name.lower()}") for kind in Result}
        m.d.comb += [flag.eq(pass_.result == kind) for kind, flag in is_result.items()]
        self._round(m, rounding, is_result)

        # With the numbers.
        wait = RoundAndEncode.VALUE_LATENCY
        late = delay(m, result, wait, name="result")
        valid, numbers = rounding.value.valid, rounding.value.number
        m.d.comb += [
            outputs.pass_.eq(pass_),
            outputs.batch.eq(self.batch),
            outputs.acting.eq(self.acting),
            outputs.valid.eq(valid),
            outputs.value.eq(numbers),
            outputs.result.eq(late),
            outputs.action.eq(self.action),
        ]
        # The actions are asked for two clocks before.
        policy = (Version.POLICY - 1) * self.layouts.regions.action_words * config.samples
        place = delay(m, result.place, 1, name="place")
        m.d.sync += self.action_address.eq(place + policy)
        self._values(m, valid, numbers[0], late, is_result)
        self._range(m, rounding, outputs, late, is_result)

        # With the cells.
        store = delay(m, late.store, RoundAndEncode.LATENCY - wait, name="store")
        for port, kind in ((self.x_write, Result.HIDDEN), (self.e_write, Result.ERROR)):
            m.d.comb += [
                port.valid.eq(rounding.cell.valid & is_result[kind]),
                port.address.eq(store),
                port.word.eq(rounding.cell.word),
            ]
        with m.If(is_result[Result.SLOPE]):
            m.d.comb += [
                self.e_write.valid.eq(outputs.write.valid),
                self.e_write.address.eq(outputs.write.address),
                self.e_write.word.as_value().eq(outputs.write.word.as_value()),
            ]
        m.d.comb += [
            self.action_write.eq(outputs.write),
            self.action_write.valid.eq(outputs.write.valid & is_result[Result.TANH]),
        ]

        with m.If(pass_.kind == Kind.DX):
            m.d.sync += self.saturated.gradients.eq(rounding.saturated + outputs.saturated)
            m.d.sync += self.saturated.activations.eq(0)
        with m.Else():
            m.d.sync += self.saturated.activations.eq(rounding.saturated + outputs.saturated)
            m.d.sync += self.saturated.gradients.eq(0)
        under_way = Signal(RoundAndEncode.COUNT_LATENCY + 1)
        m.d.sync += under_way.eq(Cat(rounding.i.valid, under_way))
        m.d.comb += self.busy.eq(under_way.any() | outputs.busy)
        return m

    def _round(self, m, rounding, is_result):
        """Wires the controls of ``RoundAndEncode``."""
        pass_, result, i = self.pass_, self.result, rounding.i
        pair, error, hidden = Signal(), is_result[Result.ERROR], is_result[Result.HIDDEN]
        m.d.comb += [
            pair.eq(streams_pairs(pass_)),
            i.valid.eq(self.sums.valid & ~is_result[Result.UPDATE]),
            i.pair.eq(pair),
            i.shift.eq(Mux(pair, pass_.shift, 0)),
            i.error.eq(pass_.kind == Kind.DX),
            i.relu.eq(hidden),
            i.half.eq(hidden & pass_.half_x | error & pass_.half_e),
            i.code_shift.eq(pass_.code_shift),
            i.code_cut.eq(pass_.code_cut),
            i.code_signed.eq(error),
            i.keep.eq(Mux(self.acting, 0, result.keep)),
            i.word.eq(self.sums.word),
        ]
        # Two samples, or the one of two that this word is of.
        upper = result.index[0]
        for k in range(self.config.side):
            cell = self.x[k]
            lower_set, upper_set = (
                delay(m, cell.word_select(half, CODE_WIDTH).any(), 1, name=f"mask_{k}_{half}")
                for half in range(2)
            )
            both = lower_set | upper_set
            first = Mux(pass_.half_e, lower_set, Mux(upper, upper_set, lower_set))
            m.d.comb += [
                i.mask[k][0].eq(~error | Mux(pass_.half_x, first, both)),
                i.mask[k][1].eq(~error | upper_set),
            ]

    def _values(self, m, valid, numbers, late, is_result):
        """Keeps Q values, and the sum of those of the policy's actions."""
        for kind, port in ((Result.Q, self.q), (Result.NEXT_Q, self.next_q)):
            memory = Ram(
                width=2 * CELL_WIDTH,
                depth=self.config.samples,
                style=style_of(self.config.samples),
            )
            m.submodules[f"{kind.name.lower()}_memory"] = memory
            m.d.comb += [
                memory.write_enable.eq(valid & is_result[kind]),
                memory.write_address.eq(late.index),
                memory.write_data.eq(numbers.as_value()),
                memory.read_address.eq(self.q_address),
                port.as_value().eq(memory.read_data),
            ]
        s1_values = Signal(signed(CELL_WIDTH + 1), reset_less=True)
        s1_valid = Signal()
        first, second = (Mux(late.keep[k], numbers[k], 0) for k in range(2))
        m.d.sync += [
            s1_values.eq(first + second),
            s1_valid.eq(valid & is_result[Result.VALUE]),
        ]
        with m.If(self.clear):
            m.d.sync += self.value_sum.eq(0)
        with m.Elif(s1_valid):
            m.d.sync += self.value_sum.eq(self.value_sum + s1_values)

    def _range(self, m, rounding, outputs, late, is_result):
        """The range of numbers before they become codes. Errors after the slope come lane by lane,
        each as lane 0."""
        pass_ = self.pass_
        m.submodules.range = unit = PassRange(self.config.side, self._slots)
        seen = is_result[Result.HIDDEN] | is_result[Result.ERROR]
        m.d.comb += [
            unit.i.valid.eq(rounding.value.valid & seen & ~self.acting),
            unit.i.keep.eq(late.keep),
            unit.i.number.eq(rounding.value.number),
            Value.cast(unit.i.lanes).eq(pass_.lanes | (~late.final).replicate(self.config.side)),
            unit.end.eq(self.end),
            unit.slot.eq(pass_.range_slot),
        ]
        with m.If(is_result[Result.SLOPE]):
            m.d.comb += [
                unit.i.valid.eq(outputs.slope.valid),
                unit.i.keep.eq(outputs.slope.keep),
                unit.i.number[0].eq(outputs.slope.value),
                Value.cast(unit.i.lanes).eq(1),
            ]
        wiring.connect(m, unit.o, wiring.flipped(self.range))
