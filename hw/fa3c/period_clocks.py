"""Clocks of the rounds of a schedule's period, computed round by round as ``round_clocks`` does."""

from functools import lru_cache
from itertools import islice

from hw.fa3c.records import Task
from hw.fa3c.round_clocks import round_clocks
from hw.fa3c.task_clocks import Work
from hw.shell.memory_clocks import latencies, launch_clocks

__all__ = ["clocks_of_launch", "period_clocks", "period_works", "works_of"]

#: Clocks of a ROUND before and after those that its status counts.
_COMMAND = 6


def period_clocks(config, schedule):
    """Clocks of the launch of each round of a period of ``schedule``, a RoundSchedule, once all of
    its groups have begun."""
    return [clocks_of_launch(config, works) for works in period_works(config, schedule)]


def period_works(config, schedule):
    """The tasks of each of these rounds, as tuples of ``Work``."""
    plans = islice(schedule.plans(), schedule.period, 2 * schedule.period)
    return [tuple(works_of(plan)) for plan in plans]


@lru_cache(maxsize=4096)
def clocks_of_launch(config, works):
    """Clocks of the launch of a ROUND with ``works``; rounds of a schedule are alike."""
    clocks = round_clocks(config, works) + _COMMAND
    return launch_clocks(config.engine, [clocks], latencies(config.engine)["read"])


def works_of(plan):
    """The tasks of a RoundPlan as ``Work``, for ``round_clocks``."""
    works = [Work(Task.SYNC)] * len(plan.syncs)
    works += [Work(Task.TRAIN, task.unit, task.samples) for task in plan.trainings]
    works += [
        Work(Task.INFER, task.unit, len(task.agents), plan.snapshots[task.group] in plan.syncs)
        for task in plan.inferences
    ]
    return works + [Work(Task.SYNC)] * len(plan.renewed)
