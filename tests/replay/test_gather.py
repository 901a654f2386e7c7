"""hw.replay.gather: headers, experiences and the reads that bring them, at memory's speed."""

import pytest

from hw.replay.config import ReplayConfig
from hw.replay.gather import Gather


@pytest.mark.parametrize(
    "data_width, depth", [(128, 7), pytest.param(512, 16, marks=pytest.mark.long)]
)
def test_gather(simulate, data_width, depth):
    # A power of two, so that a full memory needs a bit more than any place in it.
    config = dict(capacity=1024, fanout=4, priority_width=16, priority_fraction=8)
    simulate(
        Gather(ReplayConfig(**config), data_width, depth),
        "replay.gather_bench",
        config=config,
        data_width=data_width,
        depth=depth,
    )
