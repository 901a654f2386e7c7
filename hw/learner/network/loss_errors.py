"""From the gradient of each sample to the errors of all outputs of a super-sample, word by word.

One word a clock.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.nn.layouts import vector_layout
from hw.stream.delay import delay
from hw.stream.queue import Queue

__all__ = ["LossErrors"]


class LossErrors(wiring.Component):
    """Collects the gradients of the lanes of a super-sample, which come one after the other, and
    sends the errors of a network's outputs, as the algorithm's LossRule says.

    Parameters
    ----------
    config : LearnerConfig
    sweep : int
    network : str
    value : ShapeLike
        Of the pipeline's gradient.
    ahead : int
        Super-samples that the unit holds.

    Members
    -------
    gradient : In({valid, value, output})
        The gradient of a sample, lane by lane, and the number of the output that has it.
    o : Out(stream of [passes with errors][lanes][output_word])
        The errors of a super-sample: a word for each word of outputs, in order. Those of padding
        are zeros.
    freed : Out(1)
        A pulse: the last word of a super-sample is taken.
    """

    def __init__(self, config, sweep, network, value, ahead):
        self.config, self.ahead, self.network = config, ahead, network
        self.shape, self._rule = config.networks[network][-1], config.plan.losses[sweep]
        number, lanes = config.arithmetic.shape("gradient"), config.lanes
        passes = config.plan.errors(network)[sweep]
        word = vector_layout(number, passes, lanes, self.shape.output_word)
        # Of an action that does not exist, it is the output past the last.
        self._error = {"value": value, "output": range(self.shape.outputs + 1)}
        super().__init__(
            {
                "gradient": In(data.StructLayout({"valid": 1, **self._error})),
                "o": Out(stream.Signature(word)),
                "freed": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, gradient = self.config.lanes, self.gradient
        last_word = self.shape.output_words - 1
        errors = Signal(data.ArrayLayout(data.StructLayout(self._error), lanes), reset_less=True)
        m.submodules.errors = queue = Queue(errors.shape(), self.ahead)
        lane, last, index = Signal(range(lanes)), Signal(), Signal(range(last_word + 1))
        m.d.comb += [
            last.eq(gradient.valid & (lane == lanes - 1)),
            queue.i.valid.eq(delay(m, last, 1, name="whole", reset=True)),
            queue.i.payload.eq(errors),
            self.o.valid.eq(queue.o.valid),
            queue.o.ready.eq(self.freed),
            self.freed.eq(self.o.valid & self.o.ready & (index == last_word)),
        ]
        with m.If(gradient.valid):
            m.d.sync += [
                lane.eq(Mux(last, 0, lane + 1)),
                errors[lanes - 1].value.eq(gradient.value),
                errors[lanes - 1].output.eq(gradient.output),
                *(errors[k].eq(errors[k + 1]) for k in range(lanes - 1)),
            ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += index.eq(Mux(self.freed, 0, index + 1))

        for number, error in enumerate(queue.o.payload):
            for place in range(self.shape.output_word):
                self._send(m, number, error, index, place)
        return m

    def _send(self, m, lane, error, index, place):
        """The errors of the output at ``place`` of the word ``index``, for all passes."""
        output = index * self.shape.output_word + place
        errors = self._rule.errors(
            self.network, error.value, error.output == output, arithmetic=self.config.arithmetic
        )
        filled = self.shape.output_words_filled()[-1]
        inside = place < filled or index != self.shape.output_words - 1
        for group, value in enumerate(errors):
            m.d.comb += self.o.payload[group][lane][place].eq(Mux(inside, value, 0))
