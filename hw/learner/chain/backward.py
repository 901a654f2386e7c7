"""Backward pass and weight gradients of a layer: a systolic chain of PEs, then one tail for dx.

Interval and latencies: ``estimate``.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_flag, check_range
from hw.errors import UsageError
from hw.learner.chain.backward_pe import BACKWARD_TOKEN, BackwardPE
from hw.learner.chain.backward_tail import BackwardTail, dx_layout
from hw.learner.chain.delta_banks import DeltaBanks
from hw.learner.chain.estimate import ChainEstimate, backward_resources
from hw.learner.chain.token_issue import next_row
from hw.learner.memory_ports import READ_LATENCY, backward_signature
from hw.nn.activation import ACTIVATIONS
from hw.nn.layouts import vector_layout
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Backward"]

#: Clocks from the write of a gradient to the next read of its address, or to ``finished``.
_APART = 2


class Backward(wiring.Component):
    """For each group and lane, with o = PE * rows + row::

        dx[i] = derivative(x[i]) * sum over rows of (sum over PEs of weight[o, i] * delta[o])
        gradient[o, i] += sum over trained groups and lanes of delta[o] * x[i]
        bias_gradient[o] += sum over trained groups and lanes of delta[o]

    Here o is an output and i an input of the layer; PE p has the outputs of its ``rows``. Inputs i
    come in words of ``vector``. delta stays in the PEs, in two banks. x words move one PE further
    each macro-cycle (``rows`` clocks), and the sums over PEs move with them; ``interleaved_sum``
    adds the rows of these sums behind the last PE. The order of every addition is in
    ``BackwardPE``, ``DeltaBanks`` and ``interleaved_sum``. Words that are inside never stall; there
    may be any number of clocks between two words. Source: CF'22 3.2.1; PEARL V-B.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
        On a chain ``rows`` must be at least the latency of an addition; ValueError otherwise.
    groups, trained : int
        ``groups``: data paths that share control, addresses and weights. ``trained``: how many of
        them, counted from the first, give gradients of weights and biases.
    input_gradient : bool
        Whether dx is wanted; if not, there is no ``dx``, and ``memory.weight`` is not read.
    input_activation : str
        The function that made x; one of ``ACTIVATIONS``.

    Members
    -------
    delta : In(stream of [groups][lanes] gradient)
        Errors of outputs 0, 1, ... of a sample, one at a time; ready while a bank is free.
    x : In(stream of [groups][lanes][vector] activation)
        The sample's inputs: ``layer.words`` words, with zeros behind the last input.
    room : In(1)
        There is room for a sample's dx. It matters only where a sample begins: its first word is
        taken only if ``room`` is high (``docs/flow_control.md``).
    start : In(1)
        A pulse: the next sample whose delta comes is the first of a batch. Its gradients overwrite
        the sums; those of later samples are added.
    dx : Out(struct {valid, value: [groups][lanes][vector] gradient})
        ``layer.words`` words a sample, in order, without back-pressure.
    memory : Out(backward_signature)
        The memories of weights and gradients. A gradient is written at least two clocks before it
        is read again.
    started : Out(1)
        A pulse: the first word of a sample is taken in this clock.
    finished : Out(1)
        A pulse for each sample: all its gradients are written and its dx has left.
    saturations : Out
        How many numbers of dx were clipped, clock by clock.
    """

    def __init__(
        self, config, layer, groups=1, trained=1, input_gradient=True, input_activation="linear"
    ):
        check_range("groups", groups, 1, 2)
        check_range("trained", trained, 1, groups, " (groups)")
        check_flag("input_gradient", input_gradient)
        if input_activation not in tuple(ACTIVATIONS):
            raise UsageError(
                f"input_activation must be one of {', '.join(ACTIVATIONS)}, "
                f"not {input_activation!r}"
            )
        arithmetic = config.arithmetic
        if layer.length > 1 and layer.rows < arithmetic.add_latency:
            raise UsageError(
                f"rows must be at least {arithmetic.add_latency} on a chain, the latency of an "
                f"addition, not {layer.rows!r}"
            )
        self.config, self.layer, self.groups, self.trained = config, layer, groups, trained
        self.input_gradient, self.input_activation = input_gradient, input_activation

        lanes, vector = config.lanes, layer.vector
        activation, gradient = arithmetic.shape("activation"), arithmetic.shape("gradient")
        ports = {
            "delta": In(stream.Signature(vector_layout(gradient, groups, lanes))),
            "x": In(stream.Signature(vector_layout(activation, groups, lanes, vector))),
            "room": In(1),
            "start": In(1),
            "memory": Out(backward_signature(config, layer)),
            "started": Out(1),
            "finished": Out(1),
            "saturations": Out(range(groups * lanes * vector + 1)),
        }
        if input_gradient:
            ports["dx"] = Out(dx_layout(config, layer, groups))
        super().__init__(ports)

    @classmethod
    def estimate(
        cls, config, layer, groups=1, trained=1, input_gradient=True, input_activation="linear"
    ):
        """``ChainEstimate``: clocks, multipliers and resources. The parameters are the class's.

        interval : clocks from a sample to the next; ``layer.cycles``, and more in the smallest
            layers.
        latency, last_latency : clocks from the taking of a sample's first word to its first and its
            last word at ``dx``, if no word is late; None without ``input_gradient``.
        finished_latency : clocks from the taking of a sample's first word to ``finished``.
        """
        pause = DeltaBanks.pause_of(config, layer, trained)
        chain = layer.length * layer.rows
        latency = last = None
        written = BackwardPE.write_latency(config, trained)
        if input_gradient:
            tail = BackwardTail.latency_of(config, layer, input_activation)
            latency = chain + tail
            last = latency + (layer.words - 1) * layer.rows
            written = max(written, tail)
        multipliers = layer.multipliers * config.lanes * (trained + groups * input_gradient)
        if input_gradient:
            products = ACTIVATIONS[input_activation].derivative_products
            multipliers += products * groups * config.lanes * layer.vector
        kind = input_gradient, input_activation
        made = backward_resources(config, layer, groups, trained, *kind)
        return ChainEstimate(
            interval=max(cls.spacing_of(config, layer, trained), layer.outputs + pause),
            latency=latency,
            last_latency=last,
            finished_latency=chain + (layer.words - 1) * layer.rows + written + _APART,
            multipliers=multipliers,
            **made.resources,
        )

    @staticmethod
    def spacing_of(config, layer, trained):
        """The least number of clocks from a sample's first word to that of the next sample."""
        return (layer.words + _spare(config, layer, trained)) * layer.rows

    def elaborate(self, platform):
        m = Module()
        m.submodules.banks = banks = DeltaBanks(self.config, self.layer, self.groups, self.trained)
        wiring.connect(m, wiring.flipped(self.delta), banks.i)
        m.d.comb += [
            banks.start.eq(self.start),
            self.memory.bias_address.eq(banks.bias_address),
            banks.bias_gradient.eq(self.memory.bias_gradient),
            self.memory.bias_write.eq(banks.bias_write),
        ]
        under_way = Signal(range(self._most() + 1))
        m.d.sync += under_way.eq(under_way + self.started - self.finished)
        hop, row, token, x = self._issue(m, banks, under_way == 0)
        pe = self._chain(m, banks, hop, row, token, x)

        ends = Signal()  # a word's last row in the last PE
        m.d.comb += ends.eq(pe.token.valid & hop)
        latency = BackwardPE.write_latency(self.config, self.trained)
        if self.input_gradient:
            m.submodules.tail = tail = BackwardTail(
                self.config, self.layer, self.groups, self.input_activation
            )
            latency = max(latency, tail.latency)
            m.d.comb += [
                tail.hop.eq(hop),
                tail.row.eq(row),
                tail.ends.eq(ends),
                tail.x.eq(pe.x),
                tail.partial.eq(pe.partial_o),
                self.dx.eq(tail.dx),
                self.saturations.eq(tail.saturations),
            ]
        else:
            m.d.comb += self.saturations.eq(0)
        m.d.comb += self.finished.eq(
            delay(m, ends & pe.token.last, latency + _APART, name="finished", reset=True)
        )
        return m

    def _most(self):
        """Samples that can be started and not finished."""
        kind = self.input_gradient, self.input_activation
        figures = self.estimate(self.config, self.layer, self.groups, self.trained, *kind)
        return figures.finished_latency // figures.interval + 1

    def _issue(self, m, banks, idle):
        """A word is taken at the end of a macro-cycle and is the first PE's in the next one; an
        idle chain waits in that clock."""
        layer = self.layer
        spare = _spare(self.config, layer, self.trained)
        row, word = Signal(range(layer.rows)), Signal(range(layer.words))
        waiting = Signal(range(spare + 1))  # macro-cycles
        token = Signal(BACKWARD_TOKEN)
        hop, take, first, last = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            hop.eq(row == layer.rows - 1),
            first.eq(word == 0),
            last.eq(word == layer.words - 1),
            self.x.ready.eq(hop & (~first | (self.room & banks.available & (waiting == 0)))),
            take.eq(self.x.valid & self.x.ready),
            self.started.eq(take & first),
            banks.release.eq(take & last),
        ]
        m.d.sync += row.eq(next_row(layer, row, hop, idle & ~take))
        with m.If(hop):
            m.d.sync += [
                token.valid.eq(take),
                token.last.eq(last),
                token.bank.eq(banks.bank),
                token.fresh.eq(banks.fresh),
            ]
            with m.If(waiting != 0):
                m.d.sync += waiting.eq(waiting - 1)
        with m.If(take):
            m.d.sync += word.eq(word + 1)
            with m.If(last):
                m.d.sync += [word.eq(0), waiting.eq(spare)]

        # A word meets its weights READ_LATENCY clocks behind its token.
        x = Signal(self.x.payload.shape(), reset_less=True)
        late = delay(m, self.x.payload.as_value(), READ_LATENCY, name="word")
        with m.If(delay(m, hop, READ_LATENCY, name="hop", reset=True)):
            m.d.sync += x.eq(late)
        return hop, row, token, x

    def _chain(self, m, banks, hop, row, token, x):
        """The PEs; returns the last one."""
        load, partial = banks.load, None
        for position in range(self.layer.length):
            m.submodules[f"pe_{position}"] = pe = SharedModule(
                BackwardPE,
                self.config,
                self.layer,
                self.groups,
                self.trained,
                self.input_gradient,
                self.layer.outputs_of(position),
                min(position, 2),
            )
            m.d.comb += [
                pe.position.eq(position),
                pe.hop.eq(hop),
                pe.row.eq(row),
                pe.token.eq(token),
                pe.x.eq(x),
                pe.load.eq(load),
                pe.gradient.eq(self.memory.gradient[position]),
                self.memory.address[position].eq(pe.address),
                self.memory.gradient_write[position].eq(pe.gradient_write),
            ]
            if self.input_gradient:
                m.d.comb += pe.weight.eq(self.memory.weight[position])
                if position:
                    m.d.comb += pe.partial.eq(partial)
                partial = pe.partial_o
            token, x, load = pe.token_o, pe.x_o, pe.load_o
        return pe


def _spare(config, layer, trained):
    """Macro-cycles between samples, so that a gradient is written before its next read."""
    apart = BackwardPE.write_latency(config, trained) + _APART
    return max(0, -(-apart // layer.rows) - layer.words)
