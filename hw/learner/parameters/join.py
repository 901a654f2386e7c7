"""Joins the outputs of the memories of blocks and biases, a part of weights and gradients.

Interval 1: a part leaves a clock after it came, gradients that are read in one clock two.
"""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.block.layer_clocks import READ_LATENCY
from hw.learner.parameters.block_memory_shape import BlockMemoryShape
from hw.nn.layouts import vector_layout

__all__ = ["JOINED", "Join"]

#: The parameter sets whose memories have several parts in a word.
JOINED = ("online", "target")


class Join(wiring.Component):
    """The part that a walk visits: the OR of all parts, as the memories show only that one.
    Gradients that are read in one clock are all shown: they are chosen by the number of their part,
    and wait in a register, so that they are as late as the others.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape

    Members
    -------
    blocks, biases : In({online, target, gradient})
        The words of the two memories.
    bias : In(1), part : In
        Whether the part is of biases, and its number in the block: a clock before the words of
        weights and biases, and together with gradients that are read in one clock.
    hidden : In({online, target})
        A bit for each image word of a part: it leaves as zeros.
    online, target, gradient : Out [part]
        The numbers, a clock later; a bias' gradient as a sum of products, like a weight's.
    """

    def __init__(self, config, shape):
        self.config, self.shape = config, shape
        self._cut = BlockMemoryShape.of_blocks(config, shape, dual=False)
        self._sums = Shape.cast(self._cut.sums)
        weight = config.arithmetic.shape("weight")

        def words(cut):
            number = vector_layout(weight, cut.numbers)
            gradient = vector_layout(cut.sums, cut.numbers)
            return In(data.StructLayout({"online": number, "target": number, "gradient": gradient}))

        super().__init__(
            {
                "blocks": words(self._cut),
                "biases": words(BlockMemoryShape.of_biases(config, shape)),
                "bias": In(1),
                "part": In(range(max(shape.weight_parts, shape.bias_parts))),
                "hidden": In(
                    data.StructLayout(dict.fromkeys(JOINED, shape.part // shape.image_word))
                ),
                "online": Out(vector_layout(weight, shape.part)),
                "target": Out(vector_layout(weight, shape.part)),
                "gradient": Out(vector_layout(self._sums, shape.part)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        part = self.shape.part
        for name in JOINED:
            for lane in range(part):
                parts = [*self.blocks[name]][lane::part] + [*self.biases[name]][lane::part]
                hide = self.hidden[name][lane // self.shape.image_word]
                self._register(m, name, lane, reduce(or_, parts, Const(0)), hide)
        for lane in range(part):
            self._register(m, "gradient", lane, self._gradient(m, lane), 0)
        return m

    def _gradient(self, m, lane):
        part, arithmetic = self.shape.part, self.config.arithmetic
        sums = [*self.blocks.gradient][lane::part]
        biases = [arithmetic.times_one(word) for word in [*self.biases.gradient][lane::part]]
        if sums and self._cut.gradient_latency != READ_LATENCY:
            chosen = Signal(self._sums, name=f"chosen_{lane}", reset_less=True)
            m.d.sync += chosen.eq(Cat(sums).word_select(self.part, len(chosen)))
            with m.If(self.bias):
                m.d.sync += chosen.eq(0)
            sums = [chosen]
        return reduce(or_, [*sums, *biases], Const(0))

    def _register(self, m, name, lane, value, hide):
        number = getattr(self, name)[lane]
        register = Signal(number.shape(), name=f"{name}_{lane}", reset_less=True)
        m.d.sync += register.eq(value)
        with m.If(hide):
            m.d.sync += register.eq(0)
        m.d.comb += number.eq(register)
