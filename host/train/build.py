"""From a run's config to its parts: one place that knows how they fit together."""

from contextlib import ExitStack, closing

from host.algorithms.config import Clock
from host.collect.collector import NStepCollector
from host.collect.environment import make_envs
from host.collect.nstep import NStep
from host.collect.rollout import RolloutCollector
from host.collect.spec import Spec
from host.learners.advantages import AdvantageLearner
from host.learners.card import CardLearner
from host.learners.replay import ReplayLearner
from host.phases import Phases
from host.train.session import Seeds, Session

__all__ = ["build"]


def build(config, factory):
    """The Session of a run.

    Parameters
    ----------
    config : RunConfig
    factory : callable
        Makes what of the run is on the card: ``factory(fields, *, capacity, alpha, epsilon, seed)``
        the replay memory (``fields`` as of ``Spec.fields``), or for an on-policy algorithm
        ``factory()`` the advantage estimator.

    ValueError for what config and environment make impossible.
    """
    with ExitStack() as made:
        envs, evaluation_envs = (
            made.enter_context(closing(make_envs(config.env, count, config.algorithm)))
            for count in (config.env_count, config.evaluation_episodes)
        )
        session = _joined(config, factory, envs, evaluation_envs)
        made.pop_all()  # they are the session's to close
    return session


def _joined(config, factory, envs, evaluation_envs):
    algorithm, seeds, phases, clock = config.algorithm, Seeds(config.seed), Phases(), Clock()
    spec = Spec.of(envs)
    weights, exploration, steps = seeds.agent
    policy = algorithm.policy(config.agent, spec, weights=weights, exploration=exploration)

    def updater():
        return algorithm.updater(policy, seed=steps, device=config.device)

    collecting = dict(seed=seeds.environments(0), phases=phases)
    if algorithm.on_policy:
        collector = RolloutCollector(config, spec, envs, **collecting)
        learner = AdvantageLearner(config, policy, clock, factory(), updater(), phases=phases)
    else:
        agent = config.agent
        rewards = dict(scale=agent.reward_scale, clip=agent.reward_clip)
        windows = NStep(config.env_count, agent.n_step, agent.gamma, spec, **rewards)
        collector = NStepCollector(config, spec, envs, windows=windows, **collecting)
        memory = factory(
            spec.fields,
            capacity=config.capacity,
            alpha=config.alpha,
            epsilon=config.priority_epsilon,
            seed=seeds.buffer,
        )
        if config.learner == "card":
            learner = CardLearner(config, policy, clock, memory, algorithm, phases=phases)
        else:
            learner = ReplayLearner(config, policy, clock, memory, updater(), phases=phases)
    return Session(
        config,
        policy=policy,
        collector=collector,
        learner=learner,
        clock=clock,
        evaluation_envs=evaluation_envs,
        phases=phases,
    )
