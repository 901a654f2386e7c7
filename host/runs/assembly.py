"""Makes the parts of a run from its config, and joins them."""

from contextlib import ExitStack, closing

from host.agents.evaluation import Copies
from host.algorithms.config import Clock
from host.environments.environment import make_envs
from host.environments.spec import Spec
from host.phases import ACTORS, Phases
from host.runs.family import RunParts
from host.runs.run_kinds import family_of
from host.runs.session import Seeds, Session
from hw.errors import UsageError

__all__ = ["build"]


def build(config, factory, schedule_steps=None, phases=None, actors=None):
    """Makes the environments, the policy and all other parts of a run; returns the Session, which
    closes them.

    Parameters
    ----------
    config : RunConfig
    factory : callable
        Makes the card's side of the run, such as its replay memory. It is what ``factory`` of the
        run's Family (``host.runs.family``) has returned.
    schedule_steps : int, optional
        Environment steps for which the schedules are made; None: those of the run.
    phases : Phases, optional
        Counts the time of the run; None: a new one, of wall time.
    actors : Actors, optional
        Where the actors of a config with ``actors`` are (``host.actors.placement``).

    ValueError if the config and the environment do not allow the run.
    """
    family, total = family_of(config), schedule_steps or config.steps
    if config.actors and actors is None:
        raise UsageError(f"actors must be 0 where nothing makes actors, not {config.actors}")
    phases = phases or Phases(more=ACTORS if config.actors else ())
    config, clock = config.in_run(total), Clock(total=total)
    with ExitStack() as made:
        envs = [
            made.enter_context(closing(make_envs(config.env, count, config.algorithm)))
            for count in ([1] if config.actors else family.environments(config))
        ]
        copies = _copies(config, envs)
        if copies is not None:
            made.enter_context(closing(copies))
        session = _joined(config, clock, family, factory, envs, copies, phases, actors)
        made.pop_all()  # the session closes them
    if config.actors:
        envs[0].close()  # it was made for its Spec
    return session


def _copies(config, envs):
    """The Copies for evaluations: ``envs`` themselves, if no other instance may exist."""
    if config.evaluation_episodes == 0:
        return None
    own = envs if config.evaluation_on == "training" else None
    return Copies(config.env, config.evaluation_episodes, config.algorithm, envs=own)


def _joined(config, clock, family, factory, envs, copies, phases, actors):
    algorithm, seeds = config.algorithm, Seeds(config.seed)
    spec = Spec.of(envs[0])
    weights, exploration, steps = seeds.agent
    policy = algorithm.policy(config.agent, spec, weights=weights, exploration=exploration)
    parts = RunParts(
        config=config,
        spec=spec,
        policy=policy,
        clock=clock,
        phases=phases,
        seeds=seeds,
        envs=envs,
        actors=actors,
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
