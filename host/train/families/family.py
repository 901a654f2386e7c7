"""The base class of families: algorithms that learn from the same kind of experience, whose runs
have the same parts."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from host.algorithms.config import Clock
from host.algorithms.policy import Policy
from host.collect.environment import make_envs
from host.collect.spec import Spec
from host.phases import Phases
from host.train.config import RunConfig
from host.train.session import Seeds

__all__ = ["Family", "Parts", "spec_of"]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts that every run has; a family adds collector and learner.

    ``envs`` has a ``gymnasium.vector.VectorEnv`` for each of the family's ``environments``;
    ``updater()`` makes the algorithm's updater of the policy.
    """

    config: RunConfig
    spec: Spec
    policy: Policy
    clock: Clock
    phases: Phases
    seeds: Seeds
    envs: list
    updater: Callable


class Family:
    """There is one for each kind of experience (``Algorithm.learns_from``).

    Attributes
    ----------
    called : dict
        Field of the kernel, as in ``kernel_values`` -> the run's field from which its value comes,
        if this has another name.
    """

    called = {}

    def design(self, config):
        """Name of the design whose kernel a run needs; None: it needs no card."""
        raise NotImplementedError

    def kernel_values(self, config, spec=None):
        """Field -> value that a run needs in the kernel that is generated for it; ``spec``: the
        environment's, if it is known."""
        raise NotImplementedError

    def stored_bytes(self, config, spec, beat):
        """Bytes of card memory that the run decides, in whole beats; None: the kernel alone decides
        them."""

    def factory(self, config, kernel):
        """Returns a callable that makes the card's side of a run, for ``join``. ``kernel`` is a
        loaded kernel, or None if ``design`` is None; ValueError if it does not suit the run."""
        raise NotImplementedError

    def environments(self, config):
        """Numbers of environments that are stepped together, one for each vector environment."""
        return [config.env_count]

    def join(self, parts, factory):
        """``(collector, learner)`` of a run."""
        raise NotImplementedError


def spec_of(config):
    """The Spec of a run's environment, which is made to find out."""
    with closing(make_envs(config.env, 1, config.algorithm)) as envs:
        return Spec.of(envs)
