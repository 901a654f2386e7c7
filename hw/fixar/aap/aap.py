"""An adaptive array core of FIXAR (V-A): a share of the batch, its memories, and an array of PEs.

All cores run in lockstep: the walk sends all of them the same signals.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.aap.cells import CellMemory
from hw.fixar.aap.feed import Feed, TileRows
from hw.fixar.aap.output_errors import OutputErrors
from hw.fixar.aap.result_writer import ResultWriter, saturation_layout
from hw.fixar.aap.schedule import Schedule
from hw.fixar.array.accumulators import BEGIN_WIDTH, Accumulators
from hw.fixar.array.array import PeArray
from hw.fixar.config import CELL_WIDTH
from hw.fixar.layouts import SHIFT_WIDTH, Layouts, cells_layout
from hw.fixar.numbers.ranges import range_layout
from hw.fixar.plan import Kind, Result

__all__ = ["PSUM_WIDTH", "AapCore"]

#: Bits of a sum of a pair: 27-bit operands, 17-bit words, 512 terms of them.
PSUM_WIDTH = 53


class AapCore(wiring.Component):
    """One of the ``config.cores`` equal cores. Its sample j stands at place ``j * cores`` of
    ``batch``.

    Parameters
    ----------
    config : FixarConfig
    ultra_ram : bool
        Whether deep memories of cells are made of UltraRAM.

    Attributes
    ----------
    layouts : Layouts
    begun_latency : int
        Clocks from a step to ``begun``.
    latency : int
        Clocks from a step to its sums.

    Members
    -------
    pass_ : In(PASS)
        Steady from the first fetch until ``end``, which comes when ``busy`` has fallen.
    batch : In, acting : In(1), steady
        ``batch``: how many samples the batch has from this core's first on; core k has k less than
        the batch has, at least 0. ``acting``: nothing is counted, and actions are no codes.
    fetch : In(FETCH), fetch_room : Out(1)
        A word to fetch from the cells; whether fetches may go on. ``Feed.SLACK`` fetches may follow
        once ``fetch_room`` has fallen.
    word_valid : Out(1), step : In(STEP)
        The next fetched word is there for a step of this clock; a step takes it to the array.
    row : In(ROW), tile : In(TILE_READ)
        A band of a tile of weights; in a DW, a read of a row of errors from the E cells.
        ``PeArray`` says when a tile may be loaded, a clock after ``step``.
    begin : In([side] of signed(47))
        What sums start with: steady until ``begun``, and the next one from the clock after it on.
    begun : Out(1)
        One clock: the last sum of a tile column has read ``begin``.
    end : In(1)
        One clock: the pass is over, and ``range`` follows. ``pass_`` is still steady in this clock.
        The first step of the next pass comes at least side - 8 clocks later, so that its numbers
        come after the range.
    clear : In(1)
        One clock: ``value_sum`` starts at 0 again.
    sums : Out({valid, index, word: [side] of 106 bits})
        Results of an UPDATE.
    value_sum : Out(signed(48))
        Sum, over this core's samples, of the values of all passes of VALUE since ``clear``.
    range : Out(stream.Signature(range_layout(...)))
        The range of the existing numbers of a pass of HIDDEN, ERROR or SLOPE; ``NOTHING`` for other
        passes.
    saturated : Out({activations, gradients})
        How many numbers were clipped in this clock. Activations include those of all forward
        passes, gradients include the errors at the outputs.
    busy : Out(1)
        A step or a result is under way; high from the clock after a step on.
    intake : In({valid, action: 1, address, halves: 2, word})
        Writes X cells, or with ``action`` the action's cells, which are the first of the word. Only
        while no pass writes cells.
    errors : In({valid, word, keep: 2, value: [2]}), td_shift : In
        A word of TD errors for the E cells, of one sample or two, and the shift of its codes; only
        in a forward pass, or between passes.
    q_address : In, q, next_q : Out([2] of signed(32))
        The critic's values of s and of s', of one sample or of a pair, a clock after the number of
        their word.
    action_address : In, action : Out([action_lanes] of 32 bits)
        A word of the action's cells, two clocks after its address; while no pass runs.
    """

    def __init__(self, config, ultra_ram=True):
        self.config, self.ultra_ram = config, ultra_ram
        self.layouts = layouts = Layouts(config)
        side = config.side
        self._schedule = Schedule(config, layouts)
        self._accumulators = Accumulators(side, depth=layouts.index.stop, width=PSUM_WIDTH)
        self._errors = OutputErrors(config, layouts)
        self.latency = self._schedule.latency
        self.begun_latency = self._schedule.control_latency + Accumulators.BEGIN_DELAY
        sums = self._accumulators.signature.members["o"].shape
        self._results = ResultWriter(config, layouts, self._schedule, sums)
        cells, pair = cells_layout(side), data.ArrayLayout(signed(CELL_WIDTH), 2)
        depth = max(layouts.x_depth, layouts.action_depth)
        intake = {"valid": 1, "action": 1, "address": range(depth), "halves": 2, "word": cells}
        slots = layouts.PASS.members["range_slot"].stop
        super().__init__(
            {
                "pass_": In(layouts.PASS),
                "batch": In(range(config.batch + 1)),
                "acting": In(1),
                "fetch": In(layouts.FETCH),
                "fetch_room": Out(1),
                "word_valid": Out(1),
                "step": In(layouts.STEP),
                "row": In(layouts.ROW),
                "tile": In(layouts.TILE_READ),
                "begin": In(data.ArrayLayout(signed(BEGIN_WIDTH), side)),
                "begun": Out(1),
                "end": In(1),
                "clear": In(1),
                "sums": Out(sums),
                "value_sum": Out(signed(48)),
                "range": Out(stream.Signature(range_layout(slots))),
                "saturated": Out(saturation_layout(side)),
                "busy": Out(1),
                "intake": In(data.StructLayout(intake)),
                "errors": In(self._errors.signature.members["errors"].shape),
                "td_shift": In(SHIFT_WIDTH),
                "q_address": In(range(config.samples)),
                "q": Out(pair),
                "next_q": Out(pair),
                "action_address": In(range(layouts.action_depth)),
                "action": Out(cells_layout(layouts.action_lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, layouts, pass_ = self.config, self.layouts, self.pass_
        m.submodules.schedule = schedule = self._schedule
        m.submodules.feed = feed = Feed(config, layouts)
        m.submodules.rows = rows = TileRows(config, layouts)
        m.submodules.array = array = PeArray(config.side, config.port_words)
        m.submodules.accumulators = accumulators = self._accumulators
        m.submodules.results = results = self._results
        m.submodules.errors = errors = self._errors
        x, e, action = self._memories(m)
        for unit in (schedule, feed, rows, results, errors):
            m.d.comb += unit.pass_.eq(pass_)
        for unit in (schedule, results, errors):
            m.d.comb += unit.batch.eq(self.batch)
        m.d.comb += [
            feed.fetch.eq(self.fetch),
            feed.x.eq(x.o),
            feed.e.eq(e.o),
            feed.action.eq(action.o),
            self.fetch_room.eq(feed.fetch_room),
            self.word_valid.eq(feed.word_valid),
            feed.step.eq(self.step),
            array.stream.eq(feed.stream),
            rows.row.eq(self.row),
            rows.tile.eq(self.tile),
            rows.e.eq(e.o),
            array.load.eq(rows.load),
            schedule.step.eq(self.step),
            schedule.end.eq(self.end),
            self.begun.eq(schedule.begun),
            accumulators.control.eq(schedule.control),
            accumulators.sums.eq(array.o.sums),
            accumulators.begin.eq(self.begin),
            self.sums.eq(accumulators.o),
            self.sums.valid.eq(accumulators.o.valid & (pass_.result == Result.UPDATE)),
            results.sums.eq(accumulators.o),
            results.result.eq(schedule.result),
            results.acting.eq(self.acting),
            results.end.eq(self.end),
            results.clear.eq(self.clear),
            results.x.eq(x.o),
            results.action.eq(action.o),
            results.q_address.eq(self.q_address),
            self.q.eq(results.q),
            self.next_q.eq(results.next_q),
            self.value_sum.eq(results.value_sum),
            errors.begins.eq(self.step.valid & self.step.first & (self.step.index == 0)),
            errors.errors.eq(self.errors),
            errors.td_shift.eq(self.td_shift),
            self.action.eq(action.o),
            self.saturated.activations.eq(results.saturated.activations),
            self.saturated.gradients.eq(results.saturated.gradients + errors.saturated),
        ]
        wiring.connect(m, results.range, wiring.flipped(self.range))
        under_way = Signal(self.latency)
        m.d.sync += under_way.eq(Cat(self.step.valid, under_way))
        m.d.comb += self.busy.eq(under_way.any() | results.busy | errors.busy)
        return m

    def _memories(self, m):
        """Wires the memories of X cells, E cells and the action's cells to their readers and
        writers."""
        config, layouts, pass_, intake = self.config, self.layouts, self.pass_, self.intake
        m.submodules.x = x = CellMemory(config.side, layouts.x_depth, self.ultra_ram)
        m.submodules.e = e = CellMemory(config.side, layouts.e_depth, self.ultra_ram)
        m.submodules.action = action = CellMemory(
            layouts.action_lanes, layouts.action_depth, self.ultra_ram
        )
        results, errors, both = self._results, self._errors, 3
        back = pass_.kind == Kind.DX
        m.d.comb += [
            x.address.eq(Mux(back, self._schedule.look, self.fetch.address)),
            e.address.eq(Mux(pass_.kind == Kind.DW, self.tile.address, self.fetch.address)),
        ]
        with m.If(pass_.result == Result.SLOPE):
            m.d.comb += action.address.eq(results.action_address)
        with m.Elif(self.fetch.valid):
            m.d.comb += action.address.eq(self.fetch.action_address)
        with m.Else():
            m.d.comb += action.address.eq(self.action_address)

        for memory, own, port in ((x, ~intake.action, results.x_write),) + (
            (action, intake.action, results.action_write),
        ):
            with m.If(port.valid):
                m.d.comb += [
                    memory.halves.eq(both),
                    memory.write_address.eq(port.address),
                    memory.write.eq(port.word),
                ]
            with m.Else():
                m.d.comb += [
                    memory.halves.eq(intake.halves & (intake.valid & own).replicate(2)),
                    memory.write_address.eq(intake.address),
                    memory.write.as_value().eq(intake.word.as_value()),
                ]
        with m.If(errors.write.valid):
            m.d.comb += [
                e.halves.eq(both),
                e.write_address.eq(errors.write.address),
                e.write[0].eq(errors.write.cell),
            ]
        with m.Else():
            m.d.comb += [
                e.halves.eq(results.e_write.valid.replicate(2)),
                e.write_address.eq(results.e_write.address),
                e.write.eq(results.e_write.word),
            ]
        return x, e, action
