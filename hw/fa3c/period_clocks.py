"""Clocks of the rounds of a schedule's period, computed round by round as ``round_clocks`` does."""

from itertools import islice

from hw.fa3c.records import Task
from hw.fa3c.round_clocks import round_clocks
from hw.fa3c.schedule import Schedule
from hw.fa3c.task_clocks import Work
from hw.shell.memory_clocks import latencies, launch_clocks

__all__ = ["clocks", "period_clocks", "works_of"]

#: Clocks of a ROUND before and after those that its status counts.
_COMMAND = 6


def clocks(config):
    """``{operation: clocks}`` of a Fa3cConfig: of a period, in which each of as many agents as
    there is room for is inferred ``steps + 1`` times and trained once."""
    agents = min(config.agents, config.snapshots * config.batch)
    schedule = Schedule(config, agents)
    name = f"period of {schedule.period} rounds with {agents} agents"
    return {name: sum(period_clocks(config, schedule))}


def period_clocks(config, schedule):
    """Clocks of the launch of each round of a period of ``schedule``, once all of its groups have
    begun."""
    plans = islice(schedule.plans(), schedule.period, 2 * schedule.period)
    rounds = (round_clocks(config, works_of(config, plan)) for plan in plans)
    read = latencies(config.engine)["read"]
    return [launch_clocks(config.engine, [clocks + _COMMAND], read) for clocks in rounds]


def works_of(config, plan):
    """The tasks of a RoundPlan as ``Work``, for ``round_clocks``."""
    works = [Work(Task.SYNC)] * len(plan.syncs)
    works += [Work(Task.TRAIN, task.unit, config.steps) for task in plan.trainings]
    works += [
        Work(Task.INFER, task.unit, len(task.agents), task.group in plan.syncs)
        for task in plan.inferences
    ]
    return works
