"""Which agents infer and which train in each round of kernel ``a3c``, so that all units have work.

Agents of a group share a snapshot and take their steps together; each is then trained by itself,
which is one of the interleavings that A3C allows. Groups are shifted in time, so that in every
round one group trains while others infer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as numbers

from hw.errors import UsageError
from hw.fa3c.config import Fa3cConfig

__all__ = ["Inference", "RoundPlan", "Schedule", "Training"]


@dataclass(frozen=True, kw_only=True)
class Inference:
    """The inference of ``agents``, all or some of the agents of ``group``, on compute unit
    ``unit``. ``step`` is the step of their rollouts, from 0 on; None: the bootstrap."""

    unit: int
    group: int
    agents: tuple
    step: int | None


@dataclass(frozen=True, kw_only=True)
class Training:
    """The training of the rollout of ``agent``, an agent of ``group``, on compute unit ``unit``."""

    unit: int
    group: int
    agent: int


@dataclass(frozen=True, kw_only=True)
class RoundPlan:
    """The tasks of a round, in the order in which they are executed.

    ``syncs`` has the numbers of the groups whose snapshot is made, ``trainings`` the Trainings and
    ``inferences`` the Inferences.
    """

    syncs: tuple
    trainings: tuple
    inferences: tuple


class Schedule:
    """Which tasks each round has. The plan repeats after ``period`` rounds; in a period every agent
    is inferred ``config.steps + 1`` times, the last time for the bootstrap, and trained once.

    In the round of a group's first inference the group's snapshot is made before all other tasks,
    and its inferences come last, since they wait for the snapshot. After the bootstrap the group
    trains in each round as many agents as units can train. Group g is about ``period / groups``
    rounds behind group g - 1. The groups that infer in a round are given to the units in turn; the
    groups that remain where their number is not a multiple of the units' are split among all units.

    Parameters
    ----------
    config : Fa3cConfig
    agents : int, optional
        At most ``config.agents``, which is the default.
    group : int or None
        Agents of a group, at most ``config.batch``. None: as many as keep four groups, or as many
        groups as there are snapshots, but no fewer than can be trained at the same time, and no
        more than ``config.batch``.

    Attributes
    ----------
    agents, size : int
        Agents; agents of a group, except that the last group may have fewer.
    groups : list of tuples of int
        Agents of each group. The snapshot of group g has number g.
    period : int
        Rounds until the schedule repeats.

    ValueError if a number is out of these limits, or if there are more groups than snapshots.
    """

    def __init__(
        self, config: Fa3cConfig, agents: int | None = None, group: int | None = None
    ) -> None:
        agents = config.agents if agents is None else agents
        if not 1 <= agents <= config.agents:
            raise UsageError(
                f"agents must be an integer in 1..{config.agents} (config.agents), not {agents!r}"
            )
        self.trainers, self.inferrers = (config.units_for(work) for work in ("train", "infer"))
        fewest = -(-agents // config.snapshots)
        size = group or min(config.batch, max(len(self.trainers), agents // 4, fewest))
        self.agents, self.size = agents, size
        if not 1 <= size <= config.batch:
            raise UsageError(f"group must be an integer in 1..{config.batch}, not {group!r}")
        self.groups = [
            tuple(range(begin, min(begin + size, agents))) for begin in range(0, agents, size)
        ]
        if len(self.groups) > config.snapshots:
            raise UsageError(
                f"snapshots must be at least {len(self.groups)}, one a group, "
                f"not {config.snapshots!r}"
            )
        self.steps = config.steps
        self.training_rounds = -(-size // len(self.trainers))
        self.period = max(
            config.steps + 1 + self.training_rounds, len(self.groups) * self.training_rounds
        )
        free = self.period - self.training_rounds
        #: Rounds of a group's period in which it infers, step after step.
        self.inference_rounds = [k * free // (config.steps + 1) for k in range(config.steps + 1)]

    def plan(self, number: int) -> RoundPlan:
        """The ``RoundPlan`` of round ``number``, from 0 on. Group 0 begins in round 0; each later
        group has no tasks before the first round of its own."""
        syncs, trainings, inferring = [], [], []
        for group, agents in enumerate(self.groups):
            begin = group * self.period // len(self.groups)
            if number < begin:
                continue
            own = (number - begin) % self.period
            if own in self.inference_rounds:
                step = self.inference_rounds.index(own)
                inferring.append((step == 0, group, None if step == self.steps else step))
                if step == 0:
                    syncs.append(group)
            part = own - (self.period - self.training_rounds)
            if part >= 0:
                first = part * len(self.trainers)
                chosen = agents[first : first + len(self.trainers)]
                trainings += [
                    Training(unit=unit, group=group, agent=agent)
                    for unit, agent in zip(self.trainers, chosen, strict=False)
                ]
        return RoundPlan(
            syncs=tuple(syncs),
            trainings=tuple(trainings),
            inferences=tuple(self._inferences(sorted(inferring))),
        )

    def plans(self) -> Iterator[RoundPlan]:
        """The plans of all rounds, from the first on, without end."""
        return map(self.plan, numbers())

    def _inferences(self, inferring):
        """Gives whole groups to units in turn. Groups that are left over are split among all units
        and come last, so that their parameters are read when trainings do not read theirs."""
        units = self.inferrers
        whole = len(inferring) - len(inferring) % len(units)
        for place, (_, group, step) in enumerate(inferring):
            agents, size = self.groups[group], len(self.groups[group])
            turn = [units[place % len(units)]]
            if place >= whole:
                turn, size = units, -(-size // len(units))
            for unit, begin in zip(turn, range(0, len(agents), size), strict=False):
                part = agents[begin : begin + size]
                yield Inference(unit=unit, group=group, agents=part, step=step)
