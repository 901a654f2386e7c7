"""Resources of the parameters of a layer, unit by unit."""

from functools import lru_cache

from amaranth.hdl import Const, Shape
from amaranth.lib.wiring import Out

from hw.area import area
from hw.arith import estimate as arith
from hw.estimate import selector, times, together
from hw.learner.block.layer_clocks import READ_CLOCKS, READ_LATENCY
from hw.learner.config import stored_sets
from hw.learner.parameters.block_memory_shape import BlockMemoryShape
from hw.learner.parameters.join import JOINED
from hw.learner.parameters.moments import MOMENTS
from hw.learner.parameters.square_sum import SquareSum, square_shape
from hw.learner.parameters.update import optimizer_members, part_layout
from hw.learner.parameters.walk import place_layout
from hw.nn import estimate as nn
from hw.nn.optimizers import optimizer_of
from hw.stream.estimate import queue
from hw.stream.ram import Ram, style_of

__all__ = ["block_memory", "join", "layer_parameters", "moments", "network_optimizer"]


@lru_cache(maxsize=4096)  # many kernels of a search have the same layers
def layer_parameters(config, shape, input_gradient=True):
    """A ``LayerParameters`` with these arguments."""
    own_optimizer = nn.optimizer(config.optimizer_config)
    return together(
        [
            block_memory(BlockMemoryShape.of_blocks(config, shape, dual=input_gradient)),
            block_memory(BlockMemoryShape.of_biases(config, shape)),
            moments(config, shape),
            _walk(shape),
            join(config, shape),
            times(0 if config.network_optimizer else shape.part, own_optimizer),
            *(_squares(config, shape) if config.clip_norm else ()),
            _update(config, shape),
            queue(32 * shape.image_word, READ_CLOCKS + 2),
            _control(config, shape),
        ]
    )


def network_optimizer(config, layers):
    """A ``NetworkOptimizer`` of so many layers, if ``config`` has one."""
    if not config.network_optimizer:
        return times(0)
    ports = optimizer_members(config)["optimizer"].signature.members.values()
    chosen = sum(Shape.cast(port.shape).width for port in ports if port.flow == Out)
    choice = area("learner.parameters.network_optimizer", chosen=chosen * (layers - 1))
    return together([nn.optimizer(config.optimizer_config), choice])


def block_memory(shape):
    """A ``BlockMemory``."""
    weight, sums = shape.weight.width, shape.sums.width
    groups = [(group, weight) for group in 2 * shape.weight_rams + shape.dual * shape.dual_rams]
    groups += [(group, sums) for group in shape.gradient_rams]
    style, late = style_of(shape.depth), shape.gradient_latency == READ_LATENCY
    address = (shape.depth - 1).bit_length()
    own = area(
        "learner.parameters.block_memory",
        addresses=(1 + (shape.rows if shape.skew else 1)) * address,
        hidden=shape.parts * (1 + late),
        words=shape.numbers * ((2 + shape.dual) * weight + late * sums),
        skewed=shape.skew * (shape.rows - 1 + shape.dual * (shape.columns - 1)) * address,
    )
    return together(
        [own, *(Ram.estimate(len(group) * width, shape.depth, style) for group, width in groups)]
    )


def moments(config, shape):
    """A ``Moments``."""
    width, depth = 32 * shape.image_word, shape.parts
    count = len(set(MOMENTS) & set(stored_sets(config))) * shape.part // shape.image_word
    memory = Ram.estimate(width, depth, style_of(depth))
    return together([times(count, memory), area("learner.parameters.moments", bits=count * width)])


def _walk(shape):
    sizes = (
        *(max(shape.blocks, shape.output_words), shape.input_words, shape.output_words),
        *(max(shape.weight_parts, shape.bias_parts), shape.parts),
        shape.part // shape.image_word,
    )
    return area("learner.parameters.walk", bits=sum((size - 1).bit_length() for size in sizes))


def join(config, shape):
    """A ``Join``."""
    weights = len(JOINED) * Shape.cast(config.arithmetic.shape("weight")).width
    blocks = BlockMemoryShape.of_blocks(config, shape, dual=False)
    # Of a bias' gradient, the low bits are zeros, and the high bits its sign.
    sums = blocks.sums.width
    low = len(config.arithmetic.times_one(Const(0, blocks.sums))) - sums
    tables, bits = 0, shape.part * (weights + sums)
    for lane in range(shape.part):
        parts = len(range(lane, shape.multipliers, shape.part))
        biases = len(range(lane, shape.output_word, shape.part))
        tables += weights * _joined(parts + biases)
        if blocks.gradient_latency == 1 and parts:
            tables, bits, parts = tables + sums * selector(parts), bits + sums, 1
        tables += low * _joined(parts) + (sums - low) * _joined(parts + biases)
    return area("learner.parameters.join", tables=tables, bits=bits)


def _joined(count):
    """Lookup tables of the OR of ``count`` bits. For many bits the mapper spends more tables on a
    shorter path."""
    return -(-max(count - 1, 0) // 5) if count <= 11 else -(-count // 3)


def _squares(config, shape):
    """The measuring walk: squares of a part, and their sum."""
    arithmetic, width = config.arithmetic, square_shape(config).width
    yield times(shape.part, nn.square(config.optimizer_config, width))
    yield arith.adder_tree(arithmetic, width, shape.part)
    yield arith.add(arithmetic, SquareSum.sum_shape(config, shape).width)
    if not arithmetic.saturates:
        yield area("nn.batch_sum")


def _update(config, shape):
    layout, saturates = part_layout(config, shape), config.arithmetic.saturates
    images = _joined(len(layout.members) * shape.part // shape.image_word)
    return area(
        "learner.parameters.update",
        written=Shape.cast(layout).width,
        joined=shape.image_word * images,
        counted=saturates * shape.part,
        count=saturates * shape.part.bit_length(),
    )


def _control(config, shape):
    """Places go along in shift registers of three sections, the last one without the index."""
    words, place = shape.part // shape.image_word, place_layout(shape)
    enables = 2 * sum(
        -(-numbers // shape.image_word) for numbers in (shape.multipliers, shape.output_word)
    )
    return area(
        "learner.parameters.layer_parameters",
        latency=optimizer_of(config.arithmetic).timing(config.optimizer_config).latency,
        place=Shape.cast(place).width,
        **{name: Shape.cast(place[name].shape).width for name in ("address", "index", "part")},
        words=words,
        word=(words - 1).bit_length(),
        output=(shape.output_words - 1).bit_length(),
        enables=enables + words * (len(stored_sets(config)) - 2),
    )
