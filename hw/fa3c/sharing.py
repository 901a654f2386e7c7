"""How agents share theta: as in A3C, GA3C or PAAC, each a schedule of the same tasks."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count as numbers
from typing import TypeAlias

from hw.config import check_range
from hw.errors import UsageError
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.group_rounds import GroupRounds, Inference, RoundPlan, Training
from hw.fa3c.schedule import Schedule, sizes_of

__all__ = ["SHARINGS", "GlobalRounds", "MergedRounds", "RoundSchedule", "schedule_of"]

#: Names of the ways in which agents share theta.
SHARINGS = ("a3c", "ga3c", "paac")


class GlobalRounds(GroupRounds):
    """The rounds of GA3C (Babaeizadeh et al., 2017; FA3C, section 6): agents have no theta of their
    own. Every task of a round, inference or training, reads theta as it was when the round began.

    Tasks are given to rounds and units as GroupRounds does. Compute units read theta from a
    snapshot; so a round reads one snapshot, and after its trainings it makes the other one, which
    the next round reads.

    Theta may change between the steps of a rollout. A training takes the inputs of the layers from
    the inferences, as they were computed then, and the weights of BW from theta as it is now.
    """

    WHY = "one to read and one to make"

    @staticmethod
    def snapshots_of(groups: int) -> int:
        return 2

    def plan(self, number: int) -> RoundPlan:
        """As ``GroupRounds.plan``."""
        now = number % 2
        return replace(
            super().plan(number),
            syncs=() if number else (now,),
            snapshots=(now,) * len(self.groups),
            renewed=(1 - now,),
        )


class MergedRounds:
    """The rounds of PAAC (Clemente et al., 2017; FA3C, section 6): all agents take their steps by
    the same theta, and one training updates it by the sum of all their gradients.

    The samples of all agents lie in one rollout of the card, step after step, and in each step
    agent after agent. A round names a rollout once, so each inference of a step is a round of its
    own. Then all agents have their bootstraps in one round, and the last round trains.

    Parameters
    ----------
    config : Fa3cConfig
    agents : int
        All agents, at most ``config.steps``, the samples of a training.

    Attributes
    ----------
    agents, active, size : int
        The number of agents; all of them work, and they are one group.
    steps : int
        Steps of an agent before a training: ``config.steps`` divided by agents, without remainder.
    groups, period, snapshots, trainers, inferrers
        As of GroupRounds.

    ValueError if there are more agents than samples.
    """

    def __init__(self, config: Fa3cConfig, agents: int) -> None:
        check_range("agents", agents, 1, config.agents, " (config.agents)")
        if agents > config.steps:
            raise UsageError(
                f"agents must be at most {config.steps} (steps, the samples of a training), "
                f"not {agents!r}"
            )
        self.trainers, self.inferrers = (config.units_for(work) for work in ("train", "infer"))
        self.agents = self.active = self.size = agents
        self.groups, self.snapshots = [tuple(range(agents))], 1
        self.steps, self._batch = config.steps // agents, config.batch
        self.period = agents * self.steps + 2

    def clocks_of_all(self, clocks: int) -> int:
        """As ``GroupRounds.clocks_of_all``: all agents work."""
        return clocks

    def plan(self, number: int) -> RoundPlan:
        """The ``RoundPlan`` of round ``number``, from 0 on."""
        own, samples = number % self.period, self.agents * self.steps
        trainings, inferences = [], []
        if own < samples:
            step, agent = divmod(own, self.agents)
            inferences = [
                Inference(
                    unit=self.inferrers[0],
                    group=0,
                    agents=(agent,),
                    step=step,
                    rollouts=(0,),
                    sample=own,
                )
            ]
        elif own == samples:
            inferences = self._bootstraps()
        else:
            [agents] = self.groups
            trainings = [
                Training(unit=self.trainers[0], group=0, agents=agents, rollout=0, samples=samples)
            ]
        return RoundPlan(
            syncs=() if own else (0,),
            trainings=tuple(trainings),
            inferences=tuple(inferences),
            snapshots=(0,),
        )

    def plans(self) -> Iterator[RoundPlan]:
        """The plans of all rounds, from the first on, without end."""
        return map(self.plan, numbers())

    def _bootstraps(self):
        """Inferences of all agents, in batches of one size for the units in turn."""
        [agents], units = self.groups, self.inferrers
        size = min(self._batch, -(-len(agents) // len(units)))
        parts = [agents[begin : begin + size] for begin in range(0, len(agents), size)]
        return [
            Inference(
                unit=units[place % len(units)],
                group=0,
                agents=part,
                step=None,
                rollouts=part,
                sample=None,
            )
            for place, part in enumerate(parts)
        ]


RoundSchedule: TypeAlias = GroupRounds | MergedRounds


def schedule_of(
    config: Fa3cConfig, agents: int | None = None, group: int | None = None, sharing: str = "a3c"
) -> RoundSchedule:
    """The rounds of ``agents`` agents that share theta as in ``sharing``, one of ``SHARINGS``.

    config, agents, group : as of ``Schedule``, which also says how groups are chosen; with "paac"
        all agents are one group, and ``group`` must be None

    ValueError for another name, and if a number is out of its limits.
    """
    if sharing not in SHARINGS:
        raise UsageError(f"sharing must be {', '.join(SHARINGS)}, not {sharing!r}")
    if sharing == "a3c":
        return Schedule(config, agents, group)
    agents = config.agents if agents is None else agents
    check_range("agents", agents, 1, config.agents, " (config.agents)")
    if sharing == "paac":
        if group is not None:
            raise UsageError(f"group must be None with sharing paac, not {group!r}")
        return MergedRounds(config, agents)
    return GlobalRounds(config, agents, **sizes_of(config, agents, group, GlobalRounds))
