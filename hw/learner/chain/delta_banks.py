"""The errors of a layer's outputs on their way into the PEs, and the bias gradient.

One element a clock. The next sample's elements wait while both banks of the PEs are taken, and
after a sample of very few outputs until its bias gradients are written.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import adder_tree, adder_tree_estimate
from hw.estimate import Estimate, together
from hw.learner.memory_ports import READ_LATENCY, bias_sum_shape, gradient_write_layout
from hw.nn.layouts import vector_layout
from hw.stream.delay import delay, delay_estimate

__all__ = ["DeltaBanks", "load_layout"]


def load_layout(config, layer, groups):
    """An element of delta on its way to row ``row`` of bank ``bank`` in PE number ``position``:
    ``value`` [groups][lanes], if ``valid``."""
    return data.StructLayout(
        {
            "valid": 1,
            "bank": 1,
            "position": range(layer.length),
            "row": range(layer.rows),
            "value": vector_layout(config.arithmetic.shape("gradient"), groups, config.lanes),
        }
    )


class DeltaBanks(wiring.Component):
    """Takes the errors delta of a layer's outputs, sends them to the PEs, into one of two banks in
    turn, and sums the gradients of the biases::

        bias_gradient[o] = (first sample ? 0 : bias_gradient[o]) + sum over lanes of delta[o]

    The sum includes the lanes of all trained groups; the first sample is that of a batch. Elements
    pass through the PEs by a chain of registers, a PE a clock. A bank may be loaded again as soon
    as the last token of its sample is issued: that token needs the elements row after row and PE
    after PE, and the new elements come no faster.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
    groups, trained : int
        ``groups``: data paths side by side. ``trained``: how many of them, counted from the first,
        give gradients of weights and biases.

    Members
    -------
    i : In(stream of [groups][lanes] gradient)
        Errors of outputs 0, 1, ... of a sample, one at a time; ready while a bank is free.
    start : In(1)
        A pulse: the next sample that comes in ``i`` is the first of a batch.
    load : Out(load_layout)
        To the first PE: an element, its PE and row, and the bank that takes it.
    available : Out(1)
        All elements of the next sample to begin have been taken. So its first token may be issued:
        each element is in its PE by the time that the token needs it.
    bank, fresh : Out(1)
        Of the next sample to begin, or the one under way until its ``release``: its bank, and
        whether it is the first of its batch.
    release : In(1)
        A pulse: the last token of that sample is issued in this clock, and frees the bank.
    bias_address : Out(range(layer.outputs))
        The number of the bias whose gradient is read.
    bias_gradient : In
        The sum so far of that gradient, READ_LATENCY clocks after ``bias_address``.
    bias_write : Out(gradient_write_layout)
        The new sum of a bias gradient.
    """

    def __init__(self, config, layer, groups, trained):
        self.config, self.layer, self.groups, self.trained = config, layer, groups, trained
        value = vector_layout(config.arithmetic.shape("gradient"), groups, config.lanes)
        total = bias_sum_shape(config)
        super().__init__(
            {
                "i": In(stream.Signature(value)),
                "start": In(1),
                "load": Out(load_layout(config, layer, groups)),
                "available": Out(1),
                "bank": Out(1),
                "fresh": Out(1),
                "release": In(1),
                "bias_address": Out(range(layer.outputs)),
                "bias_gradient": In(total),
                "bias_write": Out(gradient_write_layout(total, layer.outputs)),
            }
        )

    @staticmethod
    def latency_of(config, trained):
        """Clocks from a bias gradient's address to its write."""
        arithmetic = config.arithmetic
        levels = (trained * config.lanes).bit_length() - 1
        return max(READ_LATENCY, levels * arithmetic.add_latency) + arithmetic.add_latency

    @classmethod
    def pause_of(cls, config, layer, trained):
        """Clocks in which nothing is taken after a sample's last element, so that a bias gradient
        is written before it is read again; 0 if the layer has enough outputs."""
        return max(0, cls.latency_of(config, trained) + 2 - layer.outputs)

    @classmethod
    def estimate(cls, config, layer, groups, trained):
        """Resources of banks with these arguments."""
        arithmetic, steps = config.arithmetic, trained * config.lanes
        gradient = Shape.cast(arithmetic.shape("gradient")).width
        total, latency = bias_sum_shape(config).width, cls.latency_of(config, trained)
        meet, levels = latency - arithmetic.add_latency, steps.bit_length() - 1
        waits = meet - levels * arithmetic.add_latency
        # What waits has the same first register as what goes on to the PEs.
        shared = min(waits, 1) if levels == 0 else 0
        place = sum((count - 1).bit_length() for count in (layer.rows, layer.length))
        bias, value = (layer.outputs - 1).bit_length(), groups * config.lanes * gradient
        pause = cls.pause_of(config, layer, trained).bit_length()
        return together(
            [
                adder_tree_estimate(arithmetic, gradient, steps),
                delay_estimate(gradient + levels, waits - shared),
                delay_estimate(total, meet - READ_LATENCY),
                delay_estimate(bias, latency),
                arithmetic.add_estimate(total),
                Estimate(
                    lut=15 + 2 * (bias + place) + (0 if arithmetic.saturates else total),
                    ff=11 + pause + bias + 2 * place + value + latency,
                ),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        layer = self.layer
        pause = self.pause_of(self.config, layer, self.trained)

        # Banks are taken in turn; full from a sample's last element to its last token.
        full, fresh = Signal(2), Signal(2)
        loading = Signal()
        waiting = Signal(range(pause + 1))
        take, ends, first = Signal(), Signal(), Signal()
        new_batch = Signal()
        m.d.comb += [
            self.i.ready.eq(~full.bit_select(loading, 1) & (waiting == 0)),
            take.eq(self.i.valid & self.i.ready),
            ends.eq(self.bias_address == layer.outputs - 1),
            first.eq(new_batch | self.start),
            self.available.eq(full.bit_select(self.bank, 1)),
            self.fresh.eq(fresh.bit_select(self.bank, 1)),
        ]
        with m.If(self.start):
            m.d.sync += new_batch.eq(1)
        with m.If(waiting != 0):
            m.d.sync += waiting.eq(waiting - 1)
        with m.If(self.release):
            m.d.sync += [full.bit_select(self.bank, 1).eq(0), self.bank.eq(~self.bank)]

        row, position = Signal(range(layer.rows)), Signal(range(layer.length))
        with m.If(take):
            m.d.sync += [self.bias_address.eq(self.bias_address + 1), row.eq(row + 1)]
            with m.If(row == layer.rows - 1):
                m.d.sync += [row.eq(0), position.eq(position + 1)]
            with m.If(ends):
                m.d.sync += [
                    self.bias_address.eq(0),
                    row.eq(0),
                    position.eq(0),
                    full.bit_select(loading, 1).eq(1),
                    fresh.bit_select(loading, 1).eq(first),
                    loading.eq(~loading),
                    new_batch.eq(0),
                    waiting.eq(pause),
                ]

        # Of ``load`` only its valid is reset.
        valid = Signal()
        load = Signal.like(self.load, name="loaded", reset_less=True)
        m.d.sync += [
            valid.eq(take),
            load.bank.eq(loading),
            load.position.eq(position),
            load.row.eq(row),
            load.value.eq(self.i.payload),
        ]
        m.d.comb += [self.load.eq(load), self.load.valid.eq(valid)]
        self._sum_bias(m, take, first)
        return m

    def _sum_bias(self, m, take, first):
        config, arithmetic = self.config, self.config.arithmetic
        latency = self.latency_of(config, self.trained)
        values = [
            self.i.payload[group][lane]
            for group in range(self.trained)
            for lane in range(config.lanes)
        ]
        meet = latency - arithmetic.add_latency
        tree_latency = (len(values).bit_length() - 1) * arithmetic.add_latency
        total = delay(
            m, adder_tree(m, arithmetic, values, name="lanes"), meet - tree_latency, name="total"
        )
        s2_first = delay(m, first, READ_LATENCY, name="first")
        zero = Const(arithmetic.zero, self.bias_gradient.shape())
        before = Signal(self.bias_gradient.shape())
        m.d.comb += before.eq(Mux(s2_first, zero, self.bias_gradient))
        before = delay(m, before, meet - READ_LATENCY, name="before")
        shape = bias_sum_shape(config)
        m.d.comb += [
            self.bias_write.enable.eq(delay(m, take, latency, name="enable", reset=True)),
            self.bias_write.address.eq(delay(m, self.bias_address, latency, name="address")),
            self.bias_write.value.eq(arithmetic.add(m, total, before, name="sum", shape=shape)),
        ]
