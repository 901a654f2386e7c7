"""Families of runs, with a class for each kind of experience from which algorithms learn: a family
makes the card's side, the collector and the learner of its runs."""

from collections.abc import Callable
from dataclasses import dataclass

from host.actors.placement import Actors
from host.algorithms.config import Clock
from host.algorithms.policy import Policy
from host.environments.spec import Spec
from host.phases import Phases
from host.runs.actor_pool import ActorPool
from host.runs.run_config import RunConfig
from host.runs.session import Seeds

__all__ = ["Family", "RunParts"]


@dataclass(frozen=True, kw_only=True)
class RunParts:
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
