"""gradient_sum: cores' sums to what the optimizers take, against integers of any length."""

from dataclasses import replace

import numpy as np
import pytest
from clocks import Clocks
from fixar.parameters.cases import CONFIGS, gradient_of

from hw.fixar.parameters.gradient_sum import GradientSum

SUM_WIDTH = 106
WORDS = 120


def totals(rng, shift, limit):
    """What ends at the limits, or beyond them by little or by all; halves; and any."""
    unit = 1 << max(0, 8 - shift)
    high = ((1 << 55) - 128) >> shift  # the first that is clipped
    corners = [0, 1, -1, unit // 2, -unit // 2, unit // 2 - 1, -unit // 2 - 1]
    corners += [high - 1, high, high + unit, -(1 << 55) >> shift, -((1 << 55) + 129) >> shift]
    corners += [-((1 << 55) + 127) >> shift, limit, -limit, limit >> 1, -limit >> 8]
    while True:
        if rng.random() < 0.5:
            yield int(rng.choice(corners))
        else:
            size = int(rng.integers(1, limit.bit_length() + 1))
            drawn = int.from_bytes(rng.bytes(9), "little") >> 72 - size
            yield min(drawn, limit) * int(rng.choice([-1, 1]))


@pytest.mark.parametrize("side, cores", [(4, 1), (4, 2), (4, 3), (4, 7), (16, 2)])
def test_sums(simulate, tmp_path, side, cores):
    config, rng = replace(CONFIGS[side], cores=cores), np.random.default_rng(cores)
    limit = config.batch << (26 + 31)
    unit, clocks = GradientSum(config, SUM_WIDTH), Clocks()
    latency, clipped = GradientSum.latency_of(cores), 0
    for word in range(WORDS):
        shift = (*range(32), 0, 20, 31)[word % 35]
        source = totals(rng, shift, limit >> shift)
        sums = [[0] * side for _ in range(cores)]
        expected = []
        for lane in range(side):
            total = next(source)
            # The cores' shares, large ones against one another too.
            shares = [int(x) << int(rng.integers(0, 36)) for x in rng.integers(-99, 99, cores)]
            shares[0] += total - sum(shares)
            for core in range(cores):
                sums[core][lane] = shares[core]
            expected.append(gradient_of(shares, shift))
        at = clocks.add(sums=sums, shift=shift)
        clocks.expect(
            at + latency,
            gradient=[each for each, _ in expected],
            clipped=sum(bit << lane for lane, (_, bit) in enumerate(expected)),
        )
        clipped += sum(bit for _, bit in expected)
    assert clipped > WORDS / 4
    clocks.run(simulate, unit, tmp_path)


def test_width():
    """No more bits than a batch of products has, nor than a core's sum."""
    config = CONFIGS[16]
    assert GradientSum(config, SUM_WIDTH).width == 32 + 27 + 6
    assert GradientSum(replace(config, batch=1), 40).width == 40
