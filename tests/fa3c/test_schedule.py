"""hw.fa3c.schedule, group_rounds: what a period of rounds contains, which tasks wait for which, and
which size of groups is chosen."""

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.group_rounds import GroupRounds, Inference, Training
from hw.fa3c.round_clocks import period_clocks
from hw.fa3c.schedule import Schedule

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
    check(config, schedule)


def check(config, schedule):
    """``schedule`` does what the docstring of ``test_period`` says, in whatever order agents work;
    an agent at work has no other group, and all of them are trained as often, up to once."""
    units, agents = config.units, schedule.agents
    turns = 2 * -(-agents // schedule.active) + 1
    done, synced, works, started = Counter(), set(), {}, Counter()
    for number, plan in enumerate(islice(schedule.plans(), turns * schedule.period)):
        busy = Counter()
        synced |= set(plan.syncs)
        for task in (*plan.trainings, *plan.inferences):
            members = task.agents if isinstance(task, Inference) else task.agents
            role = "infer" if isinstance(task, Inference) else "train"
            assert units[task.unit] in (role, "any")
            assert len(members) <= config.batch
            busy.update(members)
            for agent in members:
                if agent not in works:
                    started[agent] += 1
                    assert max(started.values()) <= 1 + min(started[each] for each in range(agents))
                assert works.setdefault(agent, task.group) == task.group
                if isinstance(task, Training):
                    del works[agent]
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
    assert sum(len(plan.trainings) for plan in counts) == schedule.active
    inferred = sum(len(task.agents) for plan in counts for task in plan.inferences)
    assert inferred == schedule.active * (config.steps + 1)


@pytest.mark.parametrize("agents, size, active", [(5, 2, 4), (7, 3, 5), (32, 4, 20), (3, 2, 1)])
def test_agents_that_rest(agents, size, active):
    """They take turns: a group takes those that have rested longest."""
    config = replace(CONFIG, snapshots=32)
    schedule = GroupRounds(config, agents, size, active)
    check(config, schedule)
    assert schedule.clocks_of_all(1000 * active) == 1000 * agents
    assert schedule.clocks_of_all(1) == -(-agents // active)


def rate(config, schedule):
    """Agents trained in a clock."""
    return schedule.active / sum(period_clocks(config, schedule))


@pytest.mark.parametrize(
    "units", [*(("infer", "train") * pairs for pairs in (1, 2, 3, 4)), ("any",), ("any",) * 4]
)
def test_no_size_and_no_fewer_agents_are_faster(units):
    config, before = replace(CONFIG, units=units), 0
    for agents in range(1, 33):
        chosen = rate(config, Schedule(config, agents))
        assert chosen >= before
        before = chosen
        for size in range(-(-agents // config.snapshots), min(config.batch, agents) + 1):
            fixed = Schedule(config, agents, size)
            assert (fixed.active, fixed.size) == (agents, size)
            assert rate(config, fixed) <= chosen


@pytest.mark.parametrize(
    "changes, agents, ips",
    [
        (dict(units=("infer", "train")), 16, 2550),
        (dict(units=("any",), lanes=8), 4, 1650),
        (dict(units=("any",) * 4), 32, 5323),
        (dict(), 16, 5248),
        (dict(), 32, 5248),
    ],
)
def test_inferences_a_second(changes, agents, ips):
    config = replace(CONFIG, **changes)
    assert rate(config, Schedule(config, agents)) * config.steps * 180e6 >= ips


def test_rounds_fit_the_list_of_tasks():
    """Where a smaller list is allowed, other groups are chosen; if none fits, the best of all."""
    most = lambda schedule: max(  # noqa: E731
        len(plan.syncs + plan.trainings + plan.inferences) for plan in period(schedule)
    )
    wide = Schedule(CONFIG, 32)
    tight = Schedule(replace(CONFIG, tasks=most(wide) - 1), 32)
    assert most(tight) < most(wide)
    assert (tight.size, tight.active) != (wide.size, wide.active)
    none = Schedule(replace(CONFIG, tasks=1), 32)
    assert none.active >= 1


def test_more_than_64_never_work_at_a_time():
    small = replace(CONFIG, agents=256, snapshots=32, batch=2, units=("any",) * 4)
    assert Schedule(small, 256).active <= 64
    assert Schedule(replace(small, batch=8), 200, 8).active == 200


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
        (dict(agents=8, group=0), "group must be an integer in 1..4, not 0"),
        (dict(agents=8, group=5), "group must be an integer in 1..4, not 5"),
        (dict(agents=32, group=2), "snapshots must be at least 16, one a group, not 8"),
    ],
)
def test_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        Schedule(CONFIG, **changes)


def test_no_more_work_than_there_are():
    with pytest.raises(ValueError, match=r"active must be an integer in 1..8 \(agents\), not 9"):
        GroupRounds(CONFIG, 8, 4, 9)
