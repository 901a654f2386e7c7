"""hw.fa3c.schedule, group_rounds: what a period of rounds contains, which tasks wait for which, and
which sizes of groups and cohorts are chosen."""

from collections import Counter
from dataclasses import replace
from hashlib import sha256
from itertools import islice

import pytest

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.group_rounds import GroupRounds, Inference, Training, cohort_size, most_joined
from hw.fa3c.round_clocks import period_clocks, period_works
from hw.fa3c.schedule import Schedule, fastest
from hw.fa3c.sharing import GlobalRounds

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
    an agent at work has no other group, and all of them are trained as often, up to once. No unit
    trains twice in a round, and no agent trains in the round of its group's SYNC."""
    units, agents = config.units, schedule.agents
    turns = 2 * -(-agents // schedule.active) + 1
    done, synced, works, started = Counter(), set(), {}, Counter()
    for number, plan in enumerate(islice(schedule.plans(), turns * schedule.period)):
        busy = Counter()
        synced |= set(plan.syncs)
        assert len({task.unit for task in plan.trainings}) == len(plan.trainings)
        assert not {task.group for task in plan.trainings} & set(plan.syncs)
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


def schedules(pairs):
    """Every schedule of 1 to 32 agents in groups of 1 to 8 on ``pairs`` pairs of units."""
    config = replace(CONFIG, units=("infer", "train") * pairs, batch=8, snapshots=32, tasks=256)
    for agents in range(1, 33):
        for size in range(1, min(8, agents) + 1):
            for joined in range(1, most_joined(config) + 1):
                yield config, GroupRounds(config, agents, size, None, joined)


@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
def test_cohorts(pairs):
    """Of every fiftieth schedule: see ``check`` and ``check_cohorts``."""
    for config, schedule in islice(schedules(pairs), 7 * pairs, None, 50):
        check(config, schedule)
        check_cohorts(schedule)


@pytest.mark.long
@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
def test_all_cohorts(pairs):
    count = 0
    for config, schedule in schedules(pairs):
        check(config, schedule)
        check_cohorts(schedule)
        count += 1
    assert count == 228 * 2 * pairs  # 4 560 together


def test_one_group_a_cohort_is_the_schedule_from_before_there_were_cohorts():
    """Two periods of 453 schedules, by a digest of commit 28a636a3: runs keep their bits."""
    found = sha256()
    for units in (("infer", "train") * 2, ("any",) * 4, ("train", "any", "infer")):
        config = replace(CONFIG, units=units, batch=8, snapshots=32)
        for agents in range(1, 33, 3):
            for size in range(1, min(8, agents) + 1):
                for active in sorted({agents, max(1, agents - 3)}):
                    s = GroupRounds(config, agents, size, active)
                    plans = list(islice(s.plans(), 2 * s.period))
                    found.update(repr((s.period, s.groups, plans)).encode())
    assert found.hexdigest()[:16] == "ec9825504f0a6cca"


def check_cohorts(schedule):
    """Groups of a cohort sync, infer and train in the same rounds, no two cohorts train in a round,
    and each trains as many agents as there are trainers, except in its last round."""
    cohort_of = {group: cohort for cohort in schedule.cohorts for group in cohort}
    assert list(cohort_of) == list(range(len(schedule.groups)))
    trained = dict.fromkeys(schedule.cohorts, 0)
    for plan in period(schedule):
        stepped = {}
        for task in plan.inferences:
            stepped.setdefault((cohort_of[task.group], task.step), set()).add(task.group)
        assert all(groups == set(cohort) for (cohort, _), groups in stepped.items())
        assert {cohort_of[group] for group in plan.syncs} == {
            cohort for cohort, step in stepped if step == 0
        }
        if not plan.trainings:
            continue
        [cohort] = {cohort_of[task.group] for task in plan.trainings}
        everyone = sum(len(schedule.groups[group]) for group in cohort)
        left = everyone - trained[cohort] % everyone
        assert len(plan.trainings) == min(left, len(schedule.trainers))
        trained[cohort] += len(plan.trainings)
    for cohort, count in trained.items():
        assert count == sum(len(schedule.groups[group]) for group in cohort)


def test_a_theta_of_its_own_each():
    """16 agents, groups of one, two trainers: both train in every round, two agents sync, and no
    inferrer has more than six."""
    config = replace(CONFIG, snapshots=16)
    schedule = Schedule(config, 16, 1)
    assert (schedule.period, len(schedule.groups), len(schedule.cohorts)) == (8, 16, 8)
    for plan in period(schedule):
        assert [task.unit for task in plan.trainings] == [1, 3]
        assert len(plan.syncs) == 2
        assert Counter(task.unit for task in plan.inferences) == {0: 6, 2: 6}
        assert [task.group for task in plan.inferences[-2:]] == list(plan.syncs)


@pytest.mark.parametrize(
    "agents, size, loads", [(2, 1, [1, 1]), (3, 1, [1, 1, 1]), (5, 2, [2, 2, 1])]
)
def test_small_groups_of_a_cohort_begin_on_different_units(agents, size, loads):
    """Each inferrer has about as many agents as the others."""
    config = replace(CONFIG, units=("infer",) * 3 + ("train",) * 3, snapshots=8)
    schedule = GroupRounds(config, agents, size, None, 5)
    [_] = schedule.cohorts
    for plan in period(schedule):
        load = Counter()
        for task in plan.inferences:
            load[task.unit] += len(task.agents)
        assert sorted(load.values(), reverse=True) in ([], loads)


def test_parts_of_two_groups_share_no_unit():
    """Two groups of two on four units: each unit has one agent of each step."""
    schedule = GroupRounds(replace(CONFIG, units=("any",) * 4, snapshots=8), 4, 2, None, 2)
    for plan in period(schedule):
        assert [task.unit for task in plan.inferences] in ([], [0, 1, 2, 3])


@pytest.mark.parametrize(
    "units, size, joined",
    [
        (("infer", "train"), 1, 1),
        (("infer", "train") * 2, 1, 2),
        (("infer", "train") * 2, 2, 1),
        (("infer", "train") * 2, 3, 1),
        (("any",) * 4, 1, 4),
        (("any",) * 4, 2, 2),
        (("any", "infer", "any", "train"), 2, 1),
    ],
)
def test_cohorts_where_the_size_of_groups_is_given(units, size, joined):
    config = replace(CONFIG, units=units, snapshots=32, lanes=1)
    assert cohort_size(config, size) == joined
    schedule = Schedule(config, 12, size)
    assert {len(cohort) for cohort in schedule.cohorts} == {joined}
    assert Schedule(replace(config, lanes=4), 12, size).cohorts == schedule.cohorts


@pytest.mark.parametrize("kind", [GroupRounds, GlobalRounds])
@pytest.mark.parametrize(
    "changes",
    [
        dict(units=("any",) * 2, tasks=9),
        dict(units=("infer", "train", "train"), snapshots=2, lanes=8),
        dict(units=("any", "infer"), batch=3, steps=2),
    ],
)
def test_the_fastest_is_that_of_a_full_search(kind, changes):
    """Though it does not look at schedules that cannot be faster."""
    config = replace(CONFIG, **changes)
    for agents in (1, 5, 8):
        found = []
        for active in range(1, agents + 1):
            for size in range(1, min(config.batch, active) + 1):
                if kind.snapshots_of(-(-active // size)) > config.snapshots:
                    continue
                for joined in range(1, most_joined(config) + 1):
                    rounds = kind(config, active, size, None, joined)
                    most = max(map(len, period_works(config, rounds)))
                    clocks = 1 / rate(config, rounds)
                    found.append((most > config.tasks, clocks, -active, size, joined))
        *_, active, size, joined = min(found)
        assert fastest(config, agents, kind) == (size, -active, joined)


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
            assert rate(config, GroupRounds(config, agents, size)) <= chosen


@pytest.mark.parametrize(
    "changes, agents, ips",
    [
        (dict(units=("infer", "train")), 16, 2550),
        (dict(units=("any",), lanes=8), 4, 1650),
        (dict(units=("any",) * 4), 32, 5083),
        (dict(), 16, 5248),
        (dict(), 32, 5248),
    ],
)
def test_inferences_a_second(changes, agents, ips):
    config = replace(CONFIG, **changes)
    assert rate(config, Schedule(config, agents)) * config.steps * 180e6 >= ips


@pytest.mark.parametrize(
    "changes, group, ips",
    [
        (dict(), 1, 3633),
        (dict(), 2, 4886),
        (dict(), 4, 5258),
        (dict(units=("infer", "train") * 2 + ("infer",), local_masters=4), 1, 5257),
        (dict(units=("any",) * 4, local_masters=4), 1, 4363),
    ],
)
def test_inferences_a_second_of_groups_of_a_size(changes, group, ips):
    """With one group a cohort, groups of one make 2 636 on two pairs and 1 547 on four units."""
    config = replace(CONFIG, snapshots=16, **changes)
    found = rate(config, Schedule(config, 16, group)) * config.steps * 180e6
    assert round(found) == pytest.approx(ips, abs=1)


def test_rounds_fit_the_list_of_tasks():
    """Where a smaller list is allowed, other groups are chosen; if none fits, the best of all."""
    most = lambda schedule: max(  # noqa: E731
        len(plan.syncs + plan.trainings + plan.inferences) for plan in period(schedule)
    )
    wide = Schedule(CONFIG, 32)
    tight = Schedule(replace(CONFIG, tasks=most(wide) - 1), 32)
    assert most(tight) < most(wide)
    assert (tight.size, tight.active) != (wide.size, wide.active)
    exact = Schedule(replace(CONFIG, tasks=most(wide)), 32)
    assert (exact.size, exact.active, exact.joined) == (wide.size, wide.active, wide.joined)
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
        (dict(agents=3, group=4), r"group must be an integer in 1..3 \(agents\), not 4"),
        (dict(agents=32, group=2), "snapshots must be at least 16, one a group, not 8"),
        (dict(agents=32, group=1), "snapshots must be at least 32, one a group, not 8"),
    ],
)
def test_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        Schedule(CONFIG, **changes)


def test_no_more_work_than_there_are():
    with pytest.raises(ValueError, match=r"active must be an integer in 1..8 \(agents\), not 9"):
        GroupRounds(CONFIG, 8, 4, 9)


@pytest.mark.parametrize("joined", [0, 5])
def test_no_more_cohorts_than_are_searched(joined):
    message = rf"joined must be an integer in 1..4 \(twice the units that train\), not {joined}"
    with pytest.raises(ValueError, match=message):
        GroupRounds(CONFIG, 8, 2, None, joined)
