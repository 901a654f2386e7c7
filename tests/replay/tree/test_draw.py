"""hw.replay.tree.draw against ``k * step + floor(u * step / 2**48)`` on Python's integers."""

import random

import pytest
from arith.test_sfc64 import SEEDS, packed, seeded
from clocks import Clocks

from hw.replay.config import FRACTION_WIDTH
from hw.replay.tree.draw import Draw

ONE = 1 << FRACTION_WIDTH
STEPS = [ONE, ONE // 2, ONE // 3, ONE // 65535, 1, 0, ONE - 1, 2 * ONE - 1]


@pytest.mark.verilator
@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_fractions(simulate, tmp_path, gap):
    """Rounds of draws from each step and seed, ``first`` also in the middle of one."""
    rng, clocks, draw = random.Random(gap), Clocks(), Draw()
    for round_, step in enumerate(STEPS):
        seed = SEEDS[round_ % len(SEEDS)]
        generator, k = seeded(seed), 0
        clocks.add(load=1, seed=packed(seed), stratum_width=step)
        clocks.add(stratum_width=step)
        for position in range(40):
            while rng.random() < gap:
                clocks.add(stratum_width=step, first=rng.randrange(2))
            first = position == 0 or rng.random() < 0.05
            k = 0 if first else k + 1
            number = int(generator.random_raw()) >> 64 - FRACTION_WIDTH
            clock = clocks.add(take=1, first=first, stratum_width=step)
            clocks.expect(
                clock + draw.LATENCY, fraction=(k * step + (number * step >> FRACTION_WIDTH)) % ONE
            )
            clocks.expect(clock + 1, state=packed(generator.state["state"]["state"]))
        for _ in range(draw.LATENCY):
            clocks.add(stratum_width=step)
    clocks.run(simulate, draw, tmp_path)


def test_strata_meet_without_gap_or_overlap():
    """Draw k of B lies in [k * step, (k + 1) * step), and B steps miss the whole by less than B."""
    for batch in (1, 2, 3, 64, 1000, 65535):
        step = ONE // batch
        assert 0 <= ONE - batch * step < batch
        assert ((ONE - 1) * step >> FRACTION_WIDTH) == step - 1
