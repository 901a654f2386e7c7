"""One PE of a backward chain: delta stays, x and the sums of dx move on.

Interval 1; ``product_latency`` clocks from a row of a token to its products, ``write_latency`` to
the write of its weight gradients.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import adder_tree, adder_tree_estimate
from hw.estimate import Estimate, times, together
from hw.learner.chain.delta_banks import load_layout
from hw.learner.memory_ports import READ_LATENCY, gradient_write_layout
from hw.nn.layouts import vector_layout
from hw.stream.delay import delay, delay_estimate
from hw.stream.ram import Ram, style_of

__all__ = ["BACKWARD_TOKEN", "BackwardPE", "partial_layout", "partial_shape"]

#: Bits of the widest number that a DSP block adds to its product.
_PACKED = 48
#: A word under way, of a sample with its delta in ``bank``; ``fresh`` in the first of a batch.
BACKWARD_TOKEN = data.StructLayout({"valid": 1, "last": 1, "bank": 1, "fresh": 1})


def partial_shape(config, layer):
    """Shape of a sum of the products of all outputs."""
    count = layer.rows * layer.length
    return config.arithmetic.sum_shape("weight", "gradient", count=count)


def partial_layout(config, layer, groups):
    """Layout of the sums, for an input word, over the products of all outputs:
    ``[groups][lanes][vector]``."""
    return vector_layout(partial_shape(config, layer), groups, config.lanes, layer.vector)


class BackwardPE(wiring.Component):
    """In each clock a PE multiplies for one of its outputs o and one word of inputs::

        partial_o = partial + weight[o, word] * delta[o]      (each group, lane, input)
        gradient[o, word] = (fresh ? 0 : gradient[o, word])
                            + tree over lanes of delta[o] * x[word]     (trained groups)

    A word stays in a PE for a macro-cycle of ``rows`` clocks, one output after the other. fresh:
    the sample is the first of a batch.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
    groups, trained : int
        ``groups``: data paths. ``trained``: how many of them, counted from the first, give weight
        gradients.
    input_gradient : bool
        Whether dx is wanted; if not, there are no ``weight``, ``partial`` and ``partial_o``.
    outputs : int
        Outputs of this PE; its rows behind these are padding.
    before : int
        How many PEs are before this one in its chain; 2 also stands for more than two. The first
        PE (0) has no ``partial`` to add.

    Members
    -------
    position : In(range(layer.length))
        The number of this PE in its chain, with which ``load.position`` is compared.
    hop : In(1), row : In(range(layer.rows))
        ``hop``: this is the last clock of a macro-cycle. ``row``: the row in which all PEs are.
    token : In(BACKWARD_TOKEN), token_o : Out(BACKWARD_TOKEN)
        The token in this PE; the same token a macro-cycle later, for the next PE.
    x, x_o : In, Out [groups][lanes][vector]
        The words of ``token`` and ``token_o``, each READ_LATENCY clocks behind its token.
    load, load_o : In, Out(load_layout)
        An element of delta, from the PE before, and a clock later to the next PE. The PE with the
        number ``load.position`` also keeps it.
    address : Out(range(layer.depth))
        The word of this PE's memory that is read.
    weight : In [vector], gradient : In [vector]
        That word of weights and of gradient sums, READ_LATENCY clocks after ``address``.
    gradient_write : Out(gradient_write_layout)
        The new sums of a word's gradients.
    partial, partial_o : In, Out(partial_layout)
        Sums over the PEs before this one; sums that include this one, ``result_latency`` clocks
        after ``token`` was in their row.
    """

    def __init__(self, config, layer, groups, trained, input_gradient, outputs, before):
        self.config, self.layer, self.groups, self.trained = config, layer, groups, trained
        self.input_gradient, self.outputs, self.before = input_gradient, outputs, before
        arithmetic = config.arithmetic
        word = vector_layout(arithmetic.shape("activation"), groups, config.lanes, layer.vector)
        load = load_layout(config, layer, groups)
        gradient = arithmetic.gradient_sum_shape(config.batch)
        ports = {
            "position": In(range(layer.length)),
            "hop": In(1),
            "row": In(range(layer.rows)),
            "token": In(BACKWARD_TOKEN),
            "token_o": Out(BACKWARD_TOKEN),
            "x": In(word),
            "x_o": Out(word),
            "load": In(load),
            "load_o": Out(load),
            "address": Out(range(layer.depth)),
            "gradient": In(vector_layout(gradient, layer.vector)),
            "gradient_write": Out(gradient_write_layout(gradient, layer.depth, layer.vector)),
        }
        if input_gradient:
            partial = partial_layout(config, layer, groups)
            ports["weight"] = In(vector_layout(arithmetic.shape("weight"), layer.vector))
            ports["partial"], ports["partial_o"] = In(partial), Out(partial)
        super().__init__(ports)

    @staticmethod
    def product_latency(config):
        """Clocks from a row of a token to the products of that row."""
        return READ_LATENCY + config.arithmetic.multiply_latency

    @classmethod
    def result_latency(cls, config, before):
        """Clocks from a row of a token to the sums of that row at ``partial_o``."""
        return cls.product_latency(config) + bool(before) * config.arithmetic.add_latency

    @classmethod
    def write_latency(cls, config, trained):
        """Clocks from a gradient's address to its write."""
        additions = (trained * config.lanes).bit_length()  # of the tree, and to the gradient
        return cls.product_latency(config) + additions * config.arithmetic.add_latency

    @classmethod
    def estimate(cls, config, layer, groups, trained, input_gradient, before):
        """Resources of a PE with these arguments."""
        arithmetic, vector = config.arithmetic, layer.vector
        paths, steps = groups * config.lanes, trained * config.lanes
        activation, gradient = (
            Shape.cast(arithmetic.shape(kind)).width for kind in ("activation", "gradient")
        )
        total = Shape.cast(arithmetic.gradient_sum_shape(config.batch)).width
        product = arithmetic.sum_shape("activation", "gradient", count=1).width
        packed, latency = arithmetic.saturates, cls.write_latency(config, trained)
        waiting = latency - READ_LATENCY - arithmetic.add_latency
        # The first register of a sum so far has a reset: that of a batch's first sample.
        gradients = [
            times(steps, arithmetic.multiply_estimate()),
            adder_tree_estimate(arithmetic, product, steps, products=True),
            Estimate(lut=0, ff=total),
        ]
        if packed and steps == 1:
            gradients += [delay_estimate(total, waiting - 2)]
        else:
            gradients += [delay_estimate(total, waiting - 1), arithmetic.add_estimate(total)]
        parts = [times(vector, *gradients)]
        if input_gradient:
            parts.append(times(paths * vector, *cls._partial_parts(config, layer, before)))
        address, row = (layer.depth - 1).bit_length(), (layer.rows - 1).bit_length()
        load, places = paths * gradient, 2 << row
        number = 2 + row + (layer.length - 1).bit_length()
        parts += [
            Ram.estimate(load, places, style_of(places)),
            delay_estimate(address, latency),
            # The delta of the row is a register of the DSP blocks.
            Estimate(
                lut=address + 5,
                ff=address
                + BACKWARD_TOKEN.size
                + paths * vector * activation
                + 2
                + number
                + load
                + (0 if packed else load)
                + latency
                + 2,
            ),
        ]
        return together(parts)

    @staticmethod
    def _partial_parts(config, layer, before):
        """Estimates of what adds a product to the sum from the PEs before."""
        arithmetic = config.arithmetic
        yield arithmetic.multiply_estimate()
        if before:
            early = layer.rows - (before > 1) * arithmetic.add_latency
            width = partial_shape(config, layer).width
            if arithmetic.saturates and width <= _PACKED:
                yield delay_estimate(width, max(0, early - 1))
            else:
                yield delay_estimate(width, early)
                yield arithmetic.add_estimate(width)

    def elaborate(self, platform):
        m = Module()
        layer = self.layer

        # Tokens come in the order of the addresses, so a PE counts them by itself.
        with m.If(self.token.valid):
            m.d.sync += self.address.eq(Mux(self.address == layer.depth - 1, 0, self.address + 1))
        with m.If(self.hop):
            m.d.sync += self.token_o.eq(self.token)
        x_o = Signal.like(self.x, reset_less=True)
        with m.If(delay(m, self.hop, READ_LATENCY, name="hop", reset=True)):
            m.d.sync += x_o.eq(self.x)
        m.d.comb += self.x_o.eq(x_o)

        delta = self._delta(m)
        self._sum_gradient(m, delta)
        if self.input_gradient:
            self._sum_partial(m, delta)
        return m

    def _delta(self, m):
        """The row's delta, READ_LATENCY clocks behind the token; 0 past the layer's outputs."""
        layer, load = self.layer, self.load
        passed = Signal.like(load, name="passed", reset_less=True)
        valid = Signal()
        m.d.sync += [valid.eq(load.valid), passed.eq(load)]
        m.d.comb += [self.load_o.eq(passed), self.load_o.valid.eq(valid)]

        depth = 2 << (layer.rows - 1).bit_length()
        m.submodules.delta = ram = Ram(
            width=len(load.value.as_value()),
            depth=depth,
            style=style_of(depth),
        )
        m.d.comb += [
            ram.write_enable.eq(load.valid & (load.position == self.position)),
            ram.write_address.eq(Cat(load.row, load.bank)),
            ram.write_data.eq(load.value),
            ram.read_address.eq(Cat(self.row, self.token.bank)),
        ]
        s2_delta = Signal(load.value.shape(), reset_less=True)
        if self.outputs == layer.rows:
            m.d.sync += s2_delta.eq(ram.read_data)
        else:
            beyond = Signal()
            m.d.comb += beyond.eq(self.row >= self.outputs)
            s1_beyond = delay(m, beyond, 1, name="beyond")
            m.d.sync += s2_delta.eq(Mux(s1_beyond, 0, ram.read_data))
        return s2_delta

    def _sum_gradient(self, m, delta):
        config, arithmetic = self.config, self.config.arithmetic
        latency = self.write_latency(config, self.trained)
        waiting = latency - READ_LATENCY - arithmetic.add_latency
        shape = config.arithmetic.gradient_sum_shape(config.batch)
        s2_fresh = delay(m, self.token.fresh, READ_LATENCY, name="fresh")
        write = self.gradient_write
        m.d.comb += [
            write.enable.eq(delay(m, self.token.valid, latency, name="enable", reset=True)),
            write.address.eq(delay(m, self.address, latency, name="address")),
        ]
        for k in range(self.layer.vector):
            products = [
                arithmetic.multiply(
                    m, delta[group][lane], self.x[group][lane][k], name=f"step_{group}_{lane}_{k}"
                )
                for group in range(self.trained)
                for lane in range(config.lanes)
            ]
            step = adder_tree(m, arithmetic, products, name=f"lanes_{k}")
            before = Signal(shape, name=f"before_{k}")
            m.d.comb += before.eq(Mux(s2_fresh, Const(arithmetic.zero, shape), self.gradient[k]))
            before = delay(m, before, waiting, name=f"before_{k}")
            total = arithmetic.add(m, step, before, name=f"gradient_{k}", shape=shape)
            m.d.comb += write.value[k].eq(total)

    def _sum_partial(self, m, delta):
        config, arithmetic = self.config, self.config.arithmetic
        # The sums of the PE before are this early: its token came a macro-cycle ago.
        early = self.layer.rows - (self.before > 1) * arithmetic.add_latency
        for group in range(self.groups):
            for lane in range(config.lanes):
                for k in range(self.layer.vector):
                    name = f"{group}_{lane}_{k}"
                    total = arithmetic.multiply(
                        m, self.weight[k], delta[group][lane], name=f"product_{name}"
                    )
                    if self.before:
                        partial = self.partial[group][lane][k]
                        before = delay(m, partial, early, name=f"partial_{name}")
                        shape = partial.shape()
                        total = arithmetic.add(m, before, total, name=f"sum_{name}", shape=shape)
                    m.d.comb += self.partial_o[group][lane][k].eq(total)
