"""The base class of families: algorithms that learn from the same kind of experience, whose runs
have the same parts."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from host.actors.session import Actors
from host.algorithms.config import Clock
from host.algorithms.policy import Policy
from host.collect.environment import make_envs
from host.collect.spec import Spec
from host.phases import Phases
from host.train.actor_pool import ActorPool
from host.train.run_config import RunConfig
from host.train.session import Seeds

__all__ = ["Family", "Parts", "spec_of"]


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
            fixed=config.actor_order == "fixed",
            phases=self.phases,
        )


class Family:
    """Makes the kernel's config, the collector and the learner of a run. There is one subclass for
    each kind of experience from which algorithms learn (``Algorithm.learns_from``).

    Attributes
    ----------
    called : dict
        Name of a kernel's field in ``kernel_values`` -> name of the run's field from which its
        value comes; only fields with different names are in it.
    """

    called = {}

    def design(self, config):
        """Name of the design whose kernel the run with ``config`` needs; None if it needs no
        card."""
        raise NotImplementedError

    def kernel_values(self, config, spec=None):
        """A dict, field of the kernel's config -> value that the run with ``config`` needs.
        ``spec`` is the Spec of the run's environment; None: the environment is made to find it
        out."""
        raise NotImplementedError

    def stored_bytes(self, config, spec, beat):
        """Bytes of the kernel's largest buffer, if the run decides them: each experience takes
        whole beats of ``beat`` bytes. None if the kernel alone decides them."""

    def factory(self, config, kernel):
        """Returns a callable that makes the card's side of a run; ``join`` calls it. ``kernel`` is
        the loaded kernel, or None if ``design`` returns None. ValueError if the kernel does not
        suit the run."""
        raise NotImplementedError

    def environments(self, config):
        """A list with an item for each vector environment of the run: its number of
        environments."""
        return [config.env_count]

    def join(self, parts, factory):
        """``(collector, learner)`` of a run."""
        raise NotImplementedError


def spec_of(config):
    """The Spec of a run's environment. One environment is made to find it out, and closed again."""
    with closing(make_envs(config.env, 1, config.algorithm)) as envs:
        return Spec.of(envs)
