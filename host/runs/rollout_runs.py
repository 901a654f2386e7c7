"""Runs that learn from one rollout at a time: their config, and the parts that differ."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from host.advantages.advantage_learner import AdvantageLearner
from host.advantages.estimator import AdvantageEstimator
from host.advantages.rollout import RolloutCollector
from host.rules import Integer
from host.runs.family import Family
from host.runs.run_config import RunConfig
from host.settings import flat
from hw.config import check_range

__all__ = ["OnPolicyConfig", "Rollouts"]


@dataclass(frozen=True, kw_only=True)
class OnPolicyConfig(RunConfig):
    """The config of a run that learns from one rollout at a time, in several epochs of minibatches,
    and then drops it; a rollout is ``steps_per_launch`` steps of each environment."""

    LEARNS_FROM, DESIGN = "rollouts", "gae"

    algo: str = "ppo"
    steps: int = 100_000
    #: Device of the gradient steps: cpu, or torch's name of another, such as cuda.
    device: str = "cpu"
    #: Steps of each environment in a rollout, 2 or more.
    steps_per_launch: Annotated[int, Integer(2, 1 << 12)] = 128
    evaluation_interval_steps: int = 5 * 1024
    log_interval_steps: int = 1024
    checkpoint_interval_steps: int = 50 * 1024

    @property
    def message_steps(self):
        return self.env_count * self.steps_per_launch

    def sizes(self, spec):
        # HEPPO's 64 rows fit on every board; further environments are estimated after these.
        return {"gae.rows": min(self.env_count, 64)}

    def __post_init__(self):
        super().__post_init__()
        self._check_actors(self.env_count, "env_count")
        samples = self.env_count * self.steps_per_launch
        why = " (steps of a rollout, all environments together)"
        check_range("batch_size", self.agent.batch_size, 1, samples, why)


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
