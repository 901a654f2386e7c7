"""What the loss unit and the buffers of a layer take."""

from dataclasses import dataclass
from functools import lru_cache

from amaranth import *

from hw.estimate import Estimate, selector, times, together
from hw.learner.block.activation_buffer import ActivationBuffer
from hw.stream.ram import Ram, style_of

__all__ = ["LossEstimate", "activation_buffer"]


@dataclass(frozen=True, kw_only=True)
class LossEstimate(Estimate):
    """Clocks and resources of ``Loss``. ``interval``: clocks from a super-sample to the next.
    ``latency``: clocks from a super-sample's last output to its first word of ``delta``.

    td_latency : clocks from a super-sample's last output to the TD error of its first lane.
    ahead : super-samples for whose results there is room behind the pipeline: so many that the
        pipeline need not wait if its results are taken at once.
    slots : super-samples for which there is room before the pipeline: 16 that wait, and as many as
        the last layer may have begun, at least 16.
    """

    td_latency: int
    ahead: int
    slots: int


@lru_cache(maxsize=4096)
def activation_buffer(config, shape, *, groups, backward_groups, slots, feed, chain):
    """Resources of an ``ActivationBuffer``.

    feed, chain : how many numbers of an experience come in a clock, and of how many groups the
        words come from the layer before.
    """
    number = config.lanes * Shape.cast(config.arithmetic.shape("activation")).width
    banks, rows = ActivationBuffer.banks_of(shape, feed)
    beside = 1 if feed else shape.input_word  # numbers of a memory
    depth, copies = slots * rows, groups + backward_groups
    ram = Ram.estimate(number * beside, depth, style_of(depth))
    # Numbers that may be padding, or lie in one of several rows.
    padded = sum(count < shape.input_word for count in shape.input_words_filled()) > 0
    chosen = selector(banks * beside // shape.input_word)
    # What comes from one of several sources.
    sources = feed + (chain > 0)
    written = selector(sources) * number * banks * beside * (groups if feed > 1 else chain)
    counted, word = (slots * shape.input_words).bit_length(), (shape.input_words - 1).bit_length()
    # A slot's first address is a multiple of its rows.
    base = (depth - 1).bit_length() - (rows & -rows).bit_length() + 1
    counters = 2 * (counted + 2 * word + base + 1)
    counters += ((feed > 0) + (chain > 0)) * (base + slots.bit_length())
    # Samples of which one source is done and the other is not, and places behind the joined ones.
    both = feed > 0 and chain > 0
    pending = both * 2 * slots.bit_length()
    logic = Estimate(
        lut=copies * number * shape.input_word * max(padded, chosen)
        + written
        + 2 * counters
        + 10
        + 7 * pending,
        ff=counters + pending,
    )
    return together([times(copies * banks, ram), logic])
