"""What the parameters of a layer take."""

from dataclasses import dataclass

from amaranth.hdl import Shape

from hw.estimate import Estimate, together
from hw.learner.config import stored_sets
from hw.learner.parameters.block_memory_shape import BlockMemoryShape
from hw.learner.parameters.join import READ_CLOCKS, Join
from hw.learner.parameters.moments import Moments
from hw.learner.parameters.update import Update
from hw.learner.parameters.walk import Walk, place_layout
from hw.nn.optimizers import optimizer_of
from hw.stream import estimate as stream_area

__all__ = ["ParametersEstimate", "resources"]


@dataclass(frozen=True, kw_only=True)
class ParametersEstimate(Estimate):
    """Resources of ``LayerParameters``, and clocks for which its ``busy`` is high.

    update : in an update.
    load, store : in a load or a store of one parameter set, if the stream of words never waits.
    """

    update: int
    load: int
    store: int


def resources(config, shape, input_gradient):
    """The Estimate of the parameters of a BlockShape; ``input_gradient`` as in
    ``LayerParameters``."""
    return together(
        [
            BlockMemoryShape.of_blocks(config, shape, dual=input_gradient).estimate,
            BlockMemoryShape.of_biases(config, shape).estimate,
            Moments.estimate(config, shape),
            Walk.estimate(shape),
            Join.estimate(config, shape),
            Update.estimate(config, shape),
            stream_area.queue(32 * shape.image_word, READ_CLOCKS + 2),
            _control(config, shape),
        ]
    )


def _control(config, shape):
    """Delay lines of places, and what is written where."""
    latency = optimizer_of(config.arithmetic).timing(config.optimizer_config).latency
    words = shape.part // shape.image_word
    enables = 2 * sum(
        -(-numbers // shape.image_word) for numbers in (shape.multipliers, shape.output_word)
    )
    enables += words * (len(stored_sets(config)) - 2)
    place = place_layout(shape)
    address, index, part = (
        Shape.cast(place[name].shape).width for name in ("address", "index", "part")
    )
    width = Shape.cast(place).width
    # A line of shift registers a bit in three sections, the last one without the index.
    lines = [stream_area.delay(width, clocks).lut for clocks in (latency // 3, latency // 3)]
    lines.append(stream_area.delay(width - index, latency // 3).lut)
    registers = (
        *(6, READ_CLOCKS + latency + 1, 2 * READ_CLOCKS),  # what is under way
        *(1 + part, 2 * index, 2 * (words - 1).bit_length()),  # what is read
        *(address + (shape.output_words - 1).bit_length(), enables),  # what is written
    )
    return Estimate(
        lut=sum(lines) + 2 * width + address + enables + 2 * words + 30, ff=sum(registers)
    )
