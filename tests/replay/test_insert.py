"""hw.replay.insert: runs that fit and that wrap, errors of either write, zeros behind each."""

import pytest
from later import later

from hw.replay.config import ReplayConfig
from hw.replay.insert import Insert


@pytest.mark.parametrize("data_width", [later(128), 512])
def test_insert(simulate, data_width):
    config = dict(capacity=1000)  # a ring may be smaller
    unit = Insert(ReplayConfig(**config), data_width)
    simulate(unit, "replay.insert_bench", config=config, data_width=data_width)
