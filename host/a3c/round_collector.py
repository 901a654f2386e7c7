"""Collects experience of agents whose actions come from rounds of inferences and trainings (kernel
``a3c``): environments are stepped group by group, and ask for the next round."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from host.environments.collector import Collector, Counts, Episodes
from host.environments.environment import Actor
from host.phases import Phases
from hw.fa3c.group_rounds import RoundPlan
from hw.fa3c.sharing import RoundSchedule

__all__ = ["Chooses", "GroupRollout", "RoundRequest", "RoundCollector"]


class Chooses(Protocol):
    """What chooses actions by a network's outputs: a ``host.algorithms.policy.Policy``."""

    def choose(self, outputs: NDArray[np.float32]) -> NDArray[np.generic]: ...


@dataclass
class GroupRollout:
    """Steps that the agents of a group took together, arrays [steps, agents, ...].

    ``outputs`` are the network's for the observation before the step: logits, and last the value.
    ``action`` is the action that was drawn from them, counted from 0, ``reward`` its reward.
    ``truncated`` is False where the episode also terminated. ``valid`` is False where an
    environment only reset in the step. ``bootstrap`` [agents] is the value of the observation after
    the last step. ``follows`` is the value of the observation after the step: given where the step
    truncated the episode, equal to ``bootstrap`` in the last step, and 0 elsewhere.
    """

    outputs: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    valid: np.ndarray
    follows: np.ndarray
    bootstrap: np.ndarray


@dataclass
class RoundRequest:
    """The round that the environments of a population ask a learner for.

    population : number of the population
    plan : the round's tasks
    observations : for each of ``plan.inferences`` the observations of its agents
    guests : list of (group, observations), the last observations of episodes that were truncated,
        whose values are needed besides
    finished : group -> its GroupRollout, if it was completed just before; the trainings of this and
        the next rounds learn from it
    inferred, valued : set by ``answer``: for each inference and for each guest the network's
        outputs, [agents, outputs]
    """

    population: int
    plan: RoundPlan
    observations: list
    guests: list
    finished: dict
    inferred: list = field(default_factory=list)
    valued: list = field(default_factory=list)

    def answer(self, inferred, valued):
        self.inferred, self.valued = inferred, valued


class RoundCollector(Collector):
    """Collects for agents that act in rounds. The populations of agents take turns: in its turn, a
    population is stepped by the answers to its last RoundRequest, and makes the next one. Rollouts
    under way are not in ``state_dict``, since their environments cannot be saved.

    Parameters
    ----------
    envs : list of gymnasium.vector.VectorEnv
        One for each group of each population, population by population.
    schedule : hw.fa3c.sharing.RoundSchedule
        The schedule of one population, the same for all.
    populations : int
    seed : int
        Seed of the first group's first environment; each environment has a seed of its own.
    phases : Phases, optional
        Counts the collector's time.
    """

    def __init__(
        self,
        envs: Sequence[VectorEnv],
        schedule: RoundSchedule,
        *,
        populations: int,
        seed: int,
        phases: Phases | None = None,
    ) -> None:
        self.envs, self.schedule, self.phases = envs, schedule, phases or Phases()
        self._count = populations
        self.restart(seed)

    def restart(self, seed: int) -> None:
        """Begins new episodes, and the first round."""
        groups = len(self.schedule.groups)
        self._populations, self._turn = [], 0
        for number in range(self._count):
            actors = []
            for envs in self.envs[number * groups : (number + 1) * groups]:
                actors.append(Actor(envs, seed=seed))
                seed += envs.num_envs
            self._populations.append(_Population(number, self.schedule, actors, self.phases))

    def collect(self, policy: Chooses, clock: Counts) -> tuple[RoundRequest, Episodes]:
        """Takes the population whose turn it is, and steps every environment for whose agent its
        last round had an inference of a step; in its first turn none is stepped. Returns the
        population's ``RoundRequest`` for its next round, and a list with the ``(return, length)``
        of each episode that ended."""
        population = self._populations[self._turn]
        self._turn = (self._turn + 1) % len(self._populations)
        episodes = population.step(policy, clock)
        with self.phases("packing"):
            return population.request(), episodes

    def close(self) -> None:
        for envs in self.envs:
            envs.close()


class _Population:
    """Agents that take their rounds together."""

    def __init__(self, number, schedule, actors, phases):
        self._number, self._schedule, self._phases = number, schedule, phases
        self._groups = [
            _Group(actor, agents[0], schedule.steps)
            for actor, agents in zip(actors, schedule.groups, strict=True)
        ]
        self._round, self._request, self._finished = 0, None, {}
        self._outputs = {}  # (group, step) -> outputs of its agents, as far as they have come

    def step(self, policy, clock):
        """Takes the answers of the last round; returns the episodes that ended."""
        request, episodes, self._finished = self._request, [], {}
        if request is None:
            return episodes
        for (group, _), outputs in zip(request.guests, request.valued, strict=True):
            self._groups[group].take_values(outputs[:, -1])
        for inference, found in zip(request.plan.inferences, request.inferred, strict=True):
            self._outputs.setdefault((inference.group, inference.step), []).append(found)
        acting = []
        for (number, step), parts in list(self._outputs.items()):
            group, found = self._groups[number], np.concatenate(parts)
            if len(found) < len(self._schedule.groups[number]):
                continue  # the others are inferred in later rounds
            del self._outputs[number, step]
            if step is None:
                self._finished[number] = group.finish(found[:, -1])
                continue
            with self._phases("policy"):
                action = policy.choose(found)
            with self._phases("environments"):
                group.actor.begin(action)
            acting.append((group, step, found, action))
        for group, step, found, action in acting:  # all of these are being stepped
            with self._phases("environments"):
                taken, ended = group.actor.end()
                clock.steps += len(action)
            with self._phases("packing"):
                group.keep(step, found, action, taken)
            episodes += ended
        return episodes

    def request(self):
        """The RoundRequest of the next round."""
        plan = self._schedule.plan(self._round)
        self._round += 1
        observations = [self._groups[i.group].observations(i) for i in plan.inferences]
        guests = [
            (number, seen)
            for number, group in enumerate(self._groups)
            if (seen := group.truncated()) is not None
        ]
        self._request = RoundRequest(self._number, plan, observations, guests, self._finished)
        return self._request


class _Group:
    """Agents that share a snapshot: their environments, and the rollout under way."""

    def __init__(self, actor, first, steps):
        self.actor, self._first, self._steps = actor, first, steps
        self._rows, self._last, self._waiting = [], None, None

    def observations(self, inference):
        """Observations of an ``Inference``'s agents; for the bootstrap, those after the last
        step."""
        first = inference.agents[0] - self._first
        part = slice(first, first + len(inference.agents))
        return (self.actor.obs if inference.step is not None else self._last)[part]

    def keep(self, step, outputs, action, taken):
        if taken.restarted:  # nothing is learned of what was before
            for row in self._rows:
                row["valid"] = np.zeros_like(row["valid"])
        cut = taken.truncated & ~taken.terminated
        self._last = taken.next_obs
        self._rows.append(
            dict(
                outputs=outputs,
                action=action,
                reward=np.asarray(taken.reward, np.float32),
                terminated=taken.terminated,
                truncated=cut,
                valid=taken.valid,
                follows=np.zeros(len(action), np.float32),
            )
        )
        # The observation after the last step is the bootstrap's.
        self._waiting = (cut, taken.next_obs[cut]) if cut.any() and step < self._steps - 1 else None

    def truncated(self):
        """Last observations of episodes that the last step truncated; None if there are none."""
        return None if self._waiting is None else self._waiting[1]

    def take_values(self, values):
        """Takes the values of the observations of ``truncated``, in its order."""
        self._rows[-1]["follows"][self._waiting[0]] = values
        self._waiting = None

    def finish(self, bootstrap):
        """Returns the rollout; the next one begins."""
        columns = {name: np.stack([row[name] for row in self._rows]) for name in self._rows[0]}
        columns["follows"][-1] = bootstrap  # the value of the observation after the last step
        self._rows = []
        return GroupRollout(**columns, bootstrap=bootstrap)
