"""Runs of agents that act and are trained in rounds: their config, and the parts that differ."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from host.a3c.card_network import ActorCritic
from host.a3c.round_collector import RoundCollector
from host.a3c.round_learner import CardRounds, RoundLearner
from host.algorithms.convolution import convolutions_for
from host.rules import Choice, Integer
from host.runs.family import Family
from host.runs.run_config import RunConfig, spec_of
from host.settings import values_of
from hw.config import check_range
from hw.errors import UsageError
from hw.fa3c.config import MOST_AGENTS, MOST_SNAPSHOTS, SLOTS, Fa3cConfig
from hw.fa3c.records import AGENTS
from hw.fa3c.sharing import SHARINGS, schedule_of

__all__ = ["Rounds", "RoundsConfig"]


@dataclass(frozen=True, kw_only=True)
class RoundsConfig(RunConfig):
    """The config of a run of agents that act and are trained in rounds (FA3C)."""

    LEARNS_FROM, DESIGN = "rounds", "a3c"

    algo: str = "a3c"
    #: Agents of all populations together; each has an environment of its own.
    env_count: int = 32
    #: Populations that take turns: the environments of one are stepped while rounds of the others
    #: are under way.
    populations: Annotated[int, Integer(1, 8)] = 2
    #: Agents of a population that share a snapshot and are stepped together; none: a quarter of the
    #: population, on every kernel, so that a run's results are the same on all of them.
    group: Annotated[int | None, Integer(1, AGENTS)] = None
    #: How agents share theta. a3c: a rollout and its training have the theta of its beginning.
    #: ga3c: all tasks of a round have the theta that the population's round before left. paac: one
    #: training learns from all agents, at most 8 and 32 samples, which are one group.
    sharing: Annotated[str, Choice(SHARINGS)] = "a3c"
    #: Learner cpu: device of the gradient steps, cpu or torch's name of another.
    device: str = "cpu"

    def __post_init__(self):
        super().__post_init__()
        if self.env_count % self.populations:
            raise UsageError(
                f"env_count must be a multiple of {self.populations} (populations), "
                f"not {self.env_count!r}"
            )
        # As many agents as a population has are reserved for values of other observations, and one
        # snapshot for evaluations.
        most = MOST_AGENTS * self.populations // (self.populations + 1)
        why = f" with {self.populations} populations"
        check_range("env_count", self.env_count, self.populations, most, why)
        if self.sharing == "ga3c" and self.learner != "card":
            # Learner cpu would compute the inputs of layers again, by the theta of the training.
            raise UsageError(f"learner must be card with sharing ga3c, not {self.learner!r}")
        if self.sharing == "paac":
            self._check_merged()
        if self.group is not None:
            why = " (agents of a population)"
            check_range("group", self.group, 1, self.population, why)
        if self.snapshots * self.populations >= MOST_SNAPSHOTS:
            raise UsageError(
                f"group must make at most {MOST_SNAPSHOTS - 1} groups in all populations, with a "
                f"snapshot each, not {self.groups * self.populations}"
            )
        self._check_actors(self.groups * self.populations, "groups of all populations")
        if self.learner == "card" and self.device != "cpu":
            raise UsageError(f"device must be cpu with learner card, not {self.device!r}")

    def _check_merged(self):
        """The rules of sharing paac."""
        for name, value in (("populations", 1), ("group", None)):
            if getattr(self, name) != value:
                raise UsageError(
                    f"{name} must be {value} with sharing paac, not {getattr(self, name)!r}"
                )
        steps = self.agent.batch_size
        most, why = min(AGENTS, SLOTS // steps), f" with sharing paac and batch_size {steps}"
        check_range("env_count", self.env_count, 1, most, why)

    @property
    def kernel(self):
        return self.DESIGN if self.learner == "card" else None

    def sizes(self, spec):
        spec = spec or spec_of(self)
        height, width, channels = spec.image
        tasks = 3 * self.groups + 8  # snapshots, values of truncated ends, inferences, trainings
        return {
            "height": height,
            "width": width,
            "channels": channels,
            "binary32": spec.dtype == "float32",
            "input_exponent": spec.exponent,
            "convolutions": convolutions_for(self.agent, spec),
            "outputs": spec.action_count + 1,
            "batch": self.group_size,
            # The last numbers, as many as a population has, are no agents: see RoundLearner.
            "agents": self.env_count + self.population,
            "snapshots": self.populations * self.snapshots + 1,
            "tasks": max(tasks, Fa3cConfig.tasks),
            "steps": self.samples,
        }

    @property
    def population(self):
        """Agents of a population."""
        return self.env_count // self.populations

    @property
    def group_size(self):
        """Agents of a group: ``group``, or, if it is None, a quarter of the population, but at
        least 2 and at most 8. The last group of a population may have fewer. With sharing paac all
        agents are one group."""
        if self.sharing == "paac":
            return self.population
        return self.group or min(AGENTS, self.population, max(2, self.population // 4))

    @property
    def groups(self):
        """Groups of a population."""
        return -(-self.population // self.group_size)

    @property
    def snapshots(self):
        """Snapshots of a population."""
        return {"a3c": self.groups, "ga3c": 2, "paac": 1}[self.sharing]

    @property
    def samples(self):
        """Samples of a training, at most."""
        return self.agent.batch_size * (self.population if self.sharing == "paac" else 1)


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
