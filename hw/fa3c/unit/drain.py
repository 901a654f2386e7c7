"""Keeps the sums of the array, and sends the sums of a group as outputs or as gradients.

A row of outputs takes 16 / drain_words clocks for each partial sum, a row of gradients one clock.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.binary32 import Binary32
from hw.arith.float32.format import FIELDS, WIDTH
from hw.fa3c.config import SLOTS
from hw.fa3c.rows import ROW_WIDTH
from hw.fa3c.unit.array import PLACES
from hw.fa3c.unit.output_rows import SUMS, OutputRows, sums_layout
from hw.stream.delay import delay
from hw.stream.queue import Queue
from hw.stream.ram import Ram

__all__ = ["GROUP", "READ", "Drain"]

#: A group: how the sums in one half of the output line leave, when all of them are there.
#: If ``gradient``, rows go to ``gradients`` unchanged: the rows of ``count`` slots for every lane,
#: and if ``bias``, the first lane's row of one more slot. Otherwise ``count`` outputs go to ``o``.
#: ``split``: each output is the total of the config's partial sums. ``mask``: an output whose word
#: of the mask is zero becomes +0, and there is no bias. ``relu``, without ``mask``: a negative
#: output becomes +0.
GROUP = data.StructLayout(
    {"gradient": 1, "count": range(SLOTS + 1), "bias": 1, "relu": 1, "mask": 1, "split": 1}
)

#: Clocks from the address of a sum to its words.
READ = 2

_MINUS_ZERO = Binary32().zero


class Drain(wiring.Component):
    """The output line: 64 places for the sums of all lanes. Groups use half 0, half 1, half 0, ...

    Output n of a group adds up all lanes l and all partial sums p (one, or ``config.partials`` if
    ``split``). Partial sum p of output n is in slot ``n + p * 32 / partials``::

        output[n][r] = tree over p * lanes + l of sums[p][l][r], + bias[r], then ReLU or mask

    for each word r = 0..15 of a row. ``o`` gives the row of output 0, of output 1, and so on. If a
    group has ``gradient``, its sums leave as they are: a row for slot 0, lane 0; slot 0, lane 1;
    ... Source: FA3C 4.5, the scatter of PE outputs over rows.

    Fields of a GROUP: ``count``, its outputs or, with ``gradient``, its slots; ``bias``, one slot
    more, of which the row of lane 0 alone leaves; ``relu``, a negative output becomes +0;
    ``mask``, an output whose word in ``masks`` is 0 becomes +0, and no bias is added.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    sums : In(lanes * 512), place : In(6), done : In(1)
        If ``done``, ``sums`` are written to the place half * 32 + slot: 16 sums of each lane.
    group : In(stream of GROUP)
        A group whose sums have all come: it comes in the clock of its last ``done`` or later.
        There is always room for two.
    free : Out(1)
        One clock: the half of the oldest group is free, and may be written in this clock already.
    biases : In(stream of 512 bits)
        A row of biases for each group that has neither ``gradient`` nor ``mask``; taken with the
        last output of the group.
    masks : In(stream of 512 bits)
        A row for each output of a group with ``mask``. Subnormal words count as zero.
    o : Out(stream of 512 bits)
        Rows of outputs.
    gradients : Out(stream of 512 bits)
        Rows of a gradient.
    busy : Out(1)
        From the clock after a group was taken to the clock in which its last row leaves.
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

    @staticmethod
    def latency_of(config):
        """Clocks from a group to its first row of outputs, for one partial sum, as in
        ``OutputRows``."""
        return Queue.latency_of(2) + READ + OutputRows.latency_of(config)

    def elaborate(self, platform):
        m = Module()
        m.submodules.line = line = Ram(width=len(self.sums), depth=PLACES, style="distributed")
        m.submodules.groups = groups = Queue(GROUP, 2)
        m.submodules.rows = rows = OutputRows(self.config, READ)
        wiring.connect(m, wiring.flipped(self.o), rows.o)
        wiring.connect(m, wiring.flipped(self.group), groups.i)
        group = groups.o.p

        # Outputs and gradients read the line in turn, as groups ask, and share these signals.
        slot, half, partial = Signal(range(SLOTS)), Signal(), Signal()
        slot_end, end = Signal(), Signal()
        row_shown = Signal()  # the line's output register has a row for ``gradients``
        bias = Signal()  # the row of gradients of biases, behind the last slot
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
        """Reads each place ``steps`` times, each time for other words of its rows. Returns the read
        enable and whether the slot is finished."""
        config, group = self.config, groups.p
        steps = OutputRows.steps_of(config)
        step = Signal(range(steps))
        begins, operand, read = Signal(), Signal(), Signal()
        last_step, last_partial, slot_end = Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq((step == 0) & (partial == 0)),
            operand.eq(Mux(group.mask, self.masks.valid, self.biases.valid)),
            # Only the first step of a row may wait.
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

        # The words of this step, ``READ`` clocks later.
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
        """Reads each place once for each lane; returns the same as ``_outputs``."""
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
