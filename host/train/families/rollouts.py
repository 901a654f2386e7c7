"""Runs that learn from each rollout once, with the card's advantages."""

from functools import partial

from host.collect.rollout import RolloutCollector
from host.learners.advantages import AdvantageLearner
from host.runtime.gae import AdvantageEstimator
from host.train.families.family import Family
from hw.errors import UsageError

__all__ = ["Rollouts"]


class Rollouts(Family):
    """The card estimates advantages (kernel ``gae``)."""

    called = {"gae.code_width": "code_width", "gae.result_width": "result_width"}

    def design(self, config):
        return "gae"

    def kernel_values(self, config, spec=None):
        return {
            # As many as fit every board (HEPPO's); environments beyond come after the others.
            "gae.rows": min(config.env_count, 64),
            # Every step may end an episode, and be followed by what it bootstraps from.
            "gae.depth": 2 * config.steps_per_launch,
            "gae.code_width": config.agent.code_width,
            "gae.result_width": config.agent.result_width,
        }

    def factory(self, config, kernel):
        """``factory()`` gives the advantage estimator; ValueError for a kernel whose numbers have
        other widths than the run's."""
        agent, found = config.agent, kernel.description.config["gae"]
        for name in ("code_width", "result_width"):
            if getattr(agent, name) != found[name]:
                raise UsageError(
                    f"{name} must be {found[name]} as in the kernel, not {getattr(agent, name)}"
                )
        return partial(AdvantageEstimator, kernel, agent.standardization)

    def join(self, parts, factory):
        config, phases = parts.config, parts.phases
        [envs] = parts.envs
        seed = parts.seeds.environments(0)
        collector = RolloutCollector(config, parts.spec, envs, seed=seed, phases=phases)
        learner = AdvantageLearner(
            config, parts.policy, parts.clock, factory(), parts.updater(), phases=phases
        )
        return collector, learner
