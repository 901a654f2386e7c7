"""Runs of agents that act and are trained in rounds."""

from functools import partial

from host.collect.rounds import RoundCollector
from host.learners.rounds import CardRounds, RoundLearner
from host.runtime.a3c import ActorCritic
from host.train.families.family import Family, spec_of
from hw.errors import UsageError
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.sharing import schedule_of

__all__ = ["Rounds"]

#: fields that may be larger in the kernel than the run needs
_LIMITS = {"batch", "agents", "snapshots", "tasks"}


class Rounds(Family):
    """The family of runs in rounds: the card infers and trains (kernel ``a3c``), or with learner
    cpu the updater does, by the same schedule."""

    def design(self, config):
        return "a3c" if config.learner == "card" else None

    def kernel_values(self, config, spec=None):
        spec, agent = spec or spec_of(config), config.agent
        height, width, channels = spec.image
        tasks = 3 * config.groups + 8  # snapshots, values of truncated ends, inferences, trainings
        return {
            "height": height,
            "width": width,
            "channels": channels,
            "binary32": spec.dtype == "float32",
            "input_exponent": spec.exponent,
            "convolutions": agent.convolutions_for(spec),
            "outputs": spec.action_count + 1,
            "batch": config.group_size,
            # The last numbers, as many as a population has, are no agents: see RoundLearner.
            "agents": config.env_count + config.population,
            "snapshots": config.populations * config.snapshots + 1,
            "tasks": max(tasks, Fa3cConfig.tasks),
            **config.algorithm.kernel(agent),
            "steps": config.samples,
        }

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
        kernel = network.config if network else Fa3cConfig(**self.kernel_values(config, parts.spec))
        if network:
            self._check_kernel(config, parts.spec, kernel)
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

    def _check_kernel(self, config, spec, kernel):
        for name, value in self.kernel_values(config, spec).items():
            found, limit = getattr(kernel, name), name in _LIMITS
            if found != value and not (limit and found > value):
                rule = f"at most {found}" if limit else repr(found)
                raise UsageError(f"{name} must be {rule} as in the kernel, not {value!r}")
