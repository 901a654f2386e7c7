"""hw.fa3c.round_clocks for the paper's network, against recorded clocks of the RTL."""

from dataclasses import replace
from itertools import pairwise

import pytest
from fa3c.test_kernel import NARROW, SMALL, WIDE

from hw.designs import DESIGNS
from hw.fa3c import round_clocks as clocks_of_rounds
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.records import Task
from hw.fa3c.round_clocks import (
    Work,
    period_clocks,
    period_works,
    round_clocks,
    round_units,
    task_clocks,
)
from hw.fa3c.schedule import Schedule
from hw.shell.axi import EngineConfig

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
    ([SYNC, Work(Task.INFER, 0, 4, waits=1), TRAIN], 341_353),
]


INFERS = [Work(Task.INFER, 0, count) for count in (0, 1, 2, 3)]


def waiting(count):
    return Work(Task.INFER, 0, count, waits=1)


#: Rounds of small kernels on card sim with the memory that is assumed for them. A row is four beats
#: of SMALL, of NARROW, and of CARTPOLE and MINATAR, whose bursts fill queues, and one of WIDE.
CARTPOLE = Fa3cConfig(
    height=1, width=1, binary32=True, input_exponent=0, convolutions=(), hidden=(32,), outputs=3,
    lanes=1, units=("any",), batch=1, agents=4, rms_units=1, drain_words=1, parameter_rows=64,
    engine=EngineConfig(data_width=128, depth=128, burst_beats=64),
)  # fmt: skip
MINATAR = Fa3cConfig(
    height=10, width=10, convolutions=((16, 3, 1),), hidden=(128,), outputs=7, input_exponent=0,
    units=("infer", "train"), parameter_rows=1024, engine=CARTPOLE.engine,
)  # fmt: skip
OTHERS = [
    (SMALL, [INFERS[2], INFERS[1]], 6904),
    (SMALL, [SYNC, INFERS[1], waiting(2)], 6914),
    (SMALL, [SYNC, SYNC, waiting(1), Work(Task.INFER, 0, 1, waits=2)], 6673),
    (SMALL, [SYNC, SYNC, INFERS[1], waiting(1), Work(Task.INFER, 0, 1, waits=2)], 7857),
    (SMALL, [Work(Task.TRAIN, 0, 3), INFERS[2]], 8071),
    (SMALL, [Work(Task.TRAIN, 0, 3), Work(Task.TRAIN, 1, 3), INFERS[1]], 10_848),
    (NARROW, [SYNC, INFERS[1], INFERS[1], waiting(1)], 4550),
    (NARROW, [Work(Task.TRAIN, 0, 3), INFERS[1], INFERS[1]], 5634),
    (NARROW, [SYNC, Work(Task.TRAIN, 0, 3), INFERS[1], waiting(1)], 6830),
    (CARTPOLE, [SYNC, INFERS[1], INFERS[1], INFERS[1], waiting(1)], 2472),
    (CARTPOLE, [SYNC, Work(Task.TRAIN, 0, 5), INFERS[1], INFERS[1], waiting(1)], 3046),
    (MINATAR, [SYNC, *[INFERS[1]] * 3, waiting(1)], 138_832),
    (MINATAR, [SYNC, Work(Task.TRAIN, 1, 5), *[INFERS[1]] * 2, waiting(1)], 140_278),
    (MINATAR, [Work(Task.TRAIN, 1, 5), *[INFERS[1]] * 3], 106_307),
    (WIDE, [INFERS[3], Work(Task.INFER, 2, 3)], 9695),
    (WIDE, [Work(Task.TRAIN, 1, 3), INFERS[3], Work(Task.INFER, 2, 1)], 12_172),
]


@pytest.mark.parametrize("config, tasks, clocks", OTHERS)
def test_other_kernels(config, tasks, clocks):
    assert abs(round_clocks(config, tasks) - clocks) < 0.005 * clocks


def test_narrower_masters_take_longer():
    """Of parameters that are read once, and of RMSProp, in proportion."""
    found = []
    for width in (512, 256, 128):
        config = replace(CONFIG, engine=EngineConfig(data_width=width, burst_beats=16))
        found.append([round_clocks(config, [each]) for each in (SYNC, Work(Task.INFER, 0, 1))])
    for beats, (sync, infer) in zip((1, 2, 4), found, strict=True):
        assert beats * CONFIG.theta_rows < sync < beats * CONFIG.theta_rows + 300
        assert infer > beats * CONFIG.layers[2].gradient_rows
    assert found[2][1] > 1.8 * found[0][1] > 1.8 * found[0][0]


def test_all_units_together_read_a_beat_a_clock_from_each_master():
    four = replace(CARTPOLE, units=("any",) * 4, hidden=(512,), parameter_rows=4096)
    tasks = [Work(Task.INFER, unit, 1) for unit in range(4)]
    rows = sum(layer.gradient_rows for layer in four.layers)
    assert round_clocks(four, tasks[:2]) < 2 * round_clocks(four, tasks[:1])
    assert round_clocks(four, tasks) >= 4 * rows * 4 / 2


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


#: 16 agents on two pairs, in groups of a size: clocks of a period, each different round run on the
#: Verilog (docs/results/fa3c.md has groups of one). Four units read from two local masters.
PERIODS = {1: 3_951_172, 2: 2_952_549}


@pytest.mark.parametrize("size", PERIODS)
def test_units_wait_for_each_others_reads(size):
    config = replace(CONFIG, agents=16, snapshots=16, tasks=128)
    period, clocks = Schedule(config, 16, size), PERIODS[size]
    assert sum(period_clocks(config, period)) == pytest.approx(clocks, rel=0.005)
    apart = sum(round_clocks(config, each, apart=True) for each in period_works(config, period))
    assert apart < 0.97 * clocks


@pytest.mark.parametrize("waits, clocks", [(False, 115_608), (True, 252_306)])
def test_four_units_infer_an_agent_each(waits, clocks):
    """Rounds on the Verilog, with a SYNC for each unit or none; apart, 85 772 clocks without."""
    config = replace(CONFIG, units=("any",) * 4)
    tasks = [SYNC] * 4 * waits
    tasks += [Work(Task.INFER, unit, 1, waits=waits * (unit + 1)) for unit in range(4)]
    assert round_clocks(config, tasks) == pytest.approx(clocks, rel=0.005)


def test_one_unit_more_than_local_masters_waits():
    """Two of local masters: as many units do not slow each other down, three do."""
    config = replace(CONFIG, units=("any",) * 4)
    for count, waits in ((2, False), (3, True)):
        tasks = [Work(Task.INFER, unit, 1) for unit in range(count)]
        apart = round_clocks(config, tasks, apart=True)
        assert (round_clocks(config, tasks) > 1.1 * apart) == waits


def test_a_gradient_that_comes_late_is_updated_late():
    """The last rows of three TRAINs come as the units end, 1 % later than of one alone."""
    config = replace(CONFIG, units=("any",) * 4)
    spans = round_units(config, [Work(Task.TRAIN, unit, 5) for unit in range(3)])
    ends = [spans[f"unit {unit}"][-1][1] for unit in range(3)]
    assert min(ends) > 1.01 * task_clocks(config, Work(Task.TRAIN, 0, 5)).end
    assert spans["RMSProp"][-1][1] > max(ends)


def test_apart_is_never_slower():
    """The search for the fastest schedule rests on it."""
    for units in (("infer", "train") * 2, ("any",) * 4, ("infer", "train") * 4):
        for size, agents in ((1, 8), (2, 5), (4, 16)):
            config = replace(CONFIG, units=units, agents=16, snapshots=16)
            for works in set(period_works(config, Schedule(config, agents, size))):
                assert round_clocks(config, works, apart=True) <= round_clocks(config, works)


def test_fewer_snapshots_than_agents_want():
    """As many agents as the snapshots have, in groups as large as an inference."""
    (found,) = DESIGNS["a3c"].clocks(replace(CONFIG, snapshots=2))
    assert found == "period of 8 rounds with 8 agents"


def test_what_no_task_depends_on():
    """Clocks of tasks are kept for all kernels that differ in that alone, and are their own."""
    other = replace(
        CONFIG, units=("any",) * 3, agents=40, snapshots=10, tasks=7, rms_units=2, ultra_ram=False
    )
    for work in (Work(Task.INFER, 0, 3), TRAIN):
        own = clocks_of_rounds._clocks.__wrapped__(other, work.kind == Task.TRAIN, work.count, 1)
        assert vars(task_clocks(other, work)) == vars(own)


def test_what_waits():
    """An INFER begins after its SYNC, an update after the one before; units work side by side."""
    alone = round_clocks(CONFIG, [Work(Task.INFER, 0, 4)])
    waiting = round_clocks(CONFIG, [SYNC, Work(Task.INFER, 0, 4, waits=1)])
    assert waiting > alone + CONFIG.theta_rows
    both = round_clocks(CONFIG, [TRAIN, Work(Task.TRAIN, 3, 5), Work(Task.INFER, 2, 4)])
    assert round_clocks(CONFIG, [TRAIN]) < both < round_clocks(CONFIG, [TRAIN]) + 3000
    twice = round_clocks(CONFIG, [TRAIN, TRAIN])
    assert twice > 1.99 * round_clocks(CONFIG, [TRAIN])


def test_an_infer_waits_for_its_own_sync_only():
    """Not for one before it, nor for one after it."""
    assert round_clocks(CONFIG, [SYNC, waiting(1)]) > round_clocks(CONFIG, [SYNC, INFERS[1]])
    for number in (1, 2):
        tasks = [SYNC, SYNC, Work(Task.INFER, 0, 1, waits=number), SYNC]
        units = round_units(CONFIG, tasks)
        (begin, _), (_, synced) = units["unit 0"][0], units["RMSProp"][number - 1]
        assert begin == synced


def test_units_that_wait_for_different_syncs_load_one_after_the_other():
    tasks = [SYNC, SYNC, *(Work(Task.INFER, unit, 4, waits=unit + 1) for unit in (0, 1))]
    alone = task_clocks(CONFIG, Work(Task.INFER, 0, 4)).end
    for unit in (0, 1):
        [(begin, end)] = round_units(CONFIG, tasks)[f"unit {unit}"]
        assert end - begin == alone


def test_a_second_training_of_a_unit_is_updated_after_the_first():
    """No layer of the first waits for the second."""
    alone, both = (round_units(CONFIG, [TRAIN] * count)["RMSProp"] for count in (1, 2))
    later = both[0][0] - alone[0][0]  # the round has one task more to begin
    assert both[: len(alone)] == [(begin + later, end + later) for begin, end in alone]
    assert len(both) == 2 * len(CONFIG.layers)


def test_units_of_a_round():
    """A compute unit has a span for each task, RMSProp for each update of a layer and each SYNC."""
    tasks = [SYNC, TRAIN, TRAIN, Work(Task.INFER, 0, 4), Work(Task.INFER, 1, 2, waits=1)]
    units = round_units(CONFIG, tasks)
    assert {name: len(spans) for name, spans in units.items()} == {
        "unit 0": 1, "unit 1": 3, "RMSProp": 1 + 2 * len(CONFIG.layers),
    }  # fmt: skip
    for spans in units.values():
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    (begin, _), (_, synced) = units["unit 0"][0], units["RMSProp"][0]
    assert units["unit 1"][0][0] == begin < synced == units["RMSProp"][0][0] + synced - begin - 3
    assert units["unit 1"][2][0] == units["unit 1"][1][1] > synced
    assert round_clocks(CONFIG, tasks) == max(spans[-1][1] for spans in units.values())


def test_the_schedule_of_the_default():
    clocks = sum(period_clocks(CONFIG, Schedule(CONFIG)))
    lines = DESIGNS["a3c"].schedule(CONFIG).split("\n")
    assert f" takes {clocks} clocks. " in lines[0]
    assert [line.split("  ")[0] for line in lines[4:-2]] == [
        *(f"unit {number}" for number in range(len(CONFIG.units))), "RMSProp",
    ]  # fmt: skip


def test_who_loads_at_the_same_time():
    """Units whose INFERs begin together share the host's beats; one that waits loads later."""
    infer, waits = Work(Task.INFER, 0, 4), Work(Task.INFER, 1, 4, waits=1)
    alone, shared = (task_clocks(CONFIG, infer, sharing).end for sharing in (1, 2))
    assert alone < shared
    for works, wanted in (
        ([SYNC, infer, waits], alone),
        ([SYNC, infer, Work(Task.INFER, 1, 4)], shared),
    ):
        begin, end = round_units(CONFIG, works)["unit 0"][0]
        assert end - begin == wanted
