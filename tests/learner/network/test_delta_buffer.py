"""delta_buffer: the elements that were asked for, in order, and samples let in by room."""

import numpy as np
import pytest

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.network.delta_buffer import DeltaBuffer

FIXED = Arithmetic(kind="fixed")
CASES = {
    # Words of one number; two groups go on.
    "vector 1": (
        dict(lanes=4, batch=4),
        dict(inputs=3, outputs=2),
        dict(backward_groups=2, groups=(0, 1), first=0, count=3),
    ),
    # Padding in the last word, and words of padding for the interleave.
    "padding": (
        dict(lanes=2, batch=4),
        dict(inputs=5, outputs=4, vector=2, interleave=4),
        dict(backward_groups=1, groups=(0,), first=0, count=5),
    ),
    # The critic's first layer: the actor's actions, of the second group alone.
    "actions": (
        dict(lanes=1, batch=4, arithmetic=FIXED),
        dict(inputs=9, outputs=2, vector=4),
        dict(backward_groups=2, groups=(1,), first=5, count=3),
    ),
    "one word": (
        dict(lanes=1, batch=4, arithmetic=FIXED),
        dict(inputs=2, outputs=2, vector=4),
        dict(backward_groups=1, groups=(0,), first=1, count=1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_errors(simulate, name):
    values, shape, options = CASES[name]
    config, layer = LayerConfig(**values), LayerShape(**shape)
    width = config.arithmetic.shape("gradient").width
    groups, lanes = options["backward_groups"], config.lanes
    count = 9
    rng = np.random.default_rng(1)
    # Padding has errors too, as far as this unit knows.
    sizes = (count, layer.words, groups, lanes, layer.vector)
    numbers = rng.integers(0, 1 << width, sizes, dtype=np.uint64)
    elements = numbers.transpose(0, 1, 4, 2, 3).reshape(count, -1, groups, lanes)
    wanted = slice(options["first"], options["first"] + options["count"])
    expected = elements[:, wanted][:, :, list(options["groups"])]
    simulate(
        DeltaBuffer(config, layer, **options),
        "learner.network.delta_buffer_bench",
        samples=[[bits(word, width) for word in sample] for sample in numbers],
        expected=[bits(element, width) for sample in expected for element in sample],
        # Those before the first have gone while it waits.
        sample_clocks=layer.words * layer.vector - options["first"] - 1,
    )


def bits(numbers, width):
    """Numbers side by side, the first lowest."""
    return sum(int(number) << (width * k) for k, number in enumerate(numbers.reshape(-1)))
