"""hw.replay.item_reader: every list, good and bad items, and those behind a memory error."""

import pytest
from later import later
from paces import CROSSED, DIAGONAL

from hw.replay.config import ReplayConfig
from hw.replay.item_reader import ItemReader


@pytest.mark.parametrize(
    "data_width, paces",
    [(128, DIAGONAL), later(128, CROSSED), later(512, CROSSED)],
    ids=["128", "128, all", "512, all"],
)
def test_items(simulate, data_width, paces):
    config = dict(capacity=21, fanout=4, priority_width=12, priority_fraction=8)
    unit = ItemReader(ReplayConfig(**config), data_width)
    simulate(unit, "replay.item_reader_bench", config=config, data_width=data_width, paces=paces)
