"""hw.replay.item_reader: every list, good and bad items, and those behind a memory error."""

import pytest

from hw.replay.config import ReplayConfig
from hw.replay.item_reader import ItemReader


@pytest.mark.parametrize("data_width", [128, pytest.param(512, marks=pytest.mark.long)])
def test_items(simulate, data_width):
    config = dict(capacity=21, fanout=4, priority_width=12, priority_fraction=8)
    unit = ItemReader(ReplayConfig(**config), data_width)
    simulate(unit, "replay.item_reader_bench", config=config, data_width=data_width)
