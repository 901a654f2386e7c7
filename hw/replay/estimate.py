"""Resources of the whole kernel ``replay``, and of its core, which is in other kernels as well."""

from functools import lru_cache

from amaranth import Shape

from hw.area import area
from hw.arith.multiply import Multiply
from hw.estimate import times, together
from hw.replay.commands import BUFFERS, COMMANDS, MAX_COUNT
from hw.replay.config import DRAW_LATENCY, FRACTION_WIDTH, GRANULE_WIDTH, compute_stage
from hw.replay.records import HEADER, ITEM, REPLAY_STATUS
from hw.replay.replay_state import state_shapes
from hw.replay.tree.operations import response_layout
from hw.shell import estimate as shell
from hw.shell.axi import REQUEST
from hw.stream import estimate as stream
from hw.stream.ram import Ram

__all__ = ["core_parts", "estimate", "forwarding_memory", "jobs", "log2_widths"]
__all__ += ["parts", "tree_parts"]

#: DSP blocks of reading commands: of a command's items by the granules of an experience.
_PRODUCTS = 1
#: Bits of a command's count.
_COUNT = MAX_COUNT.bit_length()


def estimate(config):
    """Resources of the whole kernel of a ReplayKernelConfig."""
    return together(parts(config).values())


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a ReplayKernelConfig."""
    return core_parts(config) | shell.parts(config, BUFFERS, REPLAY_STATUS)


@lru_cache(maxsize=256)  # kernels with a learner ask again and again
def core_parts(config):
    """``{unit: Estimate}`` of the ReplayCore of a ReplayKernelConfig."""
    replay, width = config.replay, config.engine.data_width
    index, priority = replay.index_width, replay.priority_width
    place, granules = replay.capacity.bit_length(), width // GRANULE_WIDTH
    extent = Shape.cast(state_shapes(replay, config.engine.beat_bytes)["extent"]).width
    item = 8 * ITEM.size
    return {
        "commands": shell.dispatcher(COMMANDS, config, products=_PRODUCTS),
        **tree_parts(replay),
        "items": together(
            [
                stream.split(item, width // item, _COUNT),
                area("stream.ready_register", width=item + 1),
                area("replay.priority_unit", width=priority),
                stream.queue(item + 3, 64),  # an item, and what its limits say
                stream.queue(_COUNT, 1),
                # Limits of the index; the operation; the first error and its position.
                area("replay.item_reader", index=index),
            ]
        ),
        "gather": together(
            [
                # A beat is the experience's, or begins with a header. Leaves, beats and addresses
                # pass two registers; records and granules are counted.
                area("replay.gather", width=width, index=index, priority=priority),
                stream.queue(REQUEST.size, 2),
                stream.queue(index + priority, 64),
                stream.queue(HEADER.shape.size, config.engine.depth),
                *_weight(priority, replay.total_width, place),
                stream.pack(GRANULE_WIDTH, granules + 1, granules),
            ]
        ),
        "insert": together(
            [area("replay.insert", place=place), stream.unpack(GRANULE_WIDTH, granules)]
        ),
        "core": together(
            [
                area("replay.operation_issuer", index=index, total=replay.total_width),
                area("replay.replay_state", place=place, priority=priority, extent=extent),
                area("replay.replay_core"),  # states of a command; four clocks of the last batch
            ]
        ),
    }


def jobs(data_width):
    """Resources of a ``JobReplayCore`` beside those of a ReplayCore: of the JobDispatcher, and of
    choosing between a job and a command, and between their beats."""
    return area("replay.job_replay_core", width=data_width)


def _weight(*widths):
    """A ``WeightUnit`` with operands of ``widths`` bits."""
    yield area("replay.weight_unit")  # the sum of the logarithms, and the last register
    yield area("arith.power", tag=1)
    for width in widths:
        yield area("arith.log2", **log2_widths(width))


def log2_widths(width):
    """The widths that the row of a ``Log2`` names, for an operand of ``width`` bits."""
    # A bit of the normaliser is in two registers and six multiplexers; of a wide operand, the
    # lowest bits count no more.
    return dict(
        bits=min(width, 30),
        wide=width > 30,
        registers=min(width, 28),
        wide_registers=width > 28,
    )


def tree_parts(config):
    """``{unit: Estimate}`` of the ReplayManager of a ReplayConfig."""
    scale = FRACTION_WIDTH, config.total_width
    return {
        "tree": together(_level(config, shape) for shape in config.levels),
        "table": together(_table(config)),
        "draw": together(
            [Multiply.estimate(FRACTION_WIDTH, FRACTION_WIDTH + 1), area("replay.tree.draw")]
        ),
        "manager": together([Multiply.estimate(*scale), *_manager(config)]),
    }


def _manager(config):
    """What goes along with the operations: before the multiplier of the target, beside it, and from
    it to the response."""
    index, priority, total = config.index_width, config.priority_width, config.total_width
    front, scale, tree = config.front_latency, config.scale_latency, config.tree_latency
    # The queue of the responses has a place for each operation under way.
    places, response = config.latency.bit_length(), response_layout(config).size
    yield Ram.estimate(response, 1 << places)
    yield area(
        "replay.tree.manager",
        # Target, priority and error of the response are chosen or compared.
        priority=priority,
        total=total,
        index=index,
        front=front,
        scale=scale,
        response=response,
        places=places,
        # The place that is cleared.
        clear=max(config.table_rows, *(shape.nodes for shape in config.levels)).bit_length(),
    )
    # Of the value, which has the bits of a total, those of a priority are read after a clock.
    yield stream.delay(priority, front - 1)
    yield stream.delay(total - priority + 2, front)
    yield stream.delay(index, front + scale)
    yield stream.delay(FRACTION_WIDTH, front - DRAW_LATENCY)
    # Value and operation, delta, total.
    yield stream.delay(2 * total + 2 + priority + 1, scale)
    yield stream.delay(priority + 1, scale + tree)


def _table(config):
    """The ``PriorityTable``."""
    lanes, rows, width = config.table_lanes, config.table_rows, config.priority_width
    stage = config.table_stage
    yield area(
        "replay.tree.priority_table",
        # Old and new priority of each lane; change, and what chooses it; total.
        priority=width,
        lanes=lanes * width,
        total=config.total_width,
        # The lane is found by comparing and subtracting.
        found=(lanes - 1) * config.index_width,
        address=max(1, (rows - 1).bit_length()),
        stage=stage,
    )
    # A lane that is always the same is a constant behind registers.
    yield area("stream.delay", bits=1 + stage) if lanes == 1 else stream.delay(lanes, 1 + stage)
    yield stream.delay(width, 1 + stage)
    yield forwarding_memory(lanes * width, rows, config.table_style)


def _level(config, shape):
    """A ``TreeLevel`` of this LevelShape."""
    stage, width, fanout = shape.stage, shape.width, shape.fanout
    delta, digit = config.priority_width + 1, shape.child_width
    # A prefix sum is compared, and added to, which takes two tables a bit where delta has bits of
    # its own. Target and total are differences. Base and upper are one of ``fanout`` each.
    bit = area(f"replay.tree.tree_level.{'few' if fanout <= 4 else 'many'}", fanout=fanout)
    # From stage 0 to the compare, and the total and the index on to the clock after it.
    late = 3 * stage + max(0, stage - 1) + (fanout - 1) * (stage > 0) + digit * (stage + 1)
    own = area(
        "replay.tree.tree_level",
        children=(fanout - 1) * delta,
        # Operation, target and delta behind the compare, and at the output with base, upper and
        # index; what was compared.
        registers=4 * width + 2 * delta + config.index_width + fanout - 1 + late,
    )
    return together(
        [
            own,
            times(width, bit),
            stream.delay(width + delta, stage),
            stream.delay(width + config.index_width - digit, stage + 1),
            forwarding_memory(shape.word_width, shape.nodes, shape.style),
        ]
    )


def forwarding_memory(width, depth, style):
    """A ``ForwardingMemory``."""
    if compute_stage(depth, style) == 0:
        return area("replay.tree.forwarding_memory.single", width=width)
    # What is written, cleared or not; what is read, in one choice or two; addresses and write flags
    # of earlier operations, compared, and chosen for a clear; which of them is the newest.
    own = area(
        f"replay.tree.forwarding_memory.{style}", width=width, address=(depth - 1).bit_length()
    )
    return together([own, Ram.estimate(width, depth, style)])
