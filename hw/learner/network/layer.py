"""A layer at work: its activations, its forward and backward pass, its parameters.

These four parts are wired here and nowhere else; a network is layers end to end.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.backward import Backward
from hw.learner.block.forward import Forward
from hw.learner.block.ports import word_layout
from hw.learner.parameters.layer_parameters import LayerParameters
from hw.learner.parameters.update import optimizer_members
from hw.nn.layouts import vector_layout

__all__ = ["Layer"]

#: Ports of the ActivationBuffer that are the layer's own.
_INPUTS = ("feed", "chain", "feed_begun", "chain_begun", "feed_room", "chain_room", "acting")
_INPUTS += ("chain_mask",)


class Layer(wiring.Component):
    """One layer: activations, blocks of multipliers and parameters. Forward computes ``o =
    activation(weight @ input + bias)`` for each group of a sample. Backward computes ``dx =
    derivative(input) * (transposed weight @ delta)``, and sums the weight gradients of the first
    group over the batch. A sample here is one of each lane. A group is a forward pass of the sample
    with inputs and weights of its own.

    Forward and backward work at the same time on different samples; up to ``slots`` samples may be
    between the two. Each takes a sample every ``interval`` clocks of its estimate. An update may
    begin once ``done`` is high; no sample may be under way until ``busy`` falls.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape
    weight_sources : sequence of "online", "target" or "either"
        Weights of each forward group.
    backward_groups : int
        How many groups, counted from the first, have a backward pass; the first one gives
        gradients.
    slots : int
        The most samples between this layer's input and the return of their errors.
    feed, chain
        Where the inputs come from, see ``ActivationBuffer``.
    input_activation : str or None
        The function that made the inputs, if their gradients are needed; else None.
    period, banks, reserved
        Of errors, see ``Backward``.

    Members
    -------
    feed, chain, chain_mask, feed_begun, chain_begun, feed_room, chain_room, acting
        Where the inputs come in: see ``ActivationBuffer``. While ``acting`` is high, no errors and
        no ``start`` come.
    target, counted : In(groups)
        As in ``Forward``.
    o : Out(word_layout), started : Out(1), room : In(1)
        ``o``: the outputs of a sample, in words, without back-pressure. ``started``, a pulse:
        forward begins a sample. ``room``: what follows this layer has room for a sample
        (``docs/flow_control.md``).
    delta : In(stream of [backward_groups][lanes][output_word])
        Errors of the outputs, in words, in the order of the outputs.
    delta_begun : In(1), delta_room : Out(1)
        Of a source of ``delta`` that cannot wait: it begins a sample; it may begin one.
    dx : Out(word_layout), dx_begun : Out(1), dx_room : In(1)
        ``dx``: the gradients of a sample's inputs, in words, without back-pressure. ``dx_begun``, a
        pulse: backward begins a sample. ``dx_room``: what precedes this layer has room for a
        sample's gradients.
    start : In(1), samples : In, done : Out(1)
        ``start``, a pulse: a batch of ``samples`` samples begins. ``done`` is high from the
        completion of all their gradients until the next ``start``.
    coefficients : In, or optimizer : Out; update : In(1), busy : Out(1)
        The update, as in ``LayerParameters``.
    load, store : In(1), parameter_set : In(2), image_i, image_o : streams of image words
        Loading and storing, as in ``LayerParameters``, where the streams are ``i`` and ``o``.
    measure : In(1), squares : Out
        Measuring, as in ``LayerParameters``, once ``done`` is high. Only with
        ``config.clip_norm``.
    saturations : Out([3] of 16)
        How many weights, activations and gradients were clipped in this clock.
    """

    def __init__(
        self,
        config,
        shape,
        *,
        weight_sources,
        backward_groups,
        slots,
        feed=0,
        chain=(),
        input_activation=None,
        period=None,
        banks=2,
        reserved=False,
    ):
        self.config, self.shape, self.weight_sources = config, shape, tuple(weight_sources)
        self.backward_groups, self.input_activation = backward_groups, input_activation
        groups, wanted = len(self.weight_sources), input_activation is not None
        self.ring = ActivationBuffer(
            config,
            shape,
            groups=groups,
            backward_groups=backward_groups,
            slots=slots,
            feed=feed,
            chain=chain,
        )
        self.forward = Forward(config, shape, self.weight_sources)
        self.backward = Backward(
            config,
            shape,
            backward_groups,
            input_gradient=wanted,
            input_activation=input_activation or "linear",
            period=period,
            banks=banks,
            reserved=reserved,
        )
        self.parameters = LayerParameters(config, shape, input_gradient=wanted)
        arithmetic, paths = config.arithmetic, (backward_groups, config.lanes)
        gradient = arithmetic.shape("gradient")
        image = stream.Signature(unsigned(32 * shape.image_word))
        errors = vector_layout(gradient, *paths, shape.output_word)
        ring, forward = self.ring.signature.members, self.forward.signature.members
        parameters, measures = self.parameters.signature.members, ()
        if config.clip_norm:
            measures = ("measure", "squares")
        super().__init__(
            {
                **{name: parameters[name] for name in measures},
                **{name: ring[name] for name in _INPUTS},
                **{name: forward[name] for name in ("o", "target", "counted")},
                "started": Out(1),
                "room": In(1),
                "delta": In(stream.Signature(errors)),
                "delta_begun": In(1),
                "delta_room": Out(1),
                "dx": Out(word_layout(gradient, shape.input_words, *paths, shape.input_word)),
                "dx_begun": Out(1),
                "dx_room": In(1),
                "start": In(1),
                "samples": In(range(config.batch // config.lanes + 1)),
                "done": Out(1),
                **optimizer_members(config),
                "update": In(1),
                "busy": Out(1),
                "load": In(1),
                "store": In(1),
                "parameter_set": In(2),
                "image_i": In(image),
                "image_o": Out(image),
                "saturations": Out(data.ArrayLayout(16, 3)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.ring = ring = self.ring
        m.submodules.forward = forward = self.forward
        m.submodules.backward = backward = self.backward
        m.submodules.parameters = parameters = self.parameters
        connect(m, flipped(self.feed), ring.feed)
        connect(m, ring.forward, forward.i)
        connect(m, ring.backward, backward.x)
        connect(m, flipped(self.delta), backward.delta)
        connect(m, flipped(self.image_i), parameters.i)
        connect(m, parameters.o, flipped(self.image_o))
        m.d.comb += [
            ring.chain.eq(self.chain),
            ring.feed_begun.eq(self.feed_begun),
            ring.chain_begun.eq(self.chain_begun),
            ring.acting.eq(self.acting),
            ring.chain_mask.eq(self.chain_mask),
            forward.target.eq(self.target),
            forward.counted.eq(self.counted),
            self.feed_room.eq(ring.feed_room),
            self.chain_room.eq(ring.chain_room),
            self.o.eq(forward.o),
            self.started.eq(forward.started),
            forward.room.eq(self.room),
            backward.room.eq(self.dx_room),
            backward.start.eq(self.start),
            backward.delta_begun.eq(self.delta_begun),
            self.delta_room.eq(backward.delta_room),
            self.dx_begun.eq(backward.started),
            parameters.update.eq(self.update),
            parameters.load.eq(self.load),
            parameters.store.eq(self.store),
            parameters.parameter_set.eq(self.parameter_set),
            self.busy.eq(parameters.busy),
            self.saturations[0].eq(parameters.saturations),
            self.saturations[1].eq(forward.saturations),
            self.saturations[2].eq(backward.saturations),
        ]
        if self.config.clip_norm:
            m.d.comb += [
                parameters.measure.eq(self.measure),
                self.squares.eq(parameters.squares),
            ]
        if self.config.network_optimizer:
            connect(m, parameters.optimizer, flipped(self.optimizer))
        else:
            m.d.comb += parameters.coefficients.eq(self.coefficients)
        if self.input_activation is not None:
            m.d.comb += self.dx.eq(backward.dx)
        parameters.attach(m, forward, backward)

        finished = Signal.like(self.samples)
        with m.If(self.start):
            m.d.sync += finished.eq(0)
        with m.Elif(backward.finished):
            m.d.sync += finished.eq(finished + 1)
        m.d.comb += self.done.eq(finished == self.samples)
        return m
