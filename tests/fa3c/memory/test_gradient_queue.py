"""gradient_queue: all of a gradient fits, rows keep their order and their pace."""

import re

import pytest

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.estimate import parts
from hw.fa3c.memory.gradient_queue import GradientQueue
from hw.stream.queue import Queue
from hw.verilog import to_verilog

#: 17 rows, which lie in lookup tables: 16 weights and a bias.
LEAST = dict(
    height=1, width=1, channels=1, binary32=True, lanes=1, convolutions=(), hidden=(), outputs=2
)
#: 3 groups of 5 rows, 2 of 49, 1 of 33: in blocks.
SMALL = LEAST | dict(height=2, width=2, convolutions=((40, 2, 1),), hidden=(20,), outputs=3)


@pytest.mark.parametrize(
    "config, depth, style, bram36, uram",
    [
        (LEAST, 17, "auto", 0, 0),
        (SMALL, 3 * 5 + 2 * 49 + 33, "block", 7.5, 0),
        # 17 rows for each group of hidden units, and a group of 16 a unit and one.
        (LEAST | dict(hidden=(62 * 16,)), 62 * 17 + 62 * 16 + 1, "block", 28.5, 0),
        (LEAST | dict(hidden=(63 * 16,)), 4096, "ultra", 0, 8),
        # On a part without UltraRAM: as many rows as there are.
        (LEAST | dict(hidden=(63 * 16,), ultra_ram=False), 63 * 33 + 1, "block", 37.5, 0),
        # FA3C's: 257 + 2 * 257 + 16 * 2593 + 2 * 257 rows.
        ({}, 45056, "ultra", 0, 79),
    ],
    ids=["least", "small", "not deep", "deep", "no ultra", "fa3c"],
)
def test_memory(config, depth, style, bram36, uram):
    config = Fa3cConfig(**config)
    queue, found = GradientQueue(config), parts(config)["gradients"]
    assert queue.depth == depth
    count = len(config.units_for("train"))
    assert (found.bram36, found.uram, found.dsp) == (count * bram36, count * uram, 0)
    text = to_verilog(queue, name="dut")
    styles = re.findall(r'RAM_STYLE\("(\w+)"\)', text)
    assert styles == ([] if style == "auto" else [style])
    assert not styles or re.findall(r"\.DEPTH\(32'd(\d+)\)", text) == [str(depth)]


@pytest.mark.parametrize(
    "config",
    [pytest.param(LEAST, marks=pytest.mark.long, id="least"), pytest.param(SMALL, id="small")],
)
def test_queue(simulate, config):
    queue = GradientQueue(Fa3cConfig(**config))
    simulate(
        queue,
        "stream.queue_bench",
        unit="gradient queue",
        depth=queue.depth,
        width=512,
        latency=Queue.latency_of(queue.depth),
        interval=1,
        seed=1,
    )
