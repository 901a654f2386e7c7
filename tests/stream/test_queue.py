"""hw.stream.queue: order, exact level, capacity and pace at every kind of depth."""

import pytest
from later import later

from hw.stream.queue import Queue
from hw.stream.ram import SHALLOW


@pytest.mark.parametrize("depth", [0, -1, 2.0])
def test_rejects_depth(depth):
    with pytest.raises(ValueError, match=f"^depth must be a positive integer, not {depth!r}$"):
        Queue(8, depth)


@pytest.mark.parametrize(
    "depth",
    [
        1,
        2,
        pytest.param(3, marks=pytest.mark.verilator),
        SHALLOW,
        SHALLOW + 1,
        later(100),
        later(128),
    ],
)
def test_queue(simulate, depth):
    """Depths on both sides of SHALLOW, powers of two and not."""
    queue = Queue(16, depth)
    simulate(
        queue,
        "stream.queue_bench",
        unit="queue",
        depth=depth,
        width=16,
        latency=Queue.latency_of(depth),
        interval=2 if depth == 1 else 1,
        seed=depth,
    )
