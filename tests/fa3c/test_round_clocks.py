"""hw.fa3c.round_clocks for the paper's network, against recorded clocks of the RTL."""

import pytest

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.records import Task
from hw.fa3c.round_clocks import Work, round_clocks

CONFIG = Fa3cConfig()
SYNC = Work(Task.SYNC)
TRAIN = Work(Task.TRAIN, 1, 5)

#: Rounds on card sim, `round_cycles` of the status; ``test_atari`` measures whole periods (long).
MEASURED = [
    ([SYNC], 43_324),
    ([Work(Task.INFER, 0, 4)], 189_399),
    ([Work(Task.INFER, 0, 1)], 79_326),
    ([TRAIN], 341_329),
    ([TRAIN, SYNC, Work(Task.INFER, 0, 4)], 384_635),
    ([SYNC, Work(Task.INFER, 0, 4, waits=True), TRAIN], 341_353),
]


@pytest.mark.parametrize("tasks, clocks", MEASURED)
def test_matches_rtl(tasks, clocks):
    assert abs(round_clocks(CONFIG, tasks) - clocks) < 0.005 * clocks


def test_what_waits():
    """An INFER begins after its SYNC, an update after the one before; units work side by side."""
    alone = round_clocks(CONFIG, [Work(Task.INFER, 0, 4)])
    waiting = round_clocks(CONFIG, [SYNC, Work(Task.INFER, 0, 4, waits=True)])
    assert waiting > alone + CONFIG.theta_rows
    both = round_clocks(CONFIG, [TRAIN, Work(Task.TRAIN, 3, 5), Work(Task.INFER, 2, 4)])
    assert round_clocks(CONFIG, [TRAIN]) < both < round_clocks(CONFIG, [TRAIN]) + 3000
    twice = round_clocks(CONFIG, [TRAIN, TRAIN])
    assert twice > 1.99 * round_clocks(CONFIG, [TRAIN])
