"""The gradients of a layer's biases: sums of the errors of its outputs, as these come.

Interval 1; ``bias_clocks`` has the clocks from a word of errors to the write of its sums.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import adder_tree
from hw.learner.block.layer_clocks import READ_LATENCY, bias_clocks
from hw.learner.block.ports import gradient_write_layout
from hw.nn.layouts import vector_layout
from hw.stream.delay import delay

__all__ = ["BiasGradients"]


class BiasGradients(wiring.Component):
    """For each output n of the word that comes::

        bias_gradient[n] = (fresh ? 0 : bias_gradient[n]) + sum over lanes of delta[n]

    In binary32 the order of additions is: lanes by ``adder_tree``, then samples in order.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape

    Members
    -------
    valid : In(1), output : In(range(output_words)), fresh : In(1)
        Output word ``output`` of a sample comes in this clock; the sample is the first of a batch.
    delta : In [lanes][output_word]
        The word.
    bias_address : Out(range(output_words)), bias_gradient : In [output_word], bias_write : Out
        As in ``backward_signature``.
    """

    def __init__(self, config, shape):
        self.config, self.shape = config, shape
        self._clocks = bias_clocks(config, shape)
        total, words, size = config.bias_sum_shape, shape.output_words, shape.output_word
        number = config.arithmetic.shape("gradient")
        super().__init__(
            {
                "valid": In(1),
                "output": In(range(words)),
                "fresh": In(1),
                "delta": In(vector_layout(number, config.lanes, size)),
                "bias_address": Out(range(words)),
                "bias_gradient": In(vector_layout(total, size)),
                "bias_write": Out(gradient_write_layout(total, words, size)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        arithmetic, write, clocks = self.config.arithmetic, self.bias_write, self._clocks
        shape = self.config.bias_sum_shape
        address = delay(m, self.output, clocks.met - READ_LATENCY, name="address")
        fresh = delay(m, self.fresh, clocks.met, name="fresh")
        valid = delay(m, self.valid, clocks.written, name="valid", reset=True)
        written = delay(m, address, READ_LATENCY + arithmetic.add_latency, name="written")
        m.d.comb += [
            self.bias_address.eq(address),
            write.enable.eq(valid),
            write.address.eq(written),
        ]
        again = self.bias_gradient
        if clocks.forwards:
            hit = Signal()
            m.d.comb += hit.eq(write.enable & (write.address == address))
            hit = delay(m, hit, READ_LATENCY, name="hit")
            value = delay(m, write.value.as_value(), READ_LATENCY, name="forwarded")
            again = Signal.like(self.bias_gradient)
            m.d.comb += again.eq(Mux(hit, value, self.bias_gradient))
        for k in range(self.shape.output_word):
            lanes = [self.delta[lane][k] for lane in range(self.config.lanes)]
            total = adder_tree(m, arithmetic, lanes, name=f"lanes_{k}")
            total = delay(m, total, clocks.met - clocks.lanes, name=f"total_{k}")
            before = Signal(shape, name=f"before_{k}")
            m.d.comb += before.eq(Mux(fresh, Const(arithmetic.zero, shape), again[k]))
            m.d.comb += write.value[k].eq(
                arithmetic.add(m, total, before, name=f"sum_{k}", shape=shape)
            )
        return m
