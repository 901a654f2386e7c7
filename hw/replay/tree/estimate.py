"""Resources of the replay manager, by its units."""

from hw.arith.multiply import Multiply
from hw.estimate import Estimate, together
from hw.replay.config import FRACTION_WIDTH
from hw.replay.tree.draw import Draw
from hw.replay.tree.operations import response_layout
from hw.replay.tree.priority_table import PriorityTable
from hw.replay.tree.tree_level import TreeLevel
from hw.stream.delay import delay_estimate
from hw.stream.ram import Ram

__all__ = ["parts"]


def parts(config, latency):
    """``{unit: Estimate}`` of the ReplayManager of a ReplayConfig that answers after ``latency``
    clocks."""
    levels = [TreeLevel.estimate(config, level) for level in range(config.depth)]
    scale = Multiply.estimate(FRACTION_WIDTH, config.total_width)
    tree = sum(level.latency for level in levels)
    return {
        "tree": together(levels),
        "table": PriorityTable.estimate(config),
        "draw": Draw.estimate(),
        "manager": together(
            [scale, *_pipeline(config, scale.latency, tree), *_queue(config, latency)]
        ),
    }


def _pipeline(config, scale, tree):
    """What goes along with the operations: before the multiplier of the target, beside it, and from
    it to the response."""
    index, priority, total = config.index_width, config.priority_width, config.total_width
    front = max(PriorityTable.latency_of(config), Draw.LATENCY)
    memories = [config.table_rows, *(shape.nodes for shape in config.levels)]
    # Target, priority and error of the response are chosen or compared; the place that is cleared.
    yield Estimate(
        lut=3 * priority + 2 * total + 2 * index + 45,
        ff=2 * front + 3 * scale + 2 * priority + max(memories).bit_length() + 1,
    )
    # Of the value, which has the bits of a total, those of a priority are read after a clock.
    yield delay_estimate(priority, front - 1)
    yield delay_estimate(total - priority + 2, front)
    yield delay_estimate(index, front + scale)
    yield delay_estimate(FRACTION_WIDTH, front - Draw.LATENCY)
    # Value and operation, delta, total.
    yield delay_estimate(2 * total + 2 + priority + 1, scale)
    yield delay_estimate(priority + 1, scale + tree)


def _queue(config, latency):
    """The queue of the responses, a place for each operation under way."""
    width, places = response_layout(config).size, latency.bit_length()
    yield Estimate(lut=37, ff=width + 1 + 2 * places + 2 * (places + 1))
    yield Ram.estimate(width, 1 << places)
