"""hw.fa3c.schedule: what a period of rounds contains, and which tasks wait for which."""

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.schedule import Inference, Schedule, Training

CONFIG = Fa3cConfig(agents=32, snapshots=8)


def period(schedule):
    """The plans of one period in which all groups are under way."""
    return list(islice(schedule.plans(), schedule.period, 2 * schedule.period))


@pytest.mark.parametrize("units", [CONFIG.units, ("any",), ("any",) * 4, ("infer", "train")])
@pytest.mark.parametrize("agents", [1, 2, 3, 4, 7, 8, 16, 32])
def test_period(agents, units):
    """Every agent has each of its steps once, in order, then its training, by units of the role."""
    config = replace(CONFIG, units=units, snapshots=32)
    schedule = Schedule(config, agents)
    done, synced = Counter(), set()
    for number, plan in enumerate(islice(schedule.plans(), 3 * schedule.period)):
        busy = Counter()
        synced |= set(plan.syncs)
        for task in (*plan.trainings, *plan.inferences):
            members = task.agents if isinstance(task, Inference) else (task.agent,)
            role = "infer" if isinstance(task, Inference) else "train"
            assert units[task.unit] in (role, "any")
            assert len(members) <= config.batch and set(members) <= set(schedule.groups[task.group])
            busy.update(members)
            for agent in members:
                at = done[agent] % (config.steps + 2)
                done[agent] += 1
                if isinstance(task, Training):
                    assert at == config.steps + 1
                else:
                    assert at == (config.steps if task.step is None else task.step)
                    assert (at == 0) == (task.group in plan.syncs) or number == 0
                assert task.group in synced
        assert not busy or max(busy.values()) == 1
    counts = period(schedule)
    assert sum(len(plan.trainings) for plan in counts) == agents
    inferred = sum(len(task.agents) for plan in counts for task in plan.inferences)
    assert inferred == agents * (config.steps + 1)


def test_sixteen():
    """Of the default kernel: both trainers work in every round, and no inferrer has more than six
    agents."""
    schedule = Schedule(CONFIG, 16)
    assert (schedule.period, len(schedule.groups)) == (8, 4)
    for plan in period(schedule):
        assert sorted(task.unit for task in plan.trainings) == [1, 3]
        load = Counter()
        for task in plan.inferences:
            load[task.unit] += len(task.agents)
        assert load == {0: 6, 2: 6}
        if plan.syncs:  # the group that waits for its snapshot is the last of its units
            assert plan.inferences[-1].group == plan.syncs[0]


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(agents=0), "agents must be an integer in 1..32"),
        (dict(agents=33), "agents must be an integer in 1..32"),
        (dict(agents=8, group=5), "group must be an integer in 1..4, not 5"),
        (dict(agents=32, group=2), "snapshots must be at least 16, one a group, not 8"),
    ],
)
def test_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        Schedule(CONFIG, **changes)
