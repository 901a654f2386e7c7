"""Resources of the passes of a layer, and of the buffer of its activations."""

from functools import lru_cache

from amaranth import Shape

from hw.area import area
from hw.arith import estimate as arith
from hw.estimate import selector, times, together
from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.layer_clocks import (
    READ_LATENCY,
    bias_clocks,
    column_clocks,
    early_word,
    finished_latency,
    gradient_clocks,
    gradient_latency,
    most_under_way,
    row_clocks,
)
from hw.nn import estimate as nn
from hw.nn.activation import ACTIVATIONS
from hw.stream.estimate import delay
from hw.stream.ram import Ram, style_of

__all__ = ["activation_buffer", "backward", "forward"]


def _width(config, kind):
    return Shape.cast(config.arithmetic.shape(kind)).width


@lru_cache(maxsize=4096)  # many kernels of a search have the same layers
def forward(config, shape, groups):
    """A ``Forward`` with ``groups`` weight sources."""
    arithmetic, paths = config.arithmetic, groups * config.lanes
    bits, columns = paths * _width(config, "activation"), paths * shape.output_word
    output, apart = (shape.output_words - 1).bit_length(), shape.interleave.bit_length() - 1
    under_way = (most_under_way(config, shape) - 1).bit_length()
    clips = columns.bit_length() + paths * shape.output_word.bit_length()
    skews = (READ_LATENCY - 1 + k * arithmetic.dot_skew for k in range(shape.input_word))
    return together(
        [
            times(columns, *_column(arithmetic, shape)),
            _sweep(shape, bits * shape.input_word),
            *(delay(bits, clocks) for clocks in skews),
            delay(3 + apart + output, READ_LATENCY),
            delay(output, column_clocks(arithmetic, shape).bias),
            area("learner.block.forward", output=output, under_way=under_way),
            times(
                arithmetic.saturates,
                area("learner.block.forward.clips", columns=columns, clips=clips),
            ),
        ]
    )


def _sweep(shape, width, spacing=0):
    wait = max(0, spacing - shape.blocks).bit_length()
    counts = shape.output_words, shape.input_words, shape.blocks
    bits = sum((count - 1).bit_length() for count in counts) + wait
    # Where the enable of the word is the inverse of a single bit, yosys gives tables for it.
    enabled = width if shape.output_words == 2 and not wait else 0
    return area("learner.block.sweep", bits=bits, enabled=enabled, width=width)


def _column(arithmetic, shape):
    total = arithmetic.sum_shape("weight", "activation", count=shape.inputs + 1).width
    clocks = column_clocks(arithmetic, shape, shape.activation)
    depth, returns = shape.output_words * shape.interleave, shape.returns
    place = (depth - 1).bit_length()
    yield arith.dot(arithmetic, shape.input_word, "weight", "activation")
    yield arith.requantize(arithmetic, total, "weight", "activation", kind="activation")
    yield nn.activation(shape.activation, arithmetic)
    if returns and clocks.loop > arithmetic.add_latency:
        yield Ram.estimate(total, depth, style_of(depth))
        yield delay(place, clocks.dot - 1)
        yield delay(place, 1 + arithmetic.add_latency)
    elif returns:
        yield delay(total, shape.output_words - 1)
    chosen, kept = returns * total, returns * clocks.summed
    if arithmetic.saturates:
        # The lowest bits of a bias are 0; those below the point of rounding have no registers
        # where nothing is added to them.
        chosen = total if returns else total - arithmetic.fraction("activation")
        kept = clocks.dot + (total if returns else total + 1 - arithmetic.fraction("weight"))
    else:
        yield arith.interleaved_sum(arithmetic, total, shape.interleave, shape.output_words)
        yield times(1 + returns, arith.add(arithmetic, total))
    yield area("learner.block.column", chosen=chosen, kept=clocks.y + kept)


@lru_cache(maxsize=4096)
def backward(config, shape, groups=1, input_gradient=True, input_activation="linear", **deltas):
    """A ``Backward`` with these arguments; ``deltas``: period, reserved, banks."""
    arithmetic, paths = config.arithmetic, groups * config.lanes
    word = _width(config, "activation") * paths * shape.input_word
    late = finished_latency(config, shape) - (shape.blocks - 1)
    index = clips = clipped = 0
    parts = [
        *_delta_words(config, shape, paths, **deltas),
        *_gradients(config, shape),
        _sweep(shape, word, gradient_clocks(config, shape).loop),
        delay(word, READ_LATENCY - 1),
    ]
    if input_gradient:
        count, index = paths * shape.input_word, (shape.input_words - 1).bit_length()
        clips = count.bit_length() * arithmetic.saturates
        clipped, late = clips * count, late + READ_LATENCY
        parts.append(times(count, *_row(arithmetic, shape, input_activation)))
        if ACTIVATIONS[input_activation].derivative_latency(arithmetic):
            parts.append(delay(word, row_clocks(arithmetic, shape, input_activation).x))
        error = paths * _width(config, "gradient")
        parts += [delay(error, n * arithmetic.dot_skew) for n in range(shape.output_word)]
        parts.append(delay((shape.output_words - 1).bit_length(), READ_LATENCY))
    own = area("learner.block.backward", index=index, clips=clips, clipped=clipped, late=late)
    return together([*parts, own])


def _row(arithmetic, shape, activation):
    words, number = shape.output_words, (shape.output_words - 1).bit_length()
    total = arithmetic.sum_shape("weight", "gradient", count=shape.outputs).width
    yield arith.dot(arithmetic, shape.output_word, "weight", "gradient")
    if arithmetic.saturates:
        yield times(words > 1, arith.add(arithmetic, total))
    else:
        yield arith.interleaved_sum(arithmetic, total, words, 1)
    yield arith.requantize(arithmetic, total, "weight", "gradient", kind="gradient")
    yield nn.derivative(activation, arithmetic)
    clocks = row_clocks(arithmetic, shape, activation)
    yield delay(number, clocks.dot)
    yield area("learner.block.row", number=number, latency=clocks.dx)


def _gradients(config, shape):
    arithmetic, lanes, clocks = config.arithmetic, config.lanes, gradient_clocks(config, shape)
    read, address = clocks.word - gradient_latency(shape), (shape.blocks - 1).bit_length()
    numbers = _width(config, "gradient") * shape.output_word
    numbers += _width(config, "activation") * shape.input_word
    total = arithmetic.gradient_sum_shape(config.batch).width
    begins = total if clocks.cascaded else 0
    element = [arith.dot(arithmetic, lanes, "gradient", "activation", begins=begins)]
    if not clocks.cascaded:
        element.append(arith.add(arithmetic, total))
    # In binary32, a sum so far is 0 or what it was.
    fresh = 0 if arithmetic.saturates else _width(config, "gradient")
    element.append(area("learner.block.gradient_element", fresh=fresh))
    yield times(shape.multipliers, *element)
    for lane in range(lanes):
        yield delay(numbers, lane * arithmetic.dot_skew)
    yield delay(address, read)
    yield delay(address, clocks.written - read)
    yield delay(1, clocks.word)
    yield area("learner.block.gradients", latency=clocks.written)


def _delta_words(config, shape, paths, period=None, reserved=False, banks=2):
    width = paths * shape.output_word * _width(config, "gradient")
    output = (shape.output_words - 1).bit_length()
    depth = banks << output
    yield Ram.estimate(width, depth, style_of(depth))
    yield delay(width, READ_LATENCY - 1)
    yield from _bias_gradients(config, shape)
    yield area(
        "learner.block.delta_words",
        output=output,
        pause=0 if reserved else bias_clocks(config, shape).pause.bit_length(),
        count=banks.bit_length(),
        banks=banks,
        clocks=early_word(shape, period)[1],
    )


def _bias_gradients(config, shape):
    arithmetic, lanes, clocks = config.arithmetic, config.lanes, bias_clocks(config, shape)
    number, total = _width(config, "gradient"), config.bias_sum_shape.width
    levels, output = (lanes - 1).bit_length(), (shape.output_words - 1).bit_length()
    yield times(
        shape.output_word,
        arith.adder_tree(arithmetic, number, lanes),
        delay(number + levels, clocks.met - clocks.lanes),
        arith.add(arithmetic, total),
        delay(total, clocks.forwards * READ_LATENCY),
    )
    yield delay(output, clocks.met - READ_LATENCY)
    yield delay(output, READ_LATENCY + arithmetic.add_latency)
    yield area(
        "learner.block.bias_gradients",
        # In fixed point the adder's tables choose 0 or the sum so far.
        chosen=shape.output_word * (clocks.forwards + (not arithmetic.saturates)) * total,
        clocks=clocks.met + clocks.written,
    )


@lru_cache(maxsize=4096)
def activation_buffer(config, shape, *, groups, backward_groups, slots, feed, chain):
    """An ``ActivationBuffer``.

    feed, chain : how many numbers of an experience come in a clock, and of how many groups the
        words come from the layer before.
    """
    number = config.lanes * _width(config, "activation")
    banks, rows = ActivationBuffer.banks_of(shape, feed)
    beside = 1 if feed else shape.input_word  # numbers of a memory
    depth, copies = slots * rows, groups + backward_groups
    ram = Ram.estimate(number * beside, depth, style_of(depth))
    # Numbers that may be padding, or lie in one of several rows.
    padded = any(count < shape.input_word for count in shape.input_words_filled())
    chosen = selector(banks * beside // shape.input_word)
    # What comes from one of several sources.
    sources = selector(feed + (chain > 0))
    written = sources * number * banks * beside * (groups if feed > 1 else chain)
    counted, word = (slots * shape.input_words).bit_length(), (shape.input_words - 1).bit_length()
    # A slot's first address is a multiple of its rows.
    base = (depth - 1).bit_length() - (rows & -rows).bit_length() + 1
    counters = 2 * (counted + 2 * word + base + 1)
    counters += ((feed > 0) + (chain > 0)) * (base + slots.bit_length())
    own = area(
        "learner.block.activation_buffer",
        chosen=copies * number * shape.input_word * max(padded, chosen) + written,
        counters=counters,
        # Samples of which one source is done and the other is not, and places behind the joined.
        pending=(feed > 0 and chain > 0) * 2 * slots.bit_length(),
    )
    return together([times(copies * banks, ram), own])
