"""hw.fa3c.round_clocks for the paper's network, against recorded clocks of the RTL."""

from dataclasses import replace

import pytest

from hw.designs import DESIGNS
from hw.fa3c import round_clocks as clocks_of_rounds
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.period_clocks import period_clocks
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.records import Task
from hw.fa3c.round_clocks import Work, round_clocks
from hw.fa3c.schedule import Schedule
from hw.fa3c.unit.pass_clocks import pass_clocks

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


def test_the_design_has_a_period():
    """Of 16 agents: card sim took 2 744 132 clocks (docs/results/fa3c.md)."""
    assert DESIGNS["a3c"].clocks(CONFIG) == {
        "period of 8 rounds with 16 agents": pytest.approx(2_744_132, rel=0.005)
    }
    rounds = period_clocks(CONFIG, Schedule(CONFIG, 16))
    assert DESIGNS["a3c"].clocks(CONFIG) == {"period of 8 rounds with 16 agents": sum(rounds)}


def test_fewer_snapshots_than_agents_want():
    """As many agents as the snapshots have, in groups as large as an inference."""
    (found,) = DESIGNS["a3c"].clocks(replace(CONFIG, snapshots=2))
    assert found == "period of 8 rounds with 8 agents"


def test_what_no_pass_depends_on():
    """Clocks of passes are kept for all kernels that differ in that alone, and are their own."""
    other = replace(
        CONFIG, units=("any",) * 3, agents=40, snapshots=10, tasks=7, rms_units=2, ultra_ram=False
    )
    for train, count in ((0, 3), (1, 5)):
        kept = clocks_of_rounds._pass_clocks(clocks_of_rounds._compute_unit(other), train, count)
        passes = (training_passes if train else forward_passes)(other)
        assert [clocks for *_, clocks in kept] == pass_clocks(other, passes, count)


def test_what_waits():
    """An INFER begins after its SYNC, an update after the one before; units work side by side."""
    alone = round_clocks(CONFIG, [Work(Task.INFER, 0, 4)])
    waiting = round_clocks(CONFIG, [SYNC, Work(Task.INFER, 0, 4, waits=True)])
    assert waiting > alone + CONFIG.theta_rows
    both = round_clocks(CONFIG, [TRAIN, Work(Task.TRAIN, 3, 5), Work(Task.INFER, 2, 4)])
    assert round_clocks(CONFIG, [TRAIN]) < both < round_clocks(CONFIG, [TRAIN]) + 3000
    twice = round_clocks(CONFIG, [TRAIN, TRAIN])
    assert twice > 1.99 * round_clocks(CONFIG, [TRAIN])
