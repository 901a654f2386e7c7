"""The learner of agents that act and are trained in rounds, on the card (kernel ``a3c``) or by an
updater that executes the same rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from host.a3c.card_network import ActorCritic
from host.a3c.round_collector import GroupRollout, RoundRequest
from host.a3c.round_tasks import Infer, Sync, Train
from host.algorithms.autodiff import Updater
from host.algorithms.config import AgentConfig, Clock
from host.algorithms.learner import Background, Learner
from host.algorithms.policy import InferredPolicy, Policy
from host.phases import Phases
from hw.errors import UsageError
from hw.fa3c.sharing import RoundSchedule

__all__ = ["CardRounds", "RoundLearner"]

Errors: TypeAlias = Callable[
    [AgentConfig, GroupRollout], tuple[NDArray[np.float32], dict[str, float]]
]
Launch: TypeAlias = tuple[RoundRequest, Future[object], dict[str, float | None]]


class RoundLearner(Learner):
    """Learns in rounds. A launch is a round of one population: it makes snapshots of the parameters
    theta, then trains, then infers, as its schedule says.

    Populations share theta and take turns, so that the environments of one population are stepped
    while the rounds of the others are under way. What a round trains is seen only by snapshots that
    later rounds make.

    Parameters
    ----------
    executor : CardRounds, or an updater with the same methods
        Executes the rounds.
    errors : callable
        ``errors(agent, rollout)``, of the agent's config and a GroupRollout, returns d(objective) /
        d(outputs), float32 [steps, agents, outputs], and a dict of measured numbers by column.
    schedule : hw.fa3c.sharing.RoundSchedule
        The schedule of one population.
    populations : int
    phases : Phases, optional
        Counts the learner's time.
    policy, clock
        As ``Learner``.
    """

    at_once = True
    columns = ("learning_rate",)

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        executor: CardRounds | Updater,
        errors: Errors,
        schedule: RoundSchedule,
        *,
        populations: int,
        phases: Phases | None = None,
    ) -> None:
        super().__init__(policy, clock)
        self.executor, self.phases = executor, phases or Phases()
        self.in_flight = populations
        self._errors, self._schedule, self._shape = errors, schedule, policy.spec.image
        self._card, self._waiting = Background("card"), {}
        # Agents and snapshots numbered after those of the populations: for values, evaluations.
        self._guest = populations * schedule.agents
        self._spare = populations * schedule.snapshots

    def begin(self, experience: RoundRequest) -> Launch:
        """As ``Learner.begin``; ``experience`` is the RoundRequest of a population. If a reward, an
        output or an error of a finished rollout is not finite: ValueError, and no launch begins."""
        measured = defaultdict(list)
        with self.phases("learning"):
            for group, rollout in experience.finished.items():
                self._check("rewards", rollout.reward)  # finite as float64, perhaps not as float32
                for outputs in (rollout.outputs, rollout.follows, rollout.bootstrap):
                    self._check("outputs", outputs)
                errors, found = self._errors(self.agent, rollout)
                self._check("errors", errors)
                for agent, own in zip(
                    self._schedule.groups[group], errors.swapaxes(0, 1), strict=True
                ):
                    self._waiting[experience.population, agent] = own
                for name, value in found.items():
                    measured[name].append(value)
        with self.phases("card"):
            work = self.executor.prepare(self._tasks(experience))
            future = self._card.submit(self.executor.run, work)
        # Counted here: a checkpoint waits for these updates, but a run that continues it has no
        # ``end`` for them.
        self.clock.updates += len(experience.plan.trainings)
        means = {name: float(np.mean(values)) for name, values in measured.items()}
        return experience, future, means

    def _check(self, name, array):
        if np.isfinite(array).all():
            return
        steps, [bad, *_] = self.clock.steps, array[~np.isfinite(array)]
        rate = self.agent.learning_rate_at(self.clock.launched)
        why = f"; learning_rate {rate:g} may be too high" if name in ("outputs", "errors") else ""
        raise UsageError(f"{name} must be finite, not {bad} (step {steps}{why})")

    def _tasks(self, request):
        population, plan = request.population, request.plan
        agents = population * self._schedule.agents
        first = population * self._schedule.snapshots
        snapshots = [first + each for each in plan.snapshots]
        agent, rate = self.agent, self.agent.learning_rate_at(self.clock.launched)
        tasks = [Sync(snapshot=first + each) for each in plan.syncs]
        tasks += [
            Train(
                unit=training.unit,
                snapshot=snapshots[training.group],
                agent=agents + training.rollout,
                errors=self._errors_of(population, training.agents),
                rate=rate,
                decay=agent.decay,
                epsilon=agent.optimizer_epsilon,
            )
            for training in plan.trainings
        ]
        tasks += [
            Infer(
                unit=inference.unit,
                snapshot=snapshots[inference.group],
                agents=tuple(agents + each for each in inference.rollouts),
                observations=self._shaped(seen),
                step=inference.sample,
            )
            for inference, seen in zip(plan.inferences, request.observations, strict=True)
        ]
        guest = self._guest
        for group, seen in request.guests:
            tasks.append(self._bootstrap(guest, snapshots[group], seen))
            guest += len(seen)
        return tasks + [Sync(snapshot=first + each) for each in plan.renewed]

    def _errors_of(self, population, agents):
        """Error rows of all ``agents``, in each step of one agent after the other."""
        errors = [self._waiting.pop((population, agent)) for agent in agents]
        return np.stack(errors, axis=1).reshape(-1, errors[0].shape[-1])

    def _bootstrap(self, guest, snapshot, seen):
        """An Infer for outputs alone, with agents numbered from ``guest``, which no rollout has."""
        agents, units = tuple(range(guest, guest + len(seen))), self._schedule.inferrers
        return Infer(
            unit=units[guest // self._schedule.size % len(units)],
            snapshot=snapshot,
            agents=agents,
            observations=self._shaped(seen),
            step=None,
        )

    def _shaped(self, seen):
        return np.ascontiguousarray(seen).reshape(len(seen), *self._shape)

    def end(self, launch: Launch) -> dict[str, float | None]:
        request, future, measured = launch
        with self.phases("card"):
            outputs = [each for each in future.result() if each is not None]
        count = len(request.plan.inferences)
        request.answer(outputs[:count], outputs[count:])
        return measured

    def fetch(self) -> None:
        self._card.call(self.executor.fetch, self.policy)

    @contextmanager
    def actor(self, policy: Policy | None = None) -> Iterator[Policy | InferredPolicy]:
        """As ``Learner.actor``. The policy that learns acts by the theta of its first ``act`` in
        the ``with`` block, which makes a snapshot for this. A collection calls only its ``choose``,
        with outputs of a round, and makes no snapshot."""
        synchronized = []

        def infer(obs):
            if not synchronized:
                work = self.executor.prepare([Sync(snapshot=self._spare)])
                synchronized.append(self._card.submit(self.executor.run, work))
            return self._infer(obs)

        yield policy or InferredPolicy(self.policy, infer)

    def _infer(self, obs):
        """Outputs [rows, outputs] by the snapshot of evaluations."""
        places, size = self._schedule.agents, self._schedule.size
        parts = []
        for begin in range(0, len(obs), places):
            rows = obs[begin : begin + places]
            tasks = [
                self._bootstrap(self._guest + at, self._spare, rows[at : at + size])
                for at in range(0, len(rows), size)
            ]
            work = self.executor.prepare(tasks)
            parts += self._card.call(self.executor.run, work)
        return np.concatenate(parts)

    @property
    def device_cycles(self) -> int | None:
        return self.executor.device_cycles

    def state_dict(self) -> dict[str, object]:
        """The parameters theta and g, the means of their squared gradients, after all launches
        under way. Rollouts are not saved."""
        return self._card.call(self.executor.state_dict)

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self._waiting.clear()
        self._card.call(self.executor.load_state_dict, state)

    def close(self) -> None:
        self._card.close(self.executor.abort)
        self.executor.close()


class CardRounds:
    """Executes rounds on the card, for a RoundLearner.

    Parameters
    ----------
    network : host.a3c.card_network.ActorCritic
        The host's runtime of the kernel; the policy's parameters are loaded into it.
    policy : Policy
        Gives the first parameters.
    """

    def __init__(self, network: ActorCritic, policy: Policy) -> None:
        self.network = network
        self.prepare, self.run = network.prepare, network.run
        self.state_dict, self.load_state_dict = network.state_dict, network.load_state_dict
        network.load(dict(self._named(policy)))

    @property
    def device_cycles(self) -> int | None:
        return self.network.device_cycles

    def fetch(self, policy: Policy) -> None:
        """Brings the policy's parameters up to date."""
        stored = self.network.parameters()
        for name, own in self._named(policy):
            own[...] = stored[name]

    def _named(self, policy):
        """For each layer's weights and biases the name on the card and the policy's array."""
        for number, layer in enumerate(policy.networks[policy.ACTS].layers):
            for name, own in zip(("weight", "bias"), layer, strict=True):
                yield f"layer{number}.{name}", own

    def abort(self) -> None:
        self.network.launcher.kernel.flight.abort()

    def close(self) -> None:
        self.network.close()
