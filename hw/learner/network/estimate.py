"""What the loss unit and the buffers of a layer take."""

from dataclasses import dataclass
from functools import lru_cache

from amaranth import *

from hw.estimate import Estimate, selector, times, together
from hw.learner.network.activation_buffer import ActivationBuffer
from hw.stream.queue import Queue
from hw.stream.ram import Ram, style_of

__all__ = ["LossEstimate", "activation_buffer"]


@dataclass(frozen=True, kw_only=True)
class LossEstimate(Estimate):
    """Clocks and resources of ``Loss``. ``interval``: clocks from a super-sample to the next.
    ``latency``: clocks from a super-sample's last output to its first word of ``delta``.

    td_latency : clocks from a super-sample's last output to the TD error of its first lane.
    ahead : super-samples for whose results there is room behind the pipeline: so many that the
        pipeline need not wait if its results are taken at once.
    """

    td_latency: int
    ahead: int


@lru_cache(maxsize=4096)
def activation_buffer(config, layer, *, groups, backward_groups, slots, feed, chain):
    """Resources of an ``ActivationBuffer``.

    feed, chain : how many elements of an experience come in a clock, and of how many groups the
    elements come from the layer before.
    """
    number = config.lanes * Shape.cast(config.arithmetic.shape("activation")).width
    banks, rows = ActivationBuffer.banks_of(layer, feed)
    depth, copies = slots * rows, groups + backward_groups
    ram = Ram.estimate(number, depth, style_of(depth))
    # Elements of a word that may be padding, or lie in one of several rows. Where the last word has
    # the last number of all, none is behind it.
    word = (layer.words - 1).bit_length()
    final, place = divmod(layer.inputs - 1, layer.vector)
    filled = final + 1 == 1 << word
    padded = layer.vector - (place + 1 if filled else 0)
    chosen = selector(banks // layer.vector) * layer.vector
    # What comes from one of several sources.
    sources = feed + (chain > 0)
    written = selector(sources) * number * banks * (groups if feed > 1 else chain)
    counted = (slots * layer.words).bit_length()
    # A slot's first address is a multiple of its rows.
    base = (depth - 1).bit_length() - (rows & -rows).bit_length() + 1
    counters = 2 * (counted + 2 * word + base + 1)
    counters += ((feed > 0) + (chain > 0)) * (base + slots.bit_length())
    logic = Estimate(
        lut=copies * number * max(padded, chosen) + written + 2 * counters + 10, ff=counters
    )
    numbers = number * layer.vector
    queues = (
        Queue.estimate(groups * numbers, ActivationBuffer.ahead_of(layer.interleave) + 2),
        Queue.estimate(backward_groups * numbers, ActivationBuffer.ahead_of(1) + 2),
    )
    return together([times(copies * banks, ram), *queues, logic])
