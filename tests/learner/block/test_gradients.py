"""hw.learner.block.gradients: where a gradient is added, and how soon a block may come again.

test_backward.py has the numbers.
"""

import pytest

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.gradients import Gradients
from hw.learner.block.layer_config import LayerConfig

ADD, MULTIPLY = Arithmetic().add_latency, Arithmetic().multiply_latency


@pytest.mark.parametrize(
    "kind, lanes, blocks, loop, latency",
    [
        # Along the DSP blocks: read, a register, product, a sum for each lane; write.
        ("fixed", 2, 5, 1 + 3 + 1, 2 + 2 + 2),
        ("fixed", 2, 64, 1 + 3 + 1, 2 + 2 + 2),
        ("fixed", 2, 65, 2 + 3 + 1, 2 + 2 + 2),
        ("fixed", 8, 11, 1 + 9 + 1, 2 + 2 + 8),
        # An adder behind them.
        ("fixed", 2, 4, 1 + 1 + 1, 2 + 2 + 2 + 1),
        ("fixed", 8, 10, 1 + 1 + 1, 2 + 2 + 8 + 1),
        # The memory of few blocks is read in a clock: 8 clocks, at 8 blocks nobody waits.
        ("float32", 2, 8, 8, 2 + MULTIPLY + ADD + ADD),
        ("float32", 4, 65, 9, 2 + MULTIPLY + 2 * ADD + ADD),
    ],
)
def test_loop_and_latency(kind, lanes, blocks, loop, latency):
    config = LayerConfig(arithmetic=Arithmetic(kind=kind), lanes=lanes)
    unit = Gradients(config, BlockShape(inputs=blocks, outputs=1))
    assert (unit.clocks.loop, unit.latency) == (loop, latency)
