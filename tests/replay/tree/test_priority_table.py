"""hw.replay.tree.priority_table against a list of priorities and their sum."""

import random

import pytest
from clocks import Clocks

from hw.replay.config import ReplayConfig
from hw.replay.tree.priority_table import PriorityTable

CONFIGS = [
    (1, dict(capacity=2, fanout=2)),
    (1, dict(capacity=37, fanout=4, priority_width=4, priority_fraction=0)),
    (1, dict(capacity=301, fanout=4)),
    (3, dict(capacity=2050, fanout=16)),  # the last row is not full
    (4, dict(capacity=2048, fanout=16, priority_width=16, priority_fraction=8)),
]


def operations(config, rng):
    """``(set, index, priority)``: lane ends, one leaf, leaves of one row, then anything."""
    rows, lanes, limit = config.table_rows, config.table_lanes, config.priority_limit
    ends = {i for k in range(lanes + 1) for i in (k * rows - 1, k * rows, k * rows + 1)}
    ends = sorted(i for i in ends | {config.capacity - 1} if 0 <= i < config.capacity)
    for priority in (limit, 0, 1):
        yield from ((1, index, priority) for index in ends)
        yield from ((0, index, limit) for index in ends)
    row = [k * rows for k in range(lanes)]
    for few in ([0], [config.capacity - 1], row, [*row, *ends], range(config.capacity)):
        for _ in range(300):
            yield (
                rng.random() < 0.7,
                rng.choice(few),
                rng.choice([0, 1, limit, rng.randint(0, limit)]),
            )


@pytest.mark.parametrize("lanes, values", CONFIGS)
def test_old_delta_and_total(simulate, tmp_path, lanes, values):
    config, rng, clocks = ReplayConfig(**values), random.Random(3), Clocks()
    assert config.table_lanes == lanes
    table = PriorityTable(config, clear_width=config.table_rows.bit_length())
    for row in range(config.table_rows):
        clocks.add(clear=1, clear_address=row)
    priorities, total = [0] * config.capacity, 0
    for is_set, index, priority in operations(config, rng):
        clock = clocks.add(set=is_set, index=index, priority=priority)
        old, delta = priorities[index], 0
        if is_set:
            priorities[index], delta = priority, priority - old
        clocks.expect(
            clock + table.latency,
            old=old,
            total=total,
            running_total=total + delta,
            delta=delta % (2 << config.priority_width),
        )
        total += delta
    # The sweep zeroes the total with the words.
    for _ in range(table.latency):
        clocks.add()
    for row in range(config.table_rows):
        clocks.add(clear=1, clear_address=row)
    for index in (0, config.capacity // 2, config.capacity - 1):
        clocks.expect(clocks.add(index=index) + table.latency, old=0, total=0, running_total=0)
    clocks.run(simulate, table, tmp_path)
