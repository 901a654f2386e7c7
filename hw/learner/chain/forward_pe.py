"""One PE of a forward chain: products, their tree, the accumulator, and the way out.

Interval 1; ``latency`` clocks from a row of a token to its sum at ``sum_o``.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import adder_tree, adder_tree_estimate
from hw.estimate import Estimate, times, together
from hw.learner.chain.token_issue import FORWARD_TOKEN, sum_shape
from hw.learner.memory_ports import READ_LATENCY, weights_layout
from hw.nn.layouts import vector_layout
from hw.stream.delay import delay, delay_estimate

__all__ = ["ForwardPE"]


class ForwardPE(wiring.Component):
    """``sum[row] = sum over words of weight[row, word] . x[word]`` for each group and lane, where
    ``.`` is a dot product of ``vector`` numbers.

    In each clock, the tree over the ``vector`` products is added to the sum of ``rows *
    interleave`` clocks ago, which is how long the loop of adder and registers is. The first
    ``interleave`` tokens of a sample are added to zero; a macro-cycle without a token adds zero.
    Sums leave in the last ``interleave`` tokens, row by row. The sums of the PE behind this one
    come ``rows`` clocks and a register later, so that they leave after them.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
    weight_sources : tuple of "online" or "target"
        For each group, whose weights it takes.
    outputs : int
        Outputs of this PE: the sums of its first ``outputs`` rows leave, the others are padding.

    Members
    -------
    hop : In(1), row : In(range(layer.rows))
        ``hop``: this is the last clock of a macro-cycle. ``row``: the row in which all PEs are.
    token : In(FORWARD_TOKEN), token_o : Out(FORWARD_TOKEN)
        The token in this PE; the same token a macro-cycle later, for the next PE.
    x, x_o : In, Out [groups][lanes][vector]
        The words of ``token`` and ``token_o``, each ``READ_LATENCY`` clocks behind its token.
    address : Out(range(layer.depth))
        The word of this PE's memory that is read.
    weight : In(weights_layout)
        That word of the online and of the target network, READ_LATENCY clocks after ``address``.
    sum_i, sum_o : In, Out struct {valid, value: [groups][lanes]}
        Sums on their way out: from the PE behind this one, and to the PE before it.
    """

    def __init__(self, config, layer, weight_sources, outputs):
        self.config, self.layer, self.weight_sources, self.outputs = (
            config,
            layer,
            weight_sources,
            outputs,
        )
        sizes = len(weight_sources), config.lanes
        word = vector_layout(config.arithmetic.shape("activation"), *sizes, layer.vector)
        sums = data.StructLayout(
            {"valid": 1, "value": vector_layout(sum_shape(config, layer), *sizes)}
        )
        super().__init__(
            {
                "hop": In(1),
                "row": In(range(layer.rows)),
                "token": In(FORWARD_TOKEN),
                "token_o": Out(FORWARD_TOKEN),
                "x": In(word),
                "x_o": Out(word),
                "address": Out(range(layer.depth)),
                "weight": In(weights_layout(config, layer.vector)),
                "sum_i": In(sums),
                "sum_o": Out(sums),
            }
        )

    @staticmethod
    def latency_of(config, layer):
        """Clocks from a row of a sample's last token to the sum of that row at ``sum_o``."""
        arithmetic = config.arithmetic
        levels = layer.vector.bit_length()  # of the tree, and the accumulator
        products = READ_LATENCY + arithmetic.multiply_latency
        return products + levels * arithmetic.add_latency + 1

    @classmethod
    def estimate(cls, config, layer, paths):
        """Resources of a PE of ``paths`` groups times lanes."""
        arithmetic, vector = config.arithmetic, layer.vector
        word, total, product = (
            Shape.cast(shape).width
            for shape in (
                arithmetic.shape("activation"),
                sum_shape(config, layer),
                arithmetic.sum_shape("weight", "activation", count=1),
            )
        )
        latency, address = cls.latency_of(config, layer), (layer.depth - 1).bit_length()
        dot_clocks = latency - 1 - arithmetic.add_latency
        waiting = layer.rows * layer.interleave - arithmetic.add_latency
        # In fixed point, the adder takes one of its two choices; the other, and what leaves, are
        # each a choice of their own.
        dot = product + vector.bit_length() - 1 if arithmetic.saturates else 2 * total
        path = (
            times(vector, arithmetic.multiply_estimate()),
            adder_tree_estimate(arithmetic, product, vector, products=True),
            arithmetic.add_estimate(total),
            delay_estimate(total, waiting),
            Estimate(lut=dot + total, ff=total + vector * word),
        )
        control = Estimate(lut=2 * address + 3, ff=address + FORWARD_TOKEN.size + latency + 2)
        return together([times(paths, *path), delay_estimate(2, dot_clocks), control])

    def elaborate(self, platform):
        m = Module()
        config, layer = self.config, self.layer
        arithmetic = config.arithmetic
        latency = self.latency_of(config, layer)

        # Tokens come in the order of the addresses, so a PE counts them by itself.
        x_hop = delay(m, self.hop, READ_LATENCY, name="hop", reset=True)
        with m.If(self.token.valid):
            m.d.sync += self.address.eq(Mux(self.address == layer.depth - 1, 0, self.address + 1))
        with m.If(self.hop):
            m.d.sync += self.token_o.eq(self.token)
        x_o = Signal.like(self.x, reset_less=True)
        with m.If(x_hop):
            m.d.sync += x_o.eq(self.x)
        m.d.comb += self.x_o.eq(x_o)

        # Flags wait for the dot, the last of them for the sum.
        emit = Signal()
        m.d.comb += emit.eq(self.token.valid & self.token.last & (self.row < self.outputs))
        dot_clocks = latency - 1 - arithmetic.add_latency
        valid = delay(m, self.token.valid, dot_clocks, name="valid")
        first = delay(m, self.token.first, dot_clocks, name="first")
        emit = delay(m, emit, latency - 1, name="emit", reset=True)
        m.d.sync += self.sum_o.valid.eq(emit | self.sum_i.valid)

        value = Signal(self.sum_o.value.shape(), reset_less=True)
        m.d.comb += self.sum_o.value.eq(value)
        for group, network in enumerate(self.weight_sources):
            for lane in range(config.lanes):
                dot = self._dot(m, self.weight[network], self.x[group][lane], f"{group}_{lane}")
                total = self._accumulate(m, dot, valid, first, f"{group}_{lane}")
                m.d.sync += value[group][lane].eq(Mux(emit, total, self.sum_i.value[group][lane]))
        return m

    def _dot(self, m, weight, x, name):
        arithmetic = self.config.arithmetic
        values = [
            arithmetic.multiply(m, weight[k], x[k], name=f"product_{name}_{k}")
            for k in range(self.layer.vector)
        ]
        return adder_tree(m, arithmetic, values, name=f"tree_{name}")

    def _accumulate(self, m, dot, valid, first, name):
        arithmetic, layer = self.config.arithmetic, self.layer
        shape = sum_shape(self.config, layer)
        zero = Const(arithmetic.zero, shape)
        before = Signal(shape, name=f"before_{name}")
        addend = Mux(valid, dot, Const(arithmetic.zero, dot.shape()))
        total = arithmetic.add(m, addend, before, name=f"sum_{name}", shape=shape)
        waiting = layer.rows * layer.interleave - arithmetic.add_latency
        again = delay(m, total, waiting, name=f"again_{name}")
        m.d.comb += before.eq(Mux(first, zero, again))
        return total
