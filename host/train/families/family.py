"""What a family of algorithms is to a run: those that learn from the same kind of experience."""

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
    """What every run is made of; a family joins the rest to it.

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
    """One for each kind of experience (``Algorithm.learns_from``).

    Attributes
    ----------
    called : dict
        Field of the kernel that ``kernel_values`` gives -> the run's field that it is of, where
        that has another name.
    """

    called = {}

    def design(self, config):
        """Name of the design whose kernel a run needs; None: it needs no card."""
        raise NotImplementedError

    def kernel_values(self, config, spec=None):
        """Field -> value of what a run asks of the kernel that is generated for it; ``spec``, if it
        is known."""
        raise NotImplementedError

    def stored_bytes(self, config, spec, beat):
        """Bytes of card memory that grow with the run, in whole beats; None: no more than the
        kernel always has."""

    def factory(self, config, kernel):
        """What makes the card's side of a run, as ``join`` calls it; ``kernel`` is a loaded one, or
        None where the design is. ValueError for a kernel that is not this run's."""
        raise NotImplementedError

    def environments(self, config):
        """How many environments are stepped together, a number for each vector of them."""
        return [config.env_count]

    def join(self, parts, factory):
        """``(collector, learner)`` of a run."""
        raise NotImplementedError


def spec_of(config):
    """The Spec of a run's environment, which is made to find out."""
    with closing(make_envs(config.env, 1, config.algorithm)) as envs:
        return Spec.of(envs)
