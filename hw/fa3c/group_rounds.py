"""The rounds of kernel ``a3c`` for groups of one size: which agents infer and which train.

Agents of a group share a snapshot and take their steps together; each is then trained by itself,
which is one of the interleavings that A3C allows. A cohort is one group or more that begin in the
same round. Cohorts are shifted in time, so that in every round one cohort trains while the others
infer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as numbers

from hw.config import check_range
from hw.errors import UsageError
from hw.fa3c.config import Fa3cConfig

__all__ = ["GroupRounds", "Inference", "RoundPlan", "Training", "cohort_size", "most_joined"]


@dataclass(frozen=True, kw_only=True)
class Inference:
    """The inference of ``agents``, all or some of the agents of ``group``, on compute unit
    ``unit``. ``step`` is the step of their rollouts, from 0 on; None: the bootstrap.

    The inputs of the layers are kept as sample ``sample`` of the card's ``rollouts``, one for each
    of the agents; None: they are not kept.
    """

    unit: int
    group: int
    agents: tuple
    step: int | None
    rollouts: tuple
    sample: int | None


@dataclass(frozen=True, kw_only=True)
class Training:
    """The training by the steps of ``agents``, of ``group``, on compute unit ``unit``: the first
    ``samples`` of the card's rollout ``rollout``, step after step, and agent after agent within a
    step."""

    unit: int
    group: int
    agents: tuple
    rollout: int
    samples: int


@dataclass(frozen=True, kw_only=True)
class RoundPlan:
    """The tasks of a round, in the order of their execution.

    ``syncs`` has the numbers of the snapshots that are made first, ``trainings`` the Trainings,
    ``inferences`` the Inferences, and ``renewed`` the numbers of the snapshots that are made last,
    for later rounds. Tasks of group g read snapshot ``snapshots[g]``.
    """

    syncs: tuple
    trainings: tuple
    inferences: tuple
    snapshots: tuple
    renewed: tuple = ()


def most_joined(config: Fa3cConfig) -> int:
    """Groups of a cohort, at most: two for each unit that trains."""
    return 2 * len(config.units_for("train"))


def cohort_size(config: Fa3cConfig, size: int) -> int:
    """Groups of a cohort if the size of the groups is given and not searched: as many groups of
    ``size`` as train at a time, but at least one. Clocks do not count, so that the results of a
    run do not depend on them."""
    return max(1, len(config.units_for("train")) // size)


class GroupRounds:
    """Which tasks each round has. The plan repeats after ``period`` rounds; in a period every agent
    at work is inferred ``config.steps + 1`` times, the last time for the bootstrap, and trained
    once.

    In the round of a group's first inference the group's snapshot is made before all other tasks,
    and its inferences come last, since they wait for the snapshot. ``joined`` neighbouring groups
    are a cohort: they take their steps in the same rounds. After the bootstrap a cohort trains
    ``trainers`` agents a round, group after group. Cohort c lags cohort c - 1 by about
    ``period / cohorts`` rounds:

        training_rounds = ceil(agents of the largest cohort / trainers)
        period = max(steps + 1 + training_rounds, cohorts * training_rounds)
        cohort c begins in round floor(c * period / cohorts)

    A trainer idles in a round if the cohort has fewer agents left than trainers, so smaller groups
    are joined. The groups that infer in a round go to the units in turn; a remainder smaller than
    the number of units is split among all units.

    If only some agents work at a time, they take turns: a group that begins takes the agents that
    have rested longest.

    Parameters
    ----------
    config : Fa3cConfig
    agents : int
        All agents, at most ``config.agents``.
    size : int
        Agents of a group, at most ``config.batch`` and ``agents``.
    active : int or None
        Agents that work at a time, at most ``agents``, which is None.
    joined : int
        Groups of a cohort, at most twice the units that train. The last cohort may have fewer.

    Attributes
    ----------
    agents, active, size, joined : int
        Agents; those that work at a time; agents of a group, groups of a cohort, except that the
        last of each may have fewer.
    groups : list of tuples of int
        Agents of each group in its first period. The snapshot of group g has number g.
    cohorts : list of ranges
        Groups of each cohort.
    period : int
        Rounds until the schedule repeats.
    snapshots : int
        Snapshots that it uses, from number 0 on.

    ValueError if a number is out of these limits, or if there are more groups than snapshots.
    """

    #: Why it needs so many snapshots.
    WHY = "one a group"

    def __init__(
        self,
        config: Fa3cConfig,
        agents: int,
        size: int,
        active: int | None = None,
        joined: int = 1,
    ) -> None:
        active = agents if active is None else active
        check_range("active", active, 1, agents, " (agents)")
        check_range("group", size, 1, config.batch)
        check_range("group", size, 1, agents, " (agents)")
        self.trainers, self.inferrers = (config.units_for(work) for work in ("train", "infer"))
        check_range("joined", joined, 1, most_joined(config), " (twice the units that train)")
        self.agents, self.active, self.size, self.joined = agents, active, size, joined
        self.groups = [
            tuple(range(begin, min(begin + size, active))) for begin in range(0, active, size)
        ]
        count = len(self.groups)
        self.cohorts = [range(g, min(g + joined, count)) for g in range(0, count, joined)]
        self.snapshots = self.snapshots_of(count)
        if self.snapshots > config.snapshots:
            raise UsageError(
                f"snapshots must be at least {self.snapshots}, {self.WHY}, not {config.snapshots!r}"
            )
        self.steps = config.steps
        largest = min(size * joined, active)
        self.training_rounds = -(-largest // len(self.trainers))
        self.period = max(
            config.steps + 1 + self.training_rounds, len(self.cohorts) * self.training_rounds
        )
        free = self.period - self.training_rounds
        #: Rounds of a cohort's period in which it infers, step after step.
        self.inference_rounds = [k * free // (config.steps + 1) for k in range(config.steps + 1)]

    @staticmethod
    def snapshots_of(groups: int) -> int:
        """Snapshots that so many groups need."""
        return groups

    def clocks_of_all(self, clocks: int) -> int:
        """Clocks to train each of all ``agents`` once, on average, if a period takes ``clocks``."""
        return -(-clocks * self.agents // self.active)

    def members(self, group: int, turn: int) -> tuple[int, ...]:
        """Agents of ``group`` in its period number ``turn``, from 0 on."""
        return tuple((turn * self.active + agent) % self.agents for agent in self.groups[group])

    def plan(self, number: int) -> RoundPlan:
        """The ``RoundPlan`` of round ``number``, from 0 on. Cohort 0 begins in round 0; each later
        cohort has no tasks before the first round of its own."""
        syncs, trainings, inferring = [], [], []
        for place, groups in enumerate(self.cohorts):
            begin = place * self.period // len(self.cohorts)
            if number < begin:
                continue
            turn, own = divmod(number - begin, self.period)
            if own in self.inference_rounds:
                step = self.inference_rounds.index(own)
                inferring += [
                    (step == 0, group, None if step == self.steps else step, turn)
                    for group in groups
                ]
                if step == 0:
                    syncs += groups
            part = own - (self.period - self.training_rounds)
            if part >= 0:
                trainings += self._trainings(groups, turn, part)
        return RoundPlan(
            syncs=tuple(syncs),
            trainings=tuple(trainings),
            inferences=tuple(self._inferences(sorted(inferring))),
            snapshots=tuple(range(len(self.groups))),
        )

    def plans(self) -> Iterator[RoundPlan]:
        """The plans of all rounds, from the first on, without end."""
        return map(self.plan, numbers())

    def _trainings(self, groups, turn, part):
        """Training round ``part``, from 0 on, of a cohort: its next agents, one a trainer."""
        everyone = [(group, agent) for group in groups for agent in self.members(group, turn)]
        first = part * len(self.trainers)
        for unit, (group, agent) in zip(self.trainers, everyone[first:], strict=False):
            yield Training(
                unit=unit, group=group, agents=(agent,), rollout=agent, samples=self.steps
            )

    def _inferences(self, inferring):
        """Gives whole groups to units in turn. Groups that are left over are split among all units
        and come last, so that their parameters are read when trainings do not read theirs."""
        units, first = self.inferrers, 0
        whole = len(inferring) - len(inferring) % len(units)
        for place, (_, group, step, turn) in enumerate(inferring):
            agents = self.members(group, turn)
            given, size = [units[place % len(units)]], len(agents)
            if place >= whole:
                given, size = units[first:] + units[:first], -(-size // len(units))
            parts = [agents[begin : begin + size] for begin in range(0, len(agents), size)]
            for unit, part in zip(given, parts, strict=False):
                yield Inference(
                    unit=unit, group=group, agents=part, step=step, rollouts=part, sample=step
                )
            # Groups of a cohort may be too small for all units: the next begins where this ends.
            if place >= whole and self.joined > 1:
                first = (first + len(parts)) % len(units)
