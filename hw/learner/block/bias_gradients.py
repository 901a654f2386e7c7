"""The gradients of a layer's biases: sums of the errors of its outputs, as these come.

Interval 1; ``latency_of`` clocks from a word of errors to the write of its sums.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import adder_tree
from hw.learner.block.ports import READ_LATENCY, bias_sum_shape, gradient_write_layout
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
        total, words, size = bias_sum_shape(config), shape.output_words, shape.output_word
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

    @classmethod
    def latency_of(cls, config):
        """Clocks from a word to the write of its sums."""
        return cls.meeting_of(config) + config.arithmetic.add_latency

    @classmethod
    def spacing_of(cls, config, shape):
        """Clocks from a word to the same word of the next sample, at least."""
        loop = READ_LATENCY + config.arithmetic.add_latency
        return loop if cls.forwards(config, shape) else loop + 1

    @staticmethod
    def forwards(config, shape):
        """Whether a sum may be read in the clock in which it is written: only if there are so few
        words that no clock lies between."""
        return shape.output_words <= READ_LATENCY + config.arithmetic.add_latency

    @staticmethod
    def meeting_of(config):
        """Clocks from a word to the addition of its sum over lanes to the gradient."""
        tree = (config.lanes - 1).bit_length() * config.arithmetic.add_latency
        return max(READ_LATENCY, tree)

    def elaborate(self, platform):
        m = Module()
        arithmetic, write = self.config.arithmetic, self.bias_write
        meet, shape = self.meeting_of(self.config), bias_sum_shape(self.config)
        tree = (self.config.lanes - 1).bit_length() * arithmetic.add_latency
        address = delay(m, self.output, meet - READ_LATENCY, name="address")
        fresh = delay(m, self.fresh, meet, name="fresh")
        valid = delay(m, self.valid, meet + arithmetic.add_latency, name="valid", reset=True)
        written = delay(m, address, READ_LATENCY + arithmetic.add_latency, name="written")
        m.d.comb += [
            self.bias_address.eq(address),
            write.enable.eq(valid),
            write.address.eq(written),
        ]
        again = self.bias_gradient
        if self.forwards(self.config, self.shape):
            hit = Signal()
            m.d.comb += hit.eq(write.enable & (write.address == address))
            hit = delay(m, hit, READ_LATENCY, name="hit")
            value = delay(m, write.value.as_value(), READ_LATENCY, name="forwarded")
            again = Signal.like(self.bias_gradient)
            m.d.comb += again.eq(Mux(hit, value, self.bias_gradient))
        for k in range(self.shape.output_word):
            lanes = [self.delta[lane][k] for lane in range(self.config.lanes)]
            total = adder_tree(m, arithmetic, lanes, name=f"lanes_{k}")
            total = delay(m, total, meet - tree, name=f"total_{k}")
            before = Signal(shape, name=f"before_{k}")
            m.d.comb += before.eq(Mux(fresh, Const(arithmetic.zero, shape), again[k]))
            m.d.comb += write.value[k].eq(
                arithmetic.add(m, total, before, name=f"sum_{k}", shape=shape)
            )
        return m
