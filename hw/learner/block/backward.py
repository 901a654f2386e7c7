"""Backward pass and weight gradients of a layer: rows and gradients of a block, side by side.

Interval and latencies: ``backward_stage``, ``finished_latency``.
"""

from dataclasses import replace

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_flag
from hw.errors import UsageError
from hw.learner.block.delta_words import DeltaWords
from hw.learner.block.gradients import Gradients
from hw.learner.block.layer_clocks import READ_LATENCY, row_clocks
from hw.learner.block.ports import backward_signature, word_layout
from hw.learner.block.row import Row
from hw.learner.block.sweep import Sweep
from hw.nn.activation import ACTIVATIONS
from hw.nn.layouts import vector_layout
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Backward"]


class Backward(wiring.Component):
    """For each group and lane, with n an output and k an input of the layer::

        dx[k] = derivative(x[k]) * sum over outputs n of weight[n, k] * delta[n]
        gradient[n, k] += sum over lanes of the first group of delta[n] * x[k]
        bias_gradient[n] += sum over lanes of the first group of delta[n]

    An input word stays for a clock each output word, and the words of delta pass by, a block of
    weights a clock. ``Row``, ``GradientElement`` and ``DeltaWords`` define the order of
    additions. Any number of clocks may lie between two words; blocks inside never stall. Source:
    CF'22 3.2.1; PEARL V-B.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape
    groups : int
        Data paths that share control, addresses and weights. The first gives gradients of weights
        and biases.
    input_gradient : bool
        Whether dx is computed; if not, the port ``dx`` is absent, and ``memory.weight`` unused.
    input_activation : str
        The function that made x; one of ``ACTIVATIONS``.
    period, reserved, banks
        Of the words of delta, see ``DeltaWords``.

    Members
    -------
    delta : In(stream of [groups][lanes][output_word] gradient)
        Errors of the outputs: ``shape.output_words`` words a sample, padded with zeros.
    delta_begun : In(1), delta_room : Out(1)
        If delta is ``reserved``, see ``DeltaWords``.
    x : In(stream of [groups][lanes][input_word] activation)
        The sample's inputs: ``shape.input_words`` words, padded with zeros.
    room : In(1)
        There is room for a sample's dx. It matters only where a sample begins: its first word is
        taken only if ``room`` is high (``docs/flow_control.md``).
    start : In(1)
        A pulse: the next sample whose delta comes is the first of a batch. Its gradients overwrite
        the sums; gradients of later samples are added.
    dx : Out(word_layout [groups][lanes][input_word] gradient)
        ``shape.input_words`` words a sample, in order.
    memory : Out(backward_signature)
        The memories of weights and gradients.
    started : Out(1)
        A pulse: the first word of a sample is taken in this clock.
    finished : Out(1)
        A pulse for each sample: all its gradients are written. Its last words of dx may be on their
        way, and the last columns of weights are read in the next ``output_word`` clocks.
    saturations : Out
        How many numbers of dx were clipped, clock by clock.
    """

    def __init__(
        self,
        config,
        shape,
        groups=1,
        input_gradient=True,
        input_activation="linear",
        period=None,
        reserved=False,
        banks=2,
    ):
        check_flag("input_gradient", input_gradient)
        if input_activation not in tuple(ACTIVATIONS):
            raise UsageError(
                f"input_activation must be one of {', '.join(ACTIVATIONS)}, "
                f"not {input_activation!r}"
            )
        self.config, self.shape, self.groups = config, shape, groups
        self.input_gradient, self.input_activation = input_gradient, input_activation
        self._deltas = DeltaWords(
            config, shape, groups, period=period, reserved=reserved, banks=banks
        )
        self._gradients = Gradients(config, shape)
        arithmetic, paths = config.arithmetic, (groups, config.lanes)
        gradient = arithmetic.shape("gradient")
        self._word = vector_layout(arithmetic.shape("activation"), *paths, shape.input_word)
        count = groups * config.lanes * shape.input_word
        ports = {
            "delta": In(stream.Signature(vector_layout(gradient, *paths, shape.output_word))),
            "delta_begun": In(1),
            "delta_room": Out(1),
            "x": In(stream.Signature(self._word)),
            "room": In(1),
            "start": In(1),
            "memory": Out(backward_signature(config, shape)),
            "started": Out(1),
            "finished": Out(1),
            "saturations": Out(range(count + 1)),
        }
        if input_gradient:
            # A free output passes errors back as others do: its weights are 0.
            self._row = arithmetic, replace(shape, free=0), input_activation
            words = word_layout(gradient, shape.input_words, *paths, shape.input_word)
            ports["dx"] = Out(words)
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        m.submodules.deltas = deltas = self._deltas
        m.submodules.sweep = sweep = Sweep(self.shape, self._word, self._gradients.clocks.loop)
        wiring.connect(m, wiring.flipped(self.delta), deltas.i)
        wiring.connect(m, wiring.flipped(self.x), sweep.i)
        block = sweep.block
        last = block.last & (block.apart == self.shape.interleave - 1)
        m.d.comb += [
            deltas.begun.eq(self.delta_begun),
            self.delta_room.eq(deltas.room),
            deltas.start.eq(self.start),
            deltas.output.eq(block.output),
            deltas.begins.eq(sweep.started),
            deltas.release.eq(block.valid & last & (block.output == 0)),
            deltas.ended.eq(sweep.ended),
            deltas.bias_gradient.eq(self.memory.bias_gradient),
            self.memory.address.eq(sweep.address),
            self.memory.bias_address.eq(deltas.bias_address),
            self.memory.bias_write.eq(deltas.bias_write),
            sweep.room.eq(self.room & deltas.available),
            self.started.eq(sweep.started),
        ]
        x = delay(m, sweep.word.as_value(), READ_LATENCY - 1, name="x")
        x = data.View(self._word, x)
        self._sum_gradients(m, sweep, deltas, x)
        if self.input_gradient:
            self._rows(m, sweep, deltas.delta, x)
        else:
            m.d.comb += self.saturations.eq(0)
        return m

    def _sum_gradients(self, m, sweep, deltas, x):
        m.submodules.gradients = gradients = self._gradients
        finished = gradients.latency + 1
        m.d.comb += [
            gradients.valid.eq(sweep.block.valid),
            gradients.address.eq(sweep.address),
            gradients.fresh.eq(deltas.fresh),
            gradients.delta.eq(deltas.delta[0]),
            gradients.x.eq(x[0]),
            gradients.gradient.eq(self.memory.gradient),
            self.memory.gradient_address.eq(gradients.gradient_address),
            self.memory.gradient_write.eq(gradients.gradient_write),
            self.finished.eq(delay(m, sweep.ended, finished, name="finished", reset=True)),
        ]

    def _rows(self, m, sweep, delta, x):
        """A block meets its words and its weights READ_LATENCY clocks after its address."""
        shape, skew = self.shape, self.config.arithmetic.dot_skew
        late = delay(m, x.as_value(), row_clocks(*self._row).x, name="x_late")
        late = data.View(self._word, late)
        valid = delay(m, sweep.block.valid, READ_LATENCY, name="valid", reset=True)
        output = delay(m, sweep.block.output, READ_LATENCY, name="output")
        clipped = []
        for group in range(self.groups):
            for lane in range(self.config.lanes):
                word = [
                    delay(m, delta[group][lane][n], n * skew, name=f"delta_{group}_{lane}_{n}")
                    for n in range(shape.output_word)
                ]
                for k in range(shape.input_word):
                    row = SharedModule(Row, *self._row)
                    m.submodules[f"row_{group}_{lane}_{k}"] = row
                    m.d.comb += [
                        row.block.valid.eq(valid),
                        row.block.output.eq(output),
                        row.x.eq(late[group][lane][k]),
                        self.dx.value[group][lane][k].eq(row.dx.value),
                    ]
                    for n in range(shape.output_word):
                        m.d.comb += [
                            row.delta[n].eq(word[n]),
                            row.weight[n].eq(self.memory.weight[k][n]),
                        ]
                    clipped.append(row.dx.clipped)
        self._leave(m, row.dx.valid, clipped)

    def _leave(self, m, valid, clipped):
        index = Signal(range(self.shape.input_words))
        with m.If(valid):
            m.d.sync += index.eq(Mux(index == self.shape.input_words - 1, 0, index + 1))
        m.d.sync += self.saturations.eq(sum(clipped))
        m.d.comb += [self.dx.valid.eq(valid), self.dx.index.eq(index)]
