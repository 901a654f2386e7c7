"""hw.fa3c.unit.mover against memories behind ports; a Store with a feature buffer."""

import pytest
from fa3c.unit.store_top import StoreTop

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.unit.mover import Load, Store

CONFIG = Fa3cConfig(
    height=5, width=5, channels=4, convolutions=((16, 3, 1),), hidden=(16,), outputs=50
)
#: Longest pauses of runs, of memories, of rows that leave.
PAUSES = [(0, 0, 0), (30, 0, 0), (0, 30, 0), (0, 0, 30), (3, 3, 3), (2, 40, 5)]


@pytest.mark.parametrize("unit, top", [(Load, Load), (Store, StoreTop)])
def test_mover(simulate, unit, top):
    """Every row at its place, strobes, who waits for whom, clocks."""
    simulate(
        top(CONFIG),
        "fa3c.unit.mover_bench",
        unit=unit.__name__,
        config=CONFIG.to_dict(),
        pauses=PAUSES,
    )


def test_latencies_of_a_run():
    """A note of a run, its rows, and ``moved``; rows to store take two clocks to come."""
    assert (Load.latency_of(1, 0), Load.latency_of(30, 70)) == (1 + 1, 70 + 29 + 1)
    assert (Store.latency_of(1, 0), Store.latency_of(30, 70)) == (1 + 2 + 1, 1 + 2 + 29 + 70 + 1)
