"""Forward pass of a layer: a systolic chain of PEs, then one head for bias and activation.

Interval: ``layer.cycles`` clocks a sample; latencies: ``estimate``.
"""

from functools import lru_cache

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import (
    interleaved_sum,
    interleaved_sum_estimate,
    interleaved_sum_latency,
)
from hw.errors import UsageError
from hw.estimate import Estimate, times, together
from hw.learner.chain.estimate import ChainEstimate
from hw.learner.chain.forward_pe import ForwardPE
from hw.learner.chain.token_issue import TokenIssue, sum_shape
from hw.learner.memory_ports import READ_LATENCY, forward_signature
from hw.nn.activation import ACTIVATIONS
from hw.nn.layouts import element_layout, vector_layout
from hw.shared import SharedModule
from hw.stream.delay import delay, delay_estimate

__all__ = ["Forward"]

_NETWORKS = ("online", "target")


class Forward(wiring.Component):
    """``o[n] = activation(sum over inputs k of weight[n, k] * x[k] + bias[n])`` for each output n,
    group and lane. A group is a data path with the weights of one network.

    x words move from PE to PE, and sums stay, until they leave through the first PE in the order of
    the outputs. An output has ``interleave`` partial sums, which ``interleaved_sum`` adds. The
    order of additions is that of ``ForwardPE``, then of ``interleaved_sum``. Words that are inside
    never stall; there may be any number of clocks between two words. Source: CF'22 3.2.1; PEARL
    V-B.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
        ``rows * interleave`` must be at least the latency of an addition; ValueError otherwise.
    weight_sources : tuple of "online" or "target"
        For each group, whose weights it takes. All groups share control and addresses.

    Members
    -------
    i : In(stream of [groups][lanes][vector])
        The inputs of a sample: ``layer.words`` words, with zeros behind the last input. If
        ``interleave`` > 1, words come ``interleave`` at a time: once the first of them is valid,
        each of the others is valid when the chain is ready for it.
    room : In(1)
        There is room for a sample's outputs. It matters only where a sample begins: its first word
        is taken only if ``room`` is high (``docs/flow_control.md``).
    o : Out(element_layout)
        ``layer.outputs`` elements a sample, in order, without back-pressure.
    memory : Out(forward_signature)
        The ports of the parameters' memories.
    started : Out(1)
        A pulse: the first word of a sample is taken in this clock.
    idle : Out(1)
        No sample is under way: the outputs of all that have begun have left.
    saturations : Out
        How many activations were clipped, clock by clock.

    Attributes
    ----------
    latency, last_latency : int
        Clocks from a sample's first word taken to its first and its last element at ``o``, when
        no word is late.
    """

    def __init__(self, config, layer, weight_sources):
        weight_sources = tuple(weight_sources)
        if not weight_sources or any(network not in _NETWORKS for network in weight_sources):
            raise UsageError(
                f"weight_sources must be of {', '.join(_NETWORKS)}, not {weight_sources!r}"
            )
        arithmetic = config.arithmetic
        if layer.rows * layer.interleave < arithmetic.add_latency:
            raise UsageError(
                f"rows * interleave must be at least {arithmetic.add_latency}, the latency of an "
                f"addition, not {layer.rows * layer.interleave!r}"
            )
        self.config, self.layer, self.weight_sources = config, layer, weight_sources
        figures = self.estimate(config, layer, weight_sources)
        self.latency, self.last_latency = figures.latency, figures.last_latency
        activation = arithmetic.shape("activation")
        word = vector_layout(activation, len(weight_sources), config.lanes, layer.vector)
        super().__init__(
            {
                "i": In(stream.Signature(word)),
                "room": In(1),
                "o": Out(
                    element_layout(activation, layer.outputs, len(weight_sources), config.lanes)
                ),
                "memory": Out(forward_signature(config, layer)),
                "started": Out(1),
                "idle": Out(1, init=1),
                "saturations": Out(range(len(weight_sources) * config.lanes + 1)),
            }
        )

    @classmethod
    def estimate(cls, config, layer, weight_sources):
        """``ChainEstimate``: clocks of a sample, latencies as the attributes of the class have
        them, multipliers and DSP blocks. The parameters are those of the class."""
        arithmetic = config.arithmetic
        paths = len(weight_sources) * config.lanes
        multipliers = paths * layer.multipliers
        # A word is a macro-cycle; sums leave in the last interleave of them.
        latency = 1 + (layer.words - 1) * layer.rows + ForwardPE.latency_of(config, layer)
        latency += _head_latency(arithmetic, layer)
        last = layer.outputs - 1
        hops = last // layer.rows
        return ChainEstimate(
            interval=layer.cycles,
            latency=latency,
            last_latency=latency + last + hops,
            multipliers=multipliers,
            **cls._resources(config, layer, paths).resources,
        )

    @classmethod
    @lru_cache(maxsize=4096)
    def _resources(cls, config, layer, paths):
        arithmetic, activation = config.arithmetic, ACTIVATIONS[layer.activation]
        word = layer.vector * Shape.cast(arithmetic.shape("activation")).width
        total, latency = sum_shape(config, layer).width, _head_latency(arithmetic, layer)
        summed = interleaved_sum_latency(arithmetic, layer.interleave)
        # Of a bias, as of what rounds, some of the lowest bits are always 0; below the point of
        # rounding a sum has no registers.
        low, lost = 0, 0
        if arithmetic.saturates:
            low = arithmetic.fraction("activation")
            lost = arithmetic.fraction("weight") - 1
        path = (
            Estimate(ff=3 * word),
            interleaved_sum_estimate(arithmetic, total, layer.interleave, layer.rows),
            delay_estimate(total - low, max(0, READ_LATENCY - summed)),
            arithmetic.add_estimate(total - low),
            Estimate(lut=0, ff=low - lost),
            arithmetic.requantize_estimate(total, "weight", "activation", kind="activation"),
            activation.estimate(arithmetic),
        )
        indices = 2 * (layer.outputs - 1).bit_length() + (layer.interleave - 1).bit_length()
        control = Estimate(lut=indices + 8, ff=indices + latency + 6)
        pes = times(layer.length, ForwardPE.estimate(config, layer, paths))
        return together([times(paths, *path), pes, TokenIssue.estimate(layer), control])

    def elaborate(self, platform):
        m = Module()
        m.submodules.issue = issue = TokenIssue(self.layer)
        m.d.comb += [
            issue.valid.eq(self.i.valid),
            issue.room.eq(self.room),
            issue.idle.eq(self.idle),
            self.i.ready.eq(issue.ready),
            self.started.eq(issue.started),
        ]
        head = self._chain(m, issue)
        self._head(m, head.valid, head.value)
        self._count(m)
        return m

    def _chain(self, m, issue):
        """The PEs; returns the sums that leave the first one."""
        pes = [
            SharedModule(
                ForwardPE,
                self.config,
                self.layer,
                self.weight_sources,
                self.layer.outputs_of(position),
            )
            for position in range(self.layer.length)
        ]
        # A word meets its weights READ_LATENCY clocks behind its token.
        word = delay(m, self.i.payload.as_value(), READ_LATENCY, name="word")
        x = Signal(self.i.payload.shape(), reset_less=True)
        with m.If(delay(m, issue.hop, READ_LATENCY, name="hop", reset=True)):
            m.d.sync += x.eq(word)
        token = issue.token
        for position, pe in enumerate(pes):
            m.submodules[f"pe_{position}"] = pe
            m.d.comb += [
                pe.hop.eq(issue.hop),
                pe.row.eq(issue.row),
                pe.token.eq(token),
                pe.x.eq(x),
                pe.weight.eq(self.memory.weight[position]),
                self.memory.address[position].eq(pe.address),
            ]
            token, x = pe.token_o, pe.x_o
        for before, pe in zip(pes, pes[1:], strict=False):
            m.d.comb += before.sum_i.eq(pe.sum_o)
        return pes[0].sum_o

    def _head(self, m, valid, sums):
        arithmetic, layer = self.config.arithmetic, self.layer
        activation, shape = ACTIVATIONS[layer.activation], sum_shape(self.config, layer)
        index = Signal(range(layer.outputs))
        turn = Signal(range(layer.interleave))
        final = Signal()  # the last partial sum of its output
        m.d.comb += final.eq(valid & (turn == layer.interleave - 1))
        with m.If(valid):
            m.d.sync += index.eq(index + 1)
            with m.If(index == layer.outputs - 1):
                m.d.sync += [index.eq(0), turn.eq(Mux(final, 0, turn + 1))]

        # The bias is read while the window is summed, or that waits for it.
        summed = interleaved_sum_latency(arithmetic, layer.interleave)
        ahead, wait = max(0, summed - READ_LATENCY), max(0, READ_LATENCY - summed)
        m.d.comb += self.memory.bias_address.eq(delay(m, index, ahead, name="bias_address"))

        clipped = []
        for group, network in enumerate(self.weight_sources):
            bias = arithmetic.times_one(self.memory.bias[network])
            for lane in range(self.config.lanes):
                name = f"{group}_{lane}"
                total, _ = interleaved_sum(
                    m,
                    arithmetic,
                    sums[group][lane],
                    turn,
                    layer.interleave,
                    layer.rows,
                    name=f"window_{name}",
                    shape=shape,
                )
                total = delay(m, total, wait, name=f"total_{name}")
                biased = arithmetic.add(m, total, bias, name=f"biased_{name}", shape=shape)
                result, saturated = arithmetic.requantize(
                    m, biased, "weight", "activation", kind="activation", name=f"result_{name}"
                )
                output = activation.apply(m, arithmetic, result, name=f"activation_{name}")
                m.d.comb += self.o.value[group][lane].eq(output)
                clipped.append(saturated)

        total_latency = _head_latency(arithmetic, layer)
        rounded = total_latency - activation.latency(arithmetic)
        counted = delay(m, final, rounded, name="final", reset=True)
        m.d.sync += self.saturations.eq(Mux(counted, sum(clipped), 0))
        m.d.comb += self.o.valid.eq(
            delay(m, counted, total_latency - rounded, name="valid", reset=True)
        )

    def _count(self, m):
        """Indices of the elements that leave, and samples that have not."""
        layer = self.layer
        index, left = Signal(range(layer.outputs)), Signal()
        under_way = Signal(range(self.last_latency // layer.cycles + 2))
        m.d.comb += [
            self.o.index.eq(index),
            left.eq(self.o.valid & (index == layer.outputs - 1)),
            self.idle.eq(under_way == 0),
        ]
        with m.If(self.o.valid):
            m.d.sync += index.eq(Mux(left, 0, index + 1))
        m.d.sync += under_way.eq(under_way + self.started - left)


def _head_latency(arithmetic, layer):
    """Clocks from a sum that leaves the first PE to its element at ``o``."""
    summed = max(READ_LATENCY, interleaved_sum_latency(arithmetic, layer.interleave))
    biased = arithmetic.add_latency + arithmetic.requantize_latency
    return summed + biased + ACTIVATIONS[layer.activation].latency(arithmetic)
