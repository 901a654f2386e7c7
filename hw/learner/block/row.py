"""A row of a block: the error of an input of each word, from the errors of the outputs.

Interval 1; ``latency`` clocks from the first element of a word's last block to its error.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import interleaved_sum
from hw.learner.block.config import row_block
from hw.learner.block.layer_clocks import row_clocks
from hw.nn.activation import ACTIVATIONS
from hw.stream.delay import delay

__all__ = ["Row"]


class Row(wiring.Component):
    """``dx[i] = derivative(x[i]) * sum over words o of weight(i, o) . delta[o]``, where ``.`` is a
    dot product of ``output_word`` numbers, block by block.

    The sum is rounded to a gradient before it is multiplied by the derivative. In binary32, the
    order of additions is: of a word, ``Arithmetic.dot``; of words, the balanced tree of
    ``interleaved_sum``.

    Parameters
    ----------
    arithmetic : Arithmetic
    shape : BlockShape
    activation : str
        Name of the function that made x, in ``ACTIVATIONS``.

    Attributes
    ----------
    clocks : RowClocks
    latency : int
        ``clocks.dx``.

    Members
    -------
    block : In(row_block)
        With element 0 of a block. The blocks of an input word come in consecutive clocks.
    delta, weight : In [output_word]
        Word o of errors, and the column of block (i, o) for this row; element k comes
        ``k * dot_skew`` clocks after element 0.
    x : In
        The input whose error this is, ``clocks.x`` clocks after the last block of its word.
    dx : Out({valid, value, clipped})
        The errors of this input of each word; ``clipped``, that a sum was clipped in this clock,
        comes before its ``valid``, by the latency of the derivative.
    """

    def __init__(self, arithmetic, shape, activation):
        self.arithmetic, self.shape, self._activation = arithmetic, shape, ACTIVATIONS[activation]
        gradient = arithmetic.shape("gradient")
        super().__init__(
            {
                "block": In(row_block(shape)),
                "delta": In(data.ArrayLayout(gradient, shape.output_word)),
                "weight": In(data.ArrayLayout(arithmetic.shape("weight"), shape.output_word)),
                "x": In(arithmetic.shape("activation")),
                "dx": Out(data.StructLayout({"valid": 1, "value": gradient, "clipped": 1})),
            }
        )
        self.clocks = row_clocks(arithmetic, shape, activation)
        self.latency = self.clocks.dx

    def elaborate(self, platform):
        m = Module()
        arithmetic, words, block = self.arithmetic, self.shape.output_words, self.block
        total = arithmetic.sum_shape("weight", "gradient", count=self.shape.outputs)
        value = arithmetic.dot(m, [*self.weight], [*self.delta], name="dot")
        place = delay(m, block.output, self.clocks.dot, name="output")
        if not arithmetic.saturates:
            value, _ = interleaved_sum(m, arithmetic, value, place, words, 1, name="window")
        elif words > 1:
            partial = Signal(total, reset_less=True)
            m.d.sync += partial.eq(value + Mux(place == 0, 0, partial))
            value = partial
        rounded, clipped = arithmetic.requantize(
            m, value, "weight", "gradient", kind="gradient", name="rounded"
        )
        ends = block.valid & (block.output == words - 1)
        done = delay(m, ends, self.clocks.x, name="ends", reset=True)
        derived = self.clocks.dx - self.clocks.x
        m.d.comb += [
            self.dx.value.eq(
                self._activation.derive(m, arithmetic, rounded, self.x, name="derived")
            ),
            self.dx.clipped.eq(clipped & done),
            self.dx.valid.eq(delay(m, done, derived, name="done", reset=True)),
        ]
        return m
