"""Clocks of the units of a layer: latencies, intervals, and loops of sums.

The units build their registers from these numbers; formulas of clocks and areas read them here.
Clocks of a block, from its issue by ``Sweep``, or from its first element at a column or row ::

    Sweep      issue --READ_LATENCY--> words and weights at columns, rows and gradients
    Column     dot product --> sum over words --> sum of interleaved sums, bias --> round --> y
    Row        dot product --> sum over words ---------------------------> x --> derivative --> dx
    Gradients  products of the lanes, and the sum so far --> write
"""

from functools import lru_cache
from typing import NamedTuple

from hw.arith.adder_tree import interleaved_sum_latency
from hw.learner.block.config import MEMORY_CLOCKS
from hw.nn.activation import ACTIVATIONS
from hw.nn.optimizers import optimizer_of
from hw.stream.ram import SHALLOW
from hw.timing import Stage

__all__ = ["READ_CLOCKS", "READ_LATENCY", "backward_stage", "bias_clocks", "column_clocks"]
__all__ += ["early_word", "element_clocks", "finished_latency", "forward_stage"]
__all__ += ["gradient_clocks", "gradient_latency", "last_latency", "most_under_way"]
__all__ += ["row_clocks", "update_clocks"]

#: Clocks from an address to the word of a parameter memory: the memory's register and one more.
READ_LATENCY = 2
#: Clocks from the place of a part to its numbers at the optimizers.
READ_CLOCKS = READ_LATENCY + 1


def gradient_latency(shape):
    """Clocks from an address to the gradients of a block: the memory's register, and one more if
    the memory is made of blocks."""
    return 1 if shape.blocks <= SHALLOW else READ_LATENCY


class ColumnClocks(NamedTuple):
    """Clocks of a ``Column``.

    loop : least clocks from a block to the next block of the same sum
    dot, summed : from the first element to the dot product, and to its sum with earlier words
    bias : from the first element to the sum of all words, just before the bias is added
    rounded, y : from the first element of the last word to the rounded sum, and to ``y``
    """

    loop: int
    dot: int
    summed: int
    bias: int
    rounded: int
    y: int


def column_clocks(arithmetic, shape, activation="linear"):
    """``ColumnClocks``. In fixed point, fewer output words than the loop of a memory takes have
    registers instead."""
    add = loop = arithmetic.add_latency
    if not arithmetic.saturates or shape.output_words >= add + MEMORY_CLOCKS:
        loop = add + MEMORY_CLOCKS
    dot = summed = arithmetic.dot_latency(shape.input_word)
    if shape.returns and not arithmetic.saturates:
        summed += add
    bias = summed + interleaved_sum_latency(arithmetic, shape.interleave)
    rounded = bias + add + arithmetic.requantize_latency
    y = rounded + ACTIVATIONS[activation].latency(arithmetic)
    return ColumnClocks(loop, dot, summed, bias, rounded, y)


class RowClocks(NamedTuple):
    """Clocks of a ``Row`` from the first element of a word's last block to its dot product; to the
    rounded sum, which ``x`` meets; and to ``dx``."""

    dot: int
    x: int
    dx: int


def row_clocks(arithmetic, shape, activation):
    """``RowClocks``; ``activation`` made x."""
    dot, words = arithmetic.dot_latency(shape.output_word), shape.output_words
    if arithmetic.saturates:
        summed = dot + (words > 1) * arithmetic.add_latency
    else:
        summed = dot + interleaved_sum_latency(arithmetic, words)
    x = summed + arithmetic.requantize_latency
    return RowClocks(dot, x, x + ACTIVATIONS[activation].derivative_latency(arithmetic))


def element_clocks(arithmetic, lanes, cascaded):
    """``(word, total)`` of a ``GradientElement``: clocks from the first lane's numbers to the sum
    so far, and to the new sum."""
    if cascaded:
        return arithmetic.begin_latency(lanes), arithmetic.dot_latency(lanes, begins=True)
    latency = arithmetic.dot_latency(lanes)
    return latency, latency + arithmetic.add_latency


class GradientClocks(NamedTuple):
    """Clocks of ``Gradients``.

    cascaded : whether the sum so far enters the first DSP block of an element: in binary32 always,
        in fixed point if a block comes again late enough
    word, written : from a block to its gradients so far, and to their write
    loop : least clocks from a block to the same block again, whose gradient is then read in the
        clock after its write, or later
    """

    cascaded: bool
    word: int
    written: int
    loop: int


def gradient_clocks(config, shape):
    """``GradientClocks``."""
    arithmetic, read, cascaded = config.arithmetic, gradient_latency(shape), True
    word, total = element_clocks(arithmetic, config.lanes, cascaded)
    if arithmetic.saturates and shape.blocks < read + total - word + 1:
        cascaded = False
        word, total = element_clocks(arithmetic, config.lanes, cascaded)
    loop = read + total - word + 1
    return GradientClocks(cascaded, READ_LATENCY + word, READ_LATENCY + total, loop)


class BiasClocks(NamedTuple):
    """Clocks of ``BiasGradients``.

    lanes, met, written : from a word to its sum over lanes, to the addition of this sum to the
        gradient, and to the write of the new gradient
    forwards : whether a gradient may be read while it is written
    spacing : least clocks from a word to the same word of the next sample
    pause : clocks after a sample's last word without a first word, so that ``spacing`` holds
    """

    lanes: int
    met: int
    written: int
    forwards: bool
    spacing: int
    pause: int


def bias_clocks(config, shape):
    """``BiasClocks``."""
    add, words = config.arithmetic.add_latency, shape.output_words
    lanes, loop = (config.lanes - 1).bit_length() * add, READ_LATENCY + add
    met, forwards = max(READ_LATENCY, lanes), words <= loop
    spacing = loop if forwards else loop + 1
    return BiasClocks(lanes, met, met + add, forwards, spacing, max(0, spacing - words))


def forward_stage(config, shape):
    """The ``Stage`` of samples in ``Forward``, from the first input word to the first output
    word."""
    return Stage(last_latency(config, shape) - (shape.output_words - 1), shape.blocks)


def last_latency(config, shape):
    """Clocks from a sample's first input word to its last output word."""
    column = column_clocks(config.arithmetic, shape, shape.activation)
    return shape.blocks - 1 + READ_LATENCY + column.y


def most_under_way(config, shape):
    """The most samples in flight in ``Forward``: a full pipeline, and one that begins."""
    return last_latency(config, shape) // shape.blocks + 2


def backward_stage(config, shape, input_gradient=True, input_activation="linear"):
    """The ``Stage`` of samples in ``Backward``, from the first word to the first word of dx. The
    latency is None without an ``input_gradient``."""
    loops = gradient_clocks(config, shape).loop, bias_clocks(config, shape).spacing
    interval = max(shape.blocks, *loops)
    if not input_gradient:
        return Stage(None, interval)
    row = row_clocks(config.arithmetic, shape, input_activation)
    return Stage(shape.output_words - 1 + READ_LATENCY + row.dx, interval)


def finished_latency(config, shape):
    """Clocks from the first word of a sample in ``Backward`` to its last gradient."""
    return shape.blocks + gradient_clocks(config, shape).written


def early_word(shape, period):
    """``(word, clocks)``: a reader of errors, which come ``period`` clocks apart, may begin
    ``clocks`` clocks later than it could if ``word`` were the last word of a sample."""
    last = shape.output_words - 1
    return (last, 0) if period is None else divmod(last * (period - 1), period)


@lru_cache(maxsize=4096)
def update_clocks(config, shape):
    """Clocks of an update of the layer's parameters: ``LayerParameters.busy`` is high."""
    latency = optimizer_of(config.arithmetic).timing(config.optimizer_config).latency
    return shape.parts + READ_CLOCKS + latency + 1
