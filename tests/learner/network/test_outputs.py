"""outputs: every observation's numbers, in order, as binary32, whatever its lane."""

import numpy as np
import pytest
from learner.numbers import numbers

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.block.config import BlockShape
from hw.learner.config import LearnerConfig
from hw.learner.network.outputs import Outputs
from sim.model.arith.arithmetic import twin_of

FIXED = Arithmetic(kind="fixed", activation=SQ(3, 8))
#: Learner, outputs an observation, numbers of a word, bits of a beat.
CASES = {
    "1 output": (dict(lanes=1, batch=16, arithmetic=FIXED), 1, 1, 128),
    # Observations that end in the first lanes.
    "3 outputs, 4 lanes": (dict(lanes=4, batch=28), 3, 2, 128),
    # More than a granule, and beats that two lanes share.
    "5 outputs, 2 lanes": (dict(lanes=2, batch=20, arithmetic=FIXED), 5, 4, 512),
    "8 outputs": (dict(lanes=1, batch=12), 8, 1, 256),
}


def side_by_side(values, width):
    """An int of numbers, the first lowest."""
    mask = (1 << width) - 1
    return sum((int(value) & mask) << (width * k) for k, value in enumerate(values))


def batch_of(config, shape, data_width, count, rng):
    """``count`` observations as their samples, and as the beats that leave."""
    arithmetic, lanes, outputs = config.arithmetic, config.lanes, shape.outputs
    padded = -(-count // lanes) * lanes
    raw = numbers(arithmetic, "activation", (padded, outputs), rng)
    bits = raw.view(np.uint32) if raw.dtype == np.float32 else raw
    width = arithmetic.shape("activation").width
    words, index_width = shape.output_words, (shape.output_words - 1).bit_length()
    whole = np.pad(bits, [(0, 0), (0, -outputs % shape.output_word)], constant_values=3)
    samples = [
        [
            1 | k << 1 | side_by_side(group[:, k].reshape(-1), width) << 1 + index_width
            for k in range(words)
        ]
        for group in whole.reshape(-1, lanes, words, shape.output_word)
    ]
    granules = np.zeros((count, -(-outputs // 4) * 4), np.float32)
    granules[:, :outputs] = twin_of(arithmetic).to_float(raw[:count], "activation")
    words = granules.view(np.uint32).reshape(-1)
    size = data_width // 32
    beats = [side_by_side(words[at : at + size], 32) for at in range(0, len(words), size)]
    return dict(count=count, samples=samples, beats=beats)


@pytest.mark.parametrize("name", CASES)
def test_outputs(simulate, name):
    learner, outputs, together, data_width = CASES[name]
    shape = BlockShape(inputs=1, outputs=outputs, output_word=together)
    config, rng = LearnerConfig(action=outputs, **learner), np.random.default_rng(1)
    lanes, most = config.lanes, config.batch
    unit = Outputs(config, shape, data_width)
    counts = [1, lanes, lanes + 1, 3 * lanes - 1, most, most - 1]
    sample = unit.numbers * lanes
    simulate(
        unit,
        "learner.network.outputs_bench",
        batches=[
            batch_of(config, shape, data_width, count, rng) for count in dict.fromkeys(counts)
        ],
        lanes=lanes,
        latency=unit.latency,
        sample_clocks=sample,
        # What is converted and packed already: six numbers on their way, and three beats.
        ahead=(6 + 3 * data_width // 32) // sample,
    )
