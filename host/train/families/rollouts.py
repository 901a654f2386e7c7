"""Runs that learn from one rollout at a time, with the card's advantages, as PPO does."""

from functools import partial

from host.collect.rollout import RolloutCollector
from host.learners.advantages import AdvantageLearner
from host.runtime.gae import AdvantageEstimator
from host.train.families.family import Family
from hw.errors import UsageError

__all__ = ["Rollouts"]


class Rollouts(Family):
    """The family of runs that learn from one rollout at a time. The policy collects a rollout, and
    the card estimates its advantages (kernel ``gae``). The agent learns from all its steps in
    several epochs, each in minibatches, and then drops the rollout."""

    called = {"gae.code_width": "code_width", "gae.result_width": "result_width"}

    def design(self, config):
        return "gae"

    def kernel_values(self, config, spec=None):
        return {
            # HEPPO's 64 rows fit on every board; further environments are estimated after these.
            "gae.rows": min(config.env_count, 64),
            # Every step may end an episode, and then a slot with its bootstrap value follows.
            "gae.depth": 2 * config.steps_per_launch,
            "gae.code_width": config.agent.code_width,
            "gae.result_width": config.agent.result_width,
        }

    def factory(self, config, kernel):
        """Returns a callable without arguments, which makes the AdvantageEstimator on ``kernel``.
        ValueError if the kernel's ``code_width`` or ``result_width`` is not the run's."""
        agent, found = config.agent, kernel.description.config["gae"]
        for name in ("code_width", "result_width"):
            if getattr(agent, name) != found[name]:
                raise UsageError(
                    f"{name} must be {found[name]} as in the kernel, not {getattr(agent, name)}"
                )
        return partial(AdvantageEstimator, kernel, agent.standardization)

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
