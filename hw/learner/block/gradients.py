"""The gradients of a layer's weights: a block a clock grows by a super-sample's products.

Interval 1; ``latency`` clocks from a block to its write.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.block.gradient_element import GradientElement
from hw.learner.block.layer_clocks import gradient_clocks, gradient_latency
from hw.learner.block.ports import gradient_write_layout
from hw.nn.layouts import vector_layout
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Gradients"]


class Gradients(wiring.Component):
    """``gradient[i, o] = (fresh ? 0 : gradient[i, o]) + sum over lanes of x[i] delta[o]`` for a
    block (i, o) of weights, each a product of a number of input word i and one of output word o.

    A block is ``input_word`` times ``output_word`` ``GradientElement``, which has the order of
    additions. In fixed point sums run through the DSP blocks of all lanes, and the gradient enters
    the first block, if a block comes again late enough.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape

    Attributes
    ----------
    clocks : GradientClocks
    latency : int
        ``clocks.written``.

    Members
    -------
    valid : In(1), address : In(range(blocks)), fresh : In(1)
        A block comes in this clock; its address; its sample is the first of a batch.
    delta : In [lanes][output_word], x : In [lanes][input_word]
        The words of the block, READ_LATENCY clocks after it.
    gradient_address, gradient, gradient_write
        As in ``backward_signature``.
    """

    def __init__(self, config, shape):
        self.config, self.shape = config, shape
        arithmetic, lanes = config.arithmetic, config.lanes
        sums = arithmetic.gradient_sum_shape(config.batch)
        block = shape.input_word, shape.output_word
        self.clocks = gradient_clocks(config, shape)
        self.latency = self.clocks.written
        self._element = arithmetic, lanes, config.batch, self.clocks.cascaded
        super().__init__(
            {
                "valid": In(1),
                "address": In(range(shape.blocks)),
                "fresh": In(1),
                "delta": In(vector_layout(arithmetic.shape("gradient"), lanes, shape.output_word)),
                "x": In(vector_layout(arithmetic.shape("activation"), lanes, shape.input_word)),
                "gradient_address": Out(range(shape.blocks)),
                "gradient": In(vector_layout(sums, *block)),
                "gradient_write": Out(gradient_write_layout(sums, shape.blocks, *block)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape, skew, write = self.shape, self.config.arithmetic.dot_skew, self.gradient_write
        ahead = self.clocks.word - gradient_latency(shape)
        address = delay(m, self.address, ahead, name="address")
        fresh = delay(m, self.fresh, self.clocks.word, name="fresh")
        m.d.comb += [
            self.gradient_address.eq(address),
            write.address.eq(delay(m, address, self.latency - ahead, name="written")),
            write.enable.eq(delay(m, self.valid, self.latency, name="valid", reset=True)),
        ]
        delta, x = (
            [
                delay(m, port[lane].as_value(), lane * skew, name=f"{name}_{lane}")
                for lane in range(self.config.lanes)
            ]
            for name, port in (("delta", self.delta), ("x", self.x))
        )
        for k in range(shape.input_word):
            for n in range(shape.output_word):
                m.submodules[f"element_{k}_{n}"] = element = SharedModule(
                    GradientElement, *self._element
                )
                m.d.comb += [
                    element.word.eq(self.gradient[k][n]),
                    element.fresh.eq(fresh),
                    write.value[k][n].eq(element.total),
                ]
                for lane in range(self.config.lanes):
                    m.d.comb += [
                        element.delta[lane].eq(data.View(self.delta[lane].shape(), delta[lane])[n]),
                        element.x[lane].eq(data.View(self.x[lane].shape(), x[lane])[k]),
                    ]
        return m
