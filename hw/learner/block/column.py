"""A column of a block: an output number of each word, from input words as they come.

Interval 1; ``latency`` clocks from a block's first element to its output number.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import interleaved_sum
from hw.errors import UsageError
from hw.learner.block.config import column_block
from hw.learner.block.layer_clocks import column_clocks
from hw.nn.activation import ACTIVATIONS
from hw.stream.delay import delay
from hw.stream.ram import Ram, style_of

__all__ = ["Column"]


class Column(wiring.Component):
    """``y[o] = activation(bias[o] + sum over words i of weight(i, o) . x[i])``, where ``.`` is a
    dot product of ``input_word`` numbers, block by block.

    In fixed point the sum is exact and rounded once. In binary32, the order of additions is:
    ``Arithmetic.dot`` within a word; words with equal i mod ``interleave`` from the left; the
    balanced tree of ``interleaved_sum`` over these sums; then the bias. A sum is read again after
    at least ``clocks.loop`` clocks, so ``output_words * interleave`` must be no less, unless each
    word has a sum of its own.

    Words may come with gaps between them, but the blocks of a word come in consecutive clocks,
    and in binary32 so do the last ``interleave`` words.

    Parameters
    ----------
    arithmetic : Arithmetic
    shape : BlockShape
        UsageError if its ``interleave`` is too small for the loop of sums.
    activation : str
        Name of the function, in ``ACTIVATIONS``.

    Attributes
    ----------
    clocks : ColumnClocks
    latency : int
        ``clocks.y``.

    Members
    -------
    block : In(column_block)
        With element 0 of a block.
    x, weight : In [input_word]
        Word i, and the row of block (i, o) for this column; element k comes ``k * dot_skew`` clocks
        after element 0.
    bias : In
        The weight that is the bias of the block's output, ``clocks.bias`` clocks after ``block``.
    y : Out({valid, value, clipped})
        The output numbers of a word o, o = 0, 1, ...; ``clipped``, that a sum was clipped in this
        clock, comes before its ``valid``, by the latency of the activation.
    """

    def __init__(self, arithmetic, shape, activation):
        self.arithmetic, self.shape, self._activation = arithmetic, shape, ACTIVATIONS[activation]
        self.check(arithmetic, shape)
        self.clocks = column_clocks(arithmetic, shape, activation)
        self.latency = self.clocks.y
        number = arithmetic.shape("activation")
        super().__init__(
            {
                "block": In(column_block(shape)),
                "x": In(data.ArrayLayout(number, shape.input_word)),
                "weight": In(data.ArrayLayout(arithmetic.shape("weight"), shape.input_word)),
                "bias": In(arithmetic.shape("weight")),
                "y": Out(data.StructLayout({"valid": 1, "value": number, "clipped": 1})),
            }
        )

    @staticmethod
    def check(arithmetic, shape):
        """Raises UsageError if a column cannot have these arguments."""
        loop = column_clocks(arithmetic, shape).loop
        if shape.returns and shape.output_words * shape.interleave < loop:
            raise UsageError(
                f"output words times interleave must be at least {loop}, "
                f"not {shape.output_words} x {shape.interleave}"
            )
        if arithmetic.saturates and shape.interleave > 1:
            raise UsageError(f"interleave must be 1 in fixed point, not {shape.interleave!r}")

    def elaborate(self, platform):
        m = Module()
        arithmetic, shape, block = self.arithmetic, self.shape, self.block
        total = arithmetic.sum_shape("weight", "activation", count=shape.inputs + 1)
        dot = arithmetic.dot(m, [*self.x], [*self.weight], name="dot")
        bias = arithmetic.times_one(self.bias)
        if arithmetic.saturates:
            value = self._fixed(m, total, dot, bias)
        else:
            value = self._float(m, total, dot, bias)
        ends = block.valid & block.last & (block.apart == shape.interleave - 1)
        rounded, clipped = arithmetic.requantize(
            m, value, "weight", "activation", kind="activation", name="rounded"
        )
        done = delay(m, ends, self.clocks.rounded, name="ends", reset=True)
        applied = self.clocks.y - self.clocks.rounded
        m.d.comb += [
            self.y.value.eq(self._activation.apply(m, arithmetic, rounded, name="applied")),
            self.y.clipped.eq(clipped & done),
            self.y.valid.eq(delay(m, done, applied, name="done", reset=True)),
        ]
        return m

    def _fixed(self, m, shape, dot, bias):
        """Sums begin with the bias."""
        valid, first = (
            delay(m, self.block[name], self.clocks.dot, name=name, reset=name == "valid")
            for name in ("valid", "first")
        )
        total, before = Signal(shape, reset_less=True), Signal(shape)
        m.d.comb += before.eq(bias)
        if self.shape.returns:
            m.d.comb += before.eq(Mux(first, bias, self._again(m, total, valid)))
        with m.If(valid):
            m.d.sync += total.eq(dot + before)
        return total

    def _float(self, m, shape, dot, bias):
        """Sums begin with -0, and end with the bias."""
        arithmetic, value = self.arithmetic, dot
        if self.shape.returns:
            valid, first = (
                delay(m, self.block[name], self.clocks.dot, name=name, reset=name == "valid")
                for name in ("valid", "first")
            )
            value, before = Signal(shape, name="total"), Signal(shape)
            written = delay(m, valid, arithmetic.add_latency, name="summed", reset=True)
            again = self._again(m, value, written)
            m.d.comb += [
                before.eq(Mux(first, arithmetic.zero, again)),
                value.eq(arithmetic.add(m, dot, before, name="add")),
            ]
        apart = delay(m, self.block.apart, self.clocks.summed, name="apart")
        count, stride = self.shape.interleave, self.shape.output_words
        value, _ = interleaved_sum(m, arithmetic, value, apart, count, stride, name="window")
        return arithmetic.add(m, value, bias, name="with_bias")

    def _again(self, m, total, written):
        """The sum so far, from the previous block of this sum. ``total`` is kept if ``written``,
        the latency of an addition after the sum's addition begins."""
        shape, latency = self.shape, self.arithmetic.add_latency
        if self.clocks.loop == latency:
            return delay(m, total, shape.output_words - 1, name="again", enable=written)
        depth = shape.output_words * shape.interleave
        place = Signal(range(depth))
        m.d.comb += place.eq(self.block.apart * shape.output_words + self.block.output)
        m.submodules.sums = sums = Ram(width=len(total), depth=depth, style=style_of(depth))
        read = delay(m, place, self.clocks.dot - 1, name="place")
        if self.arithmetic.saturates:
            written = delay(m, written, latency, name="kept", reset=True)
        m.d.comb += [
            sums.read_address.eq(read),
            sums.write_address.eq(delay(m, read, 1 + latency, name="kept_place")),
            sums.write_data.eq(total),
            sums.write_enable.eq(written),
        ]
        return sums.read_data.as_signed() if self.arithmetic.saturates else sums.read_data
