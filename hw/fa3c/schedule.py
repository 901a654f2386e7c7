"""The schedule of kernel ``a3c``: rounds for groups of the size that takes the fewest clocks."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from hw.config import check_range
from hw.fa3c.config import MOST_AGENTS, MOST_SNAPSHOTS, Fa3cConfig
from hw.fa3c.group_rounds import GroupRounds, cohort_size, most_joined
from hw.fa3c.records import Task
from hw.fa3c.round_clocks import Work, clocks_of_launch, period_works, round_units, task_clocks
from hw.timing import picture

__all__ = ["Schedule", "fastest", "schedule", "sizes_of"]


#: Agents that work at a time, at most, unless the size of groups is given: as many as eight groups
#: of eight, one of which trains while the others infer.
_MOST = 64


class Schedule(GroupRounds):
    """The rounds of ``agents`` agents on a kernel: a ``GroupRounds``.

    If ``group`` is None, the size of the groups, the groups of a cohort and the number of agents
    that work at a time are those with the most inferences a second, by ``period_clocks``: no others
    are faster, and further agents never make a kernel slower. Where each would take longer if all
    worked, some rest, in turn; more than 64 never work at a time. If ``group`` is given, all agents
    work, in cohorts of ``cohort_size``.

    Parameters
    ----------
    config : Fa3cConfig
    agents : int, optional
        At most ``config.agents``, which is the default.
    group : int or None
        Agents of a group, at most ``config.batch`` and ``agents``. None: as many as take the fewest
        clocks.

    ValueError if a number is out of these limits, or if there are more groups than snapshots.
    """

    def __init__(
        self, config: Fa3cConfig, agents: int | None = None, group: int | None = None
    ) -> None:
        agents = config.agents if agents is None else agents
        check_range("agents", agents, 1, config.agents, " (config.agents)")
        super().__init__(config, agents, **sizes_of(config, agents, group))


def sizes_of(
    config: Fa3cConfig, agents: int, group: int | None, kind: type = GroupRounds
) -> dict[str, int | None]:
    """``{"size": ..., "active": ..., "joined": ...}`` of rounds of ``agents`` agents in groups of
    ``group``; None: of the ``fastest``."""
    if group is None:
        return dict(zip(("size", "active", "joined"), fastest(config, agents, kind), strict=True))
    check_range("group", group, 1, config.batch)
    return {"size": group, "active": None, "joined": cohort_size(config, group)}


def fastest(config: Fa3cConfig, agents: int, kind: type = GroupRounds) -> tuple[int, int, int]:
    """``(size, active, joined)`` of the rounds with the fewest clocks for an agent and, if
    possible, at most ``config.tasks`` tasks. Ties prefer more active agents, then smaller groups,
    then fewer groups in a cohort. ``kind`` is GroupRounds or a class like it."""
    key, best = replace(config, agents=256, tasks=256), None
    for active in range(min(agents, _MOST), 0, -1):
        for size in range(1, min(config.batch, active) + 1):
            for joined in range(1, min(most_joined(config), -(-active // size)) + 1):
                if best and best < (False, _least(key, active, size, joined)):
                    continue
                best = _better(best, kind, key, config.tasks, active, size, joined) or best
    *_, active, size, joined = best
    return size, -active, joined


def _better(best, kind, config, most, active, size, joined):
    """``(more than most tasks, clocks for an agent, -active, size, joined)`` of rounds; None if
    ``best``, another such tuple or None, is less, or with too few snapshots."""
    # Of most rounds it is known that they are slower before units wait for each other's reads.
    for apart in (True, False) if len(config.units) > config.local_masters else (False,):
        measured = _measured(kind, config, active, size, joined, apart)
        if measured is None:
            return None
        clocks, tasks = measured
        found = tasks > most, clocks, -active, size, joined
        if best and best < found:
            return None
    return found


def _least(config, active, size, joined):
    """Clocks for an agent, at least: no round trains two cohorts, and none is shorter than a
    training; units share their tasks at best equally."""
    cohorts, rest = divmod(active, size * joined)
    trainers, inferrers = (len(config.units_for(work)) for work in ("train", "infer"))
    rounds = cohorts * -(-size * joined // trainers) + -(-rest // trainers)
    training = task_clocks(config, Work(Task.TRAIN, 0, config.steps)).end
    inferences = (config.steps + 1) * min(
        Fraction(task_clocks(config, Work(Task.INFER, 0, count)).end, count)
        for count in range(1, size + 1)
    )
    return max(
        Fraction(rounds * training, active),
        inferences / inferrers,
        (training + inferences) / len(config.units),
    )


@lru_cache(maxsize=1 << 15)
def _measured(kind, config, active, size, joined, apart=False):
    """The clocks for an agent and the tasks of a round, at most, of the ``kind`` of rounds for
    cohorts of ``joined`` groups of ``size``; None with too few snapshots. ``apart`` as in
    ``round_clocks``."""
    if kind.snapshots_of(-(-active // size)) > config.snapshots:
        return None
    works = _works(kind, config.units, config.batch, config.steps, active, size, joined)
    clocks = sum(count * clocks_of_launch(config, each, apart) for each, count in works.items())
    return Fraction(clocks, active), max(map(len, works))


@lru_cache(maxsize=2048)
def _works(kind, units, batch, steps, active, size, joined):
    """How often a period has each round, a tuple of ``Work``, on all kernels with these ``units``,
    ``batch`` and ``steps``."""
    config = Fa3cConfig(
        units=units, batch=batch, steps=steps, agents=MOST_AGENTS, snapshots=MOST_SNAPSHOTS
    )
    return Counter(period_works(config, kind(config, active, size, None, joined)))


def schedule(config: Fa3cConfig) -> str:
    """A picture of a period of the fastest rounds of a kernel, as Markdown."""
    rounds, clock = Schedule(config), 0
    units = {**{f"unit {n}": [] for n in range(len(config.units))}, "RMSProp": []}
    for works in period_works(config, rounds):
        for name, spans in round_units(config, works).items():
            units[name] += [(clock + begin, clock + end) for begin, end in spans]
        clock += clocks_of_launch(config, works)
    return picture(
        f"A period of {rounds.period} rounds with {rounds.active} agents takes {clock} clocks. A "
        "row is a compute unit or RMSProp; a digit counts its tasks, or its updates of a layer and "
        "copies of the parameters.",
        units,
    )
