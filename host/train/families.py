"""Families of runs, with a class for each kind of experience from which algorithms learn: a family
makes the card's side, the collector and the learner of its runs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from host.actors.session import Actors
from host.algorithms.config import Clock
from host.algorithms.policy import Policy
from host.collect.collector import NStepCollector
from host.collect.nstep import NStep
from host.collect.rollout import RolloutCollector
from host.collect.rounds import RoundCollector
from host.collect.spec import Spec
from host.learners.advantages import AdvantageLearner
from host.learners.designs import learner_of
from host.learners.rounds import CardRounds, RoundLearner
from host.memory import memory_on_cpu
from host.phases import Phases
from host.runtime.a3c import ActorCritic
from host.runtime.gae import AdvantageEstimator
from host.settings import flat, values_of
from host.train.actor_pool import ActorPool
from host.train.run_config import RunConfig
from host.train.session import Seeds
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.sharing import schedule_of

__all__ = ["Family", "Parts", "family_of"]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a run that are made alike in all families; ``Family.join`` makes the collector
    and the learner of them.

    ``envs`` has a ``gymnasium.vector.VectorEnv`` for each number of the family's ``environments``.
    With actors, ``envs`` has a single environment, which nobody steps, and ``actors`` is not None.
    ``updater()`` makes the Updater that trains ``policy`` off the card. ``seeds`` has the seeds of
    all parts, ``phases`` counts their time, and ``clock`` their steps.
    """

    config: RunConfig
    spec: Spec
    policy: Policy
    clock: Clock
    phases: Phases
    seeds: Seeds
    envs: list
    updater: Callable
    actors: Actors | None

    @property
    def actor_pool(self):
        """The ActorPool of a run with actors."""
        config = self.config
        return ActorPool(
            self.actors,
            config.algo,
            config.env,
            config.agent,
            like=self.envs[0],
            seeds=self.seeds,
            count=config.actors,
            env_count=config.env_count,
            steps=getattr(config, "steps_per_launch", 1),
            launches=getattr(config, "launches_per_message", None),
            td_errors=config.actor_td_errors,
            fixed=config.actor_order == "fixed",
            phases=self.phases,
        )


class Family:
    """Makes the card's side, the collector and the learner of a run. There is one subclass for
    each kind of experience from which algorithms learn (``Algorithm.learns_from``)."""

    def factory(self, config, kernel):
        """Returns a callable that makes the card's side of a run; ``join`` calls it. ``kernel`` is
        the loaded kernel, or None if the run needs none. ValueError if the kernel does not
        suit the run."""
        raise NotImplementedError

    def environments(self, config):
        """A list with an item for each vector environment of the run: its number of
        environments."""
        return [config.env_count]

    def join(self, parts, factory):
        """``(collector, learner)`` of a run."""
        raise NotImplementedError


class Replay(Family):
    """The family of runs that learn from a replay memory. With learner cpu the card draws batches
    (kernel ``replay``); with learner card it trains, too (kernel ``config.kernel``). If the memory
    is not the card's, the card trains on the batches that it is sent, or there is none."""

    def factory(self, config, kernel):
        """Returns a callable: ``made(fields, *, capacity, alpha, epsilon, seed)`` makes the replay
        memory, on ``kernel`` or in front of it. ``fields`` are those of an experience, as
        ``Spec.fields``."""
        learner = learner_of(config.kernel)
        if config.memory == "card":
            return partial(learner.BUFFER, kernel)
        kind = memory_on_cpu(config.memory)
        if kernel is None:
            return kind

        def made(fields, **options):
            memory = kind(fields, **options)
            trainer = learner.BUFFER(kernel, fields, capacity=2)  # which nobody fills
            return learner.SENT(memory, trainer)

        return made

    def join(self, parts, factory):
        config, phases = parts.config, parts.phases
        collector = parts.actor_pool.experiences() if config.actors else self._collector(parts)
        memory = factory(
            parts.spec.fields,
            capacity=config.capacity,
            alpha=config.alpha,
            epsilon=config.priority_epsilon,
            seed=parts.seeds.buffer,
        )
        updater = () if config.learner == "card" else (parts.updater(),)
        own = config, parts.policy, parts.clock, memory, *updater
        return collector, learner_of(config.kernel)(*own, phases=phases)

    def _collector(self, parts):
        config, [envs] = parts.config, parts.envs
        windows = NStep.of(config.agent, parts.spec, config.env_count)
        options = dict(seed=parts.seeds.environments(0), phases=parts.phases)
        if config.actor_td_errors:
            options["td_errors"] = parts.policy.td_errors
        return NStepCollector(envs, config.steps_per_launch, windows=windows, **options)


class Rollouts(Family):
    """The family of runs that learn from one rollout at a time. The policy collects a rollout, and
    the card estimates its advantages (kernel ``gae``). The agent learns from all its steps in
    several epochs, each in minibatches, and then drops the rollout."""

    def factory(self, config, kernel):
        """Returns a callable without arguments, which makes the AdvantageEstimator on ``kernel``.
        ValueError if the kernel's ``code_width`` or ``result_width`` is not the run's."""
        wanted, found = config.decided(), flat(kernel.description.config)
        config.check_kernel({name: wanted[name] for name in config.run_names}, found)
        return partial(AdvantageEstimator, kernel, config.agent.standardization)

    def join(self, parts, factory):
        config, phases = parts.config, parts.phases
        steps = config.steps_per_launch
        if config.actors:
            collector = parts.actor_pool.rollouts()
        else:
            [envs], seed = parts.envs, parts.seeds.environments(0)
            collector = RolloutCollector(envs, steps, seed=seed, phases=phases)
        learner = AdvantageLearner(
            parts.policy, parts.clock, factory(), parts.updater(), phases=phases
        )
        return collector, learner


#: fields that may be larger in the kernel than the run needs
_LIMITS = {"batch", "agents", "snapshots", "tasks"}


class Rounds(Family):
    """The family of runs in rounds: the card infers and trains (kernel ``a3c``), or with learner
    cpu the updater does, by the same schedule."""

    def factory(self, config, kernel):
        """Returns a callable without arguments, which makes the ActorCritic on ``kernel``, or
        returns None if ``kernel`` is None."""
        return partial(ActorCritic, kernel) if kernel else lambda: None

    def environments(self, config):
        sizes = [config.group_size] * config.groups
        sizes[-1] -= config.group_size * config.groups - config.population
        return sizes * config.populations

    def join(self, parts, factory):
        config, algorithm, phases = parts.config, parts.config.algorithm, parts.phases
        network = factory()
        kernel = network.config if network else Fa3cConfig(**config.kernel_values(parts.spec))
        if network:
            config.check_kernel(config.kernel_values(parts.spec), values_of(kernel), _LIMITS)
        group = None if config.sharing == "paac" else config.group_size
        schedule = schedule_of(kernel, config.population, group, config.sharing)
        collector = self._collector(parts, schedule)
        executor = CardRounds(network, parts.policy) if network else parts.updater()
        learner = RoundLearner(
            parts.policy,
            parts.clock,
            executor,
            algorithm.updater.errors,
            schedule,
            populations=config.populations,
            phases=phases,
        )
        return collector, learner

    def _collector(self, parts, schedule):
        config, both = parts.config, dict(populations=parts.config.populations)
        if config.actors:
            return parts.actor_pool.rounds(self.environments(config), schedule, **both)
        seed = parts.seeds.environments(0)
        return RoundCollector(parts.envs, schedule, seed=seed, phases=parts.phases, **both)


#: ``Algorithm.learns_from`` -> Family
_FAMILIES = {"replay": Replay(), "rollouts": Rollouts(), "rounds": Rounds()}


def family_of(config):
    """The Family of a RunConfig."""
    return _FAMILIES[config.algorithm.learns_from]
