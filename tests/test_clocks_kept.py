"""Clocks of random kernels, by formula: they are those that were held to the RTL, to the clock, and
skipped periods change none of them.

The sums below change with a clock of one kernel. A change on purpose needs the tests of that unit
against its RTL first: ``test_step_clocks``, ``test_rms``, ``test_compute_unit``,
``test_round_clocks``.
"""

from random import Random

import pytest

from hw.arith.arithmetic import Arithmetic
from hw.errors import UsageError
from hw.fa3c import round_clocks as rounds
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.memory import update_clocks as updates
from hw.fa3c.records import Task
from hw.fa3c.round_clocks import Work
from hw.learner import step_clocks as steps
from hw.learner.config import LearnerConfig
from hw.shell.axi import EngineConfig
from hw.timing import Repeats

_POWERS = [1, 2, 4, 8, 16]


def learners(count):
    """Random learners; two whose reads and outputs decide where a period ends; and one in which as
    many samples have begun as scalars may wait."""
    rng = Random(5)
    options = [
        dict(observation=20, action=4, hidden=(7,), multipliers=32, lanes=1),
        dict(observation=19, action=1, hidden=(66, 15), multipliers=300, lanes=2),
    ]
    ddpg = dict(algorithm="ddpg", observation=1, action=9, hidden=(6,), multipliers=128, lanes=1)
    kinds = ["fixed", "float32"]
    found = [
        LearnerConfig(**own, arithmetic=Arithmetic(kind=kind), batch=1024)
        for own, kind in zip([*options, ddpg], [*kinds, "float32"], strict=True)
    ]
    while len(found) < count:
        try:
            found.append(
                LearnerConfig(
                    algorithm=rng.choice(["dqn", "ddpg"]),
                    observation=rng.randint(1, 30),
                    action=rng.randint(1, 9),
                    hidden=tuple(rng.randint(1, 40) for _ in range(rng.randint(1, 3))),
                    multipliers=rng.choice([4, 16, 64, 300]),
                    lanes=rng.choice([1, 2, 4]),
                    batch=1024,
                    arithmetic=Arithmetic(kind=rng.choice(kinds)),
                )
            )
        except UsageError:
            continue
    return found


def kernels(count):
    """Random kernels of FA3C with networks of dense layers, or with a convolution."""
    rng, found = Random(6), []
    while len(found) < count:
        dense = rng.random() < 0.6
        sizes = dict(height=1, width=1, channels=16 * rng.randint(1, 40), convolutions=())
        if not dense:
            sizes = dict(height=8, width=8, convolutions=((16, rng.randint(2, 3), 1),))
        engine = EngineConfig(
            data_width=rng.choice([128, 256, 512]), depth=256, burst_beats=rng.choice([4, 16, 64])
        )
        try:
            found.append(
                Fa3cConfig(
                    **sizes,
                    hidden=(16 * rng.randint(1, 8),),
                    outputs=rng.randint(2, 9),
                    lanes=rng.choice(_POWERS),
                    drain_words=rng.choice(_POWERS),
                    rms_units=rng.choice(_POWERS),
                    parameter_rows=rng.choice([64, 256, 1024]),
                    layout=rng.choice(["tlu", "alt1", "alt2"]),
                    global_masters=rng.choice([1, 2]),
                    binary32=dense,
                    input_exponent=0,
                    units=("any", "any"),
                    steps=4,
                    batch=4,
                    engine=engine,
                )
            )
        except UsageError:
            continue
    return found


def of_steps(config):
    """Clocks of gradient steps, to the TD error and to the end, and of acting."""
    every = [steps.step_clocks(config, config.lanes * count) for count in (1, 3, 20, 61)]
    acting = [steps.acting_clocks(config, count) for count in (1, 5, 77)]
    return [each.td for each in every], [each.step for each in every], acting


def of_fa3c(config):
    """Clocks of updates, of when their rows are taken, of tasks, of gradient rows, of a round."""
    every = [updates.update_clocks(config, layer) for layer in range(len(config.layers))]
    train = Work(Task.TRAIN, 0, 3)
    own = [rounds.task_clocks(config, work, 2) for work in (train, Work(Task.INFER, 1, 3))]
    runs = [clock for each in own[0].gradients.values() for clock, _ in each]
    works = [train, Work(Task.SYNC), train, Work(Task.INFER, 1, 2, waits=True)]
    return (
        [each.done for each in every],
        [sum(each.taken) for each in every],
        [each.end for each in own],
        runs,
        [rounds.round_clocks(config, works)],
    )


GROUPS = {
    "steps": (learners, 40, of_steps, (171101, 233009, 94692)),
    "fa3c": (kernels, 30, of_fa3c, (656062, 1089100372, 830160, 5951165, 2020503)),
}


def forget():
    for kept in (steps._walked, updates._clocks, rounds._clocks, rounds._behind):
        kept.cache_clear()


@pytest.mark.parametrize("group", GROUPS)
def test_clocks_are_those_that_were_held_to_the_rtl(group):
    made, count, clocks, sums = GROUPS[group]
    forget()
    found = map(clocks, made(count))
    assert tuple(sum(map(sum, part)) for part in zip(*found, strict=True)) == sums


@pytest.mark.parametrize("group", GROUPS)
def test_clocks_are_those_of_walks_through_all_items(group, monkeypatch):
    made, count, clocks, _ = GROUPS[group]
    configs = made(count)
    found = [clocks(config) for config in configs]
    forget()
    monkeypatch.setattr(Repeats, "times", lambda *places: 0)
    for config, before in zip(configs, found, strict=True):
        assert clocks(config) == before, config
    forget()


def test_no_more_than_16_requests_are_under_way():
    """Requests for single rows, of eight beats each, wait for earlier ones."""
    config = Fa3cConfig(
        height=2, width=9, channels=17, convolutions=(), hidden=(16, 16), outputs=2, lanes=1,
        layout="alt1", binary32=True, batch=1, steps=32, agents=1, rms_units=2, drain_words=4,
        parameter_rows=1024, local_masters=4, global_masters=2,
        engine=EngineConfig(data_width=64, depth=64, burst_beats=64),
    )  # fmt: skip
    assert rounds.task_clocks(config, Work(Task.TRAIN, 0, 32)).end == 16217
