"""What becomes of sums: the output line keeps them; a group's leave as outputs or as gradients.

A row of outputs every 16 / drain_words clocks for each partial sum, a row of gradients a clock.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.binary32 import Binary32
from hw.arith.float32.format import FIELDS, WIDTH
from hw.estimate import Estimate
from hw.fa3c.config import SLOTS
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.fa3c.unit.array import PLACES
from hw.fa3c.unit.output_rows import SUMS, OutputRows, sums_layout
from hw.stream.delay import delay
from hw.stream.queue import Queue
from hw.stream.ram import Ram

__all__ = ["GROUP", "READ", "Drain"]

#: What is to be done with a half of the output line, whose sums are all there.
#: ``gradient``: its rows go to ``gradients`` as they are, those of ``count`` slots and, with
#: ``bias``, the first lane's of one more. Else ``count`` outputs go to ``o``: ``split`` into the
#: config's partial sums; with ``mask``, those stay whose word of the mask is not zero, and there
#: is no bias; else with ``relu``, negative ones become +0.
GROUP = data.StructLayout(
    {"gradient": 1, "count": range(SLOTS + 1), "bias": 1, "relu": 1, "mask": 1, "split": 1}
)

#: Clocks from the address of a sum to the words that are taken of it.
READ = 2

_MINUS_ZERO = Binary32().zero


class Drain(wiring.Component):
    """The output line: 64 places of all lanes' sums, of which groups take half 0, 1, 0, ...

    Output n of a group is, over the partial sums p (one, or ``config.partials`` where ``split``)
    and the lanes l, of slots ``n + p * 32 / partials``::

        tree over p * lanes + l of sums, + bias[r], ReLU or mask        (``OutputRows``)

    Its rows leave ``o`` in order, r = 0..15 in each. Gradients leave as rows of slot 0, lane 0;
    slot 0, lane 1; ... Source: FA3C 4.5, the scatter of PE outputs over rows.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    sums : In(lanes * 512), place : In(6), done : In(1)
        Of ``PeArray``.
    group : In(stream.Signature(GROUP))
        In the clock of its last ``done``, or later. There is always room for two.
    free : Out(1)
        One clock: the half of the oldest group may be written, in this clock already.
    biases : In(stream.Signature(512))
        One row for each group that has neither ``gradient`` nor ``mask``; it goes with the last.
    masks : In(stream.Signature(512))
        One row for each output of a group with ``mask``. Subnormal words are zeros.
    o : Out(stream.Signature(512))
    gradients : Out(stream.Signature(512))
    busy : Out(1)
        From the clock after a group was taken to the one in which its last row leaves.
    """

    def __init__(self, config):
        self.config = config
        row = stream.Signature(ROW_WIDTH)
        super().__init__(
            {
                "sums": In(config.lanes * ROW_WIDTH),
                "place": In(range(PLACES)),
                "done": In(1),
                "group": In(stream.Signature(GROUP)),
                "free": Out(1),
                "biases": In(row),
                "masks": In(row),
                "o": Out(row),
                "gradients": Out(row),
                "busy": Out(1),
            }
        )

    @classmethod
    def estimate(cls, config):
        """``latency`` from a group to its first row of outputs, ``interval`` between rows: where
        there is one partial sum, as of ``OutputRows``.

        Resources are fitted to what yosys maps to UltraScale+: adders with the delays beside them;
        for each lane its places in the line and the multiplexers behind them.
        """
        rows, lanes, words = OutputRows.estimate(config), config.lanes, config.drain_words
        adders = words * (lanes + config.partials - 1)
        return Estimate(
            latency=Queue.latency_of(2) + READ + rows.latency,
            interval=rows.interval,
            lut=370 * (adders + 1) + lanes * (715 + 10 * (ROW - words)),
            ff=380 * adders + WIDTH * (ROW * (lanes + 1) + words * lanes),
            dsp=rows.dsp,
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.line = line = Ram(width=len(self.sums), depth=PLACES, style="distributed")
        m.submodules.groups = groups = Queue(GROUP, 2)
        m.submodules.rows = rows = OutputRows(self.config, READ)
        wiring.connect(m, wiring.flipped(self.o), rows.o)
        wiring.connect(m, wiring.flipped(self.group), groups.i)
        group = groups.o.p

        # Both ways read the line, in turn as groups want it, and share these.
        slot, half, partial = Signal(range(SLOTS)), Signal(), Signal()
        slot_end, end = Signal(), Signal()
        row_shown = Signal()  # a row of gradients is on show, from the line's output register
        bias = Signal()  # the row of gradients after the last slot's
        output, output_end = self._outputs(m, groups.o, line, rows, partial, row_shown, end)
        gradient, gradient_end = self._gradients(m, groups.o, line, row_shown, bias)
        m.d.comb += [
            bias.eq(group.gradient & group.bias & (slot == group.count)),
            slot_end.eq(output_end | gradient_end),
            end.eq(
                slot_end & (bias | ((slot + 1 == group.count) & ~(group.gradient & group.bias)))
            ),
            groups.o.ready.eq(end),
            line.write_enable.eq(self.done),
            line.write_address.eq(self.place),
            line.write_data.eq(self.sums),
            line.read_enable.eq(output | gradient),
            line.read_address.eq(Cat(slot | partial.shift_left(len(slot) - 1), half)),
            self.busy.eq((groups.level != 0) | rows.busy | row_shown),
        ]
        m.d.sync += self.free.eq(end)
        with m.If(end):
            m.d.sync += [slot.eq(0), half.eq(~half)]
        with m.Elif(slot_end):
            m.d.sync += slot.eq(slot + 1)
        return m

    def _outputs(self, m, groups, line, rows, partial, row_shown, end):
        """Each place is read ``steps`` times, for other words of its row; returns the read enable
        and whether the slot is finished."""
        config, group = self.config, groups.p
        steps = OutputRows.steps_of(config)
        step = Signal(range(steps))
        begins, operand, read = Signal(), Signal(), Signal()
        last_step, last_partial, slot_end = Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq((step == 0) & (partial == 0)),
            operand.eq(Mux(group.mask, self.masks.valid, self.biases.valid)),
            # Only the beginning of a row waits.
            read.eq(
                groups.valid & ~group.gradient & (~begins | (rows.room & operand & ~row_shown))
            ),
            rows.begun.eq(read & begins),
            last_step.eq(step == steps - 1),
            last_partial.eq((partial == config.partials - 1) | ~group.split),
            slot_end.eq(read & last_step & last_partial),
            self.masks.ready.eq(slot_end & group.mask),
            self.biases.ready.eq(end & ~group.gradient & ~group.mask),
        ]
        with m.If(read):
            m.d.sync += step.eq(Mux(last_step, 0, step + 1))
            with m.If(last_step):
                m.d.sync += partial.eq(~last_partial)

        # The words of this step, all ``READ`` clocks later.
        width = config.drain_words * WIDTH
        s1_step = delay(m, step, 1, name="step")
        s2_words = Signal(sums_layout(config), reset_less=True)
        for lane in range(config.lanes):
            row = line.read_data.word_select(lane, ROW_WIDTH)
            words = row.word_select(s1_step, width)
            for k in range(config.drain_words):
                m.d.sync += s2_words[k][lane].eq(words.word_select(k, WIDTH))
        biases, mask = Signal(rows.biases.shape()), Signal(rows.biases.shape())
        keep, control = Signal(config.drain_words), Signal(SUMS)
        m.d.comb += [
            mask.eq(self.masks.payload.word_select(step, width)),
            control.valid.eq(read & last_partial),
            control.partial.eq(partial),
            control.relu.eq(group.relu & ~group.mask),
        ]
        for k in range(config.drain_words):
            bias = self.biases.payload.word_select(step, width).word_select(k, WIDTH)
            exponent = data.View(FIELDS, mask[k]).exponent
            m.d.comb += [
                biases[k].eq(Mux(group.mask, _MINUS_ZERO, bias)),
                keep[k].eq(~group.mask | (exponent != 0)),
            ]
        s2_valid = delay(m, control.valid, READ, name="valid", reset=True)
        m.d.comb += [
            rows.words.eq(s2_words),
            rows.control.eq(delay(m, control, READ, name="control")),
            rows.control.valid.eq(s2_valid),
            rows.biases.eq(delay(m, biases, READ, name="biases")),
            rows.keep.eq(delay(m, keep, READ, name="keep")),
        ]
        return read, slot_end

    def _gradients(self, m, groups, line, row_shown, bias):
        """Each place is read once for each lane; returns as ``_outputs``."""
        lanes = self.config.lanes
        lane = Signal(range(lanes))
        s1_lane = Signal.like(lane, reset_less=True)
        advance, read, last_lane = Signal(), Signal(), Signal()
        m.d.comb += [
            self.gradients.valid.eq(row_shown),
            self.gradients.payload.eq(line.read_data.word_select(s1_lane, ROW_WIDTH)),
            advance.eq(~row_shown | self.gradients.ready),
            read.eq(groups.valid & groups.p.gradient & advance),
            last_lane.eq(bias | (lane == lanes - 1)),
        ]
        with m.If(advance):
            m.d.sync += row_shown.eq(read)
        with m.If(read):
            m.d.sync += [s1_lane.eq(lane), lane.eq(Mux(last_lane, 0, lane + 1))]
        return read, read & last_lane
