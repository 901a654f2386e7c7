"""The optimizers of a layer: a part of its parameters a clock, free-running."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.config import stored_sets
from hw.learner.parameters.moments import MOMENTS
from hw.learner.parameters.square_sum import square_shape
from hw.nn.layouts import vector_layout
from hw.nn.optimizer_config import optimizer_ports
from hw.nn.optimizers import optimizer_of
from hw.shared import SharedModule

__all__ = ["Update", "optimizer_members", "part_layout"]


def part_layout(config, shape):
    """A part of each parameter set that the optimizer has: {set: [part]}."""
    arithmetic = config.arithmetic
    numbers = {
        name: unsigned(32) if name in MOMENTS else arithmetic.shape("weight")
        for name in stored_sets(config)
    }
    return data.StructLayout(
        {name: vector_layout(number, shape.part) for name, number in numbers.items()}
    )


def optimizer_members(config):
    """``{name: In or Out}``: how the parameters of a layer reach what their optimizers need.

    coefficients : In, as the optimizers take them, if the layer has optimizers of its own
    optimizer : Out, the ports of an optimizer without its coefficients, if the layer's network has
        one for all layers (``LayerConfig.network_optimizer``)
    """
    optimizer = optimizer_of(config.arithmetic)
    if not config.network_optimizer:
        return {"coefficients": In(optimizer.COEFFICIENTS)}
    sums = config.arithmetic.gradient_sum_shape(config.batch)
    ports = optimizer_ports(config.optimizer_config, optimizer.COEFFICIENTS, sums)
    del ports["coefficients"]
    return {"optimizer": Out(wiring.Signature(ports).flip())}


class Update(wiring.Component):
    """``part`` optimizers side by side, or a way to the network's, and the way around them for
    store and load.

    The clocks of a part, with at = ``timing`` of the optimizer::

        0               gradient, old.first, old.second; image_o
        at.moments      new moments leave; moments_padding
              + 1       new.first, new.second
        at.weights      old.online, old.target
        at.latency      new weights leave; weights_padding, counts
              + 1       new.online, new.target, saturations

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape

    Members
    -------
    coefficients : In, or optimizer : Out
        See ``optimizer_members``.
    gradient : In [part], old : In(part_layout)
        The gradients, moments and weights of a part.
    updating : In(1), image_i : In(32 * image_word)
        What is written: if ``updating``, the optimizers' results; if not, ``image_i``, for each
        image word of the part.
    moments_padding, weights_padding : In(part)
        Bit k: number k of the part that leaves is padding.
    counts : In(1)
        The weights that leave are an update's: their clipped numbers are counted.
    new : Out(part_layout)
        The part to be written, a clock after it left the optimizers or came as ``image_i``. Padding
        is zero, whatever the optimizers compute.
    image_o : Out(32 * image_word)
        All image words of all sets of ``old`` as they stand in an image, joined by OR: all but one
        must be zeros.
    saturations : Out
        How many weights of the part that left a clock ago were clipped.
    squares : Out [part]
        The squares of the gradients, with the new moments; 0 of padding. Only with
        ``config.clip_norm``.
    """

    def __init__(self, config, shape):
        self.config, self.shape = config, shape
        part = part_layout(config, shape)
        sums = config.arithmetic.gradient_sum_shape(config.batch)
        squares = Out(vector_layout(square_shape(config), shape.part))
        super().__init__(
            {
                **({"squares": squares} if config.clip_norm else {}),
                **optimizer_members(config),
                "gradient": In(vector_layout(sums, shape.part)),
                "old": In(part),
                "updating": In(1),
                "image_i": In(32 * shape.image_word),
                "moments_padding": In(shape.part),
                "weights_padding": In(shape.part),
                "counts": In(1),
                "new": Out(part),
                "image_o": Out(32 * shape.image_word),
                "saturations": Out(range(shape.part + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape, sets = self.shape, stored_sets(self.config)
        for place in range(shape.image_word):
            word = 0
            for lane in range(place, shape.part, shape.image_word):
                for name in sets:
                    word |= self.old[name][lane]
            # The assignment extends the sign of a weight.
            m.d.comb += self.image_o.word_select(place, 32).eq(word)
        clipped = [self._lane(m, lane, sets) for lane in range(shape.part)]
        if self.config.arithmetic.saturates:
            counted = Signal(shape.part)
            m.d.comb += counted.eq(
                Cat(clipped) & ~self.weights_padding & self.counts.replicate(shape.part)
            )
            m.d.sync += self.saturations.eq(sum(counted[1:], counted[0]))
        return m

    def _lane(self, m, lane, sets):
        """The optimizer of number ``lane`` of a part; returns whether its weight was clipped."""
        config = self.config
        if config.network_optimizer:
            optimizer = self.optimizer
        else:
            m.submodules[f"optimizer_{lane}"] = optimizer = SharedModule(
                optimizer_of(config.arithmetic),
                config.optimizer_config,
                config.arithmetic.gradient_sum_shape(config.batch),
                # Without squares the module has the name that it has elsewhere.
                *((True,) if config.clip_norm else ()),
            )
            m.d.comb += optimizer.coefficients.eq(self.coefficients)
        m.d.comb += optimizer.gradient.eq(self.gradient[lane])
        if config.clip_norm:
            shown = Mux(self.moments_padding[lane], 0, optimizer.square)
            m.d.comb += self.squares[lane].eq(shown)
        loaded = self.image_i.word_select(lane % self.shape.image_word, 32)
        for name in sets:
            port = "weight" if name == "online" else name
            result = getattr(optimizer, f"new_{port}")
            padding = self.moments_padding if name in MOMENTS else self.weights_padding
            register = Signal(result.shape(), name=f"{name}_{lane}", reset_less=True)
            m.d.sync += register.eq(Mux(self.updating, result, loaded[: len(result)]))
            with m.If(padding[lane]):
                m.d.sync += register.eq(0)
            m.d.comb += [
                getattr(optimizer, port).eq(self.old[name][lane]),
                self.new[name][lane].eq(register),
            ]
        return optimizer.saturated
