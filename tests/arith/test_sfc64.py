"""hw.arith.sfc64 against NumPy's own SFC64."""

import random

import numpy as np
import pytest
from clocks import Clocks

from hw.arith.sfc64 import Sfc64

ONES = (1 << 64) - 1
SEEDS = [[0, 0, 0, 0], [ONES] * 4, [1, 2, 3, ONES], np.random.SFC64(5).state["state"]["state"]]


def packed(words):
    """STATE_LAYOUT as one number."""
    return sum(int(word) << 64 * k for k, word in enumerate(words))


def seeded(words):
    """NumPy's generator in the state ``words``."""
    generator = np.random.SFC64(0)
    state = generator.state
    state["state"]["state"] = np.array(words, np.uint64)
    generator.state = state
    return generator


@pytest.mark.parametrize("gap", [0.0, 0.5, 0.9])
def test_numbers_and_state_are_numpys(simulate, tmp_path, gap):
    rng, clocks = random.Random(gap), Clocks()
    for seed in SEEDS * 2:
        clocks.add(load=1, seed=packed(seed))
        generator = seeded(seed)
        clock = clocks.add()  # the number of the new state is not there yet
        clocks.expect(clock, state=packed(seed))
        number = generator.random_raw()
        for _ in range(60):
            take = rng.random() >= gap
            # The next number shows as long as nothing takes it.
            clocks.expect(clocks.add(next=take), number=number)
            if take:
                after = packed(generator.state["state"]["state"])
                clocks.expect(len(clocks.inputs), state=after)
                number = generator.random_raw()
        clocks.add()
    clocks.run(simulate, Sfc64(), tmp_path)
