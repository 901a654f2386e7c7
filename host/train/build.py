"""From a run's config to its parts: one place that knows how they fit together."""

from contextlib import ExitStack, closing

from host.algorithms.config import Clock
from host.collect.environment import make_envs
from host.collect.evaluation import Copies
from host.collect.spec import Spec
from host.phases import Phases
from host.train.families import family_of
from host.train.families.family import Parts
from host.train.session import Seeds, Session

__all__ = ["build"]


def build(config, factory, schedule_steps=None):
    """The Session of a run.

    Parameters
    ----------
    config : RunConfig
    factory : callable
        Makes what of the run is on the card, as ``factory`` of the run's Family gives it
        (``host.train.families``).
    schedule_steps : int, optional
        Environment steps that the schedules are made for; None: the run's.

    ValueError for what config and environment make impossible.
    """
    family, total = family_of(config), schedule_steps or config.steps
    config, clock = config.in_run(total), Clock(total=total)
    with ExitStack() as made:
        envs = [
            made.enter_context(closing(make_envs(config.env, count, config.algorithm)))
            for count in family.environments(config)
        ]
        copies = Copies(config.env, config.evaluation_episodes, config.algorithm)
        made.enter_context(closing(copies))
        session = _joined(config, clock, family, factory, envs, copies)
        made.pop_all()  # they are the session's to close
    return session


def _joined(config, clock, family, factory, envs, copies):
    algorithm, seeds, phases = config.algorithm, Seeds(config.seed), Phases()
    spec = Spec.of(envs[0])
    weights, exploration, steps = seeds.agent
    policy = algorithm.policy(config.agent, spec, weights=weights, exploration=exploration)
    parts = Parts(
        config=config,
        spec=spec,
        policy=policy,
        clock=clock,
        phases=phases,
        seeds=seeds,
        envs=envs,
        updater=lambda: algorithm.updater(policy, seed=steps, device=config.device),
    )
    collector, learner = family.join(parts, factory)
    return Session(
        config,
        policy=policy,
        collector=collector,
        learner=learner,
        clock=clock,
        copies=copies,
        phases=phases,
    )
