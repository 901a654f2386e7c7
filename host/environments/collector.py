"""Collectors step environments by a policy, and make experience of the steps."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from host.environments.environment import Actor
from host.phases import Phases

__all__ = ["Acts", "Collector", "Counts", "Episodes", "SteppingCollector"]

#: ``(return, length)`` of each episode that ended.
Episodes: TypeAlias = list[tuple[float, int]]


class Acts(Protocol):
    """What acts: a ``host.algorithms.policy.Policy``, or an object that stands for one."""

    def act(
        self, obs: NDArray[np.generic], *, greedy: bool = False, steps: int = 0
    ) -> NDArray[np.generic]: ...

    def ended(self, which: NDArray[np.bool_]) -> None: ...


class Counts(Protocol):
    """What counts environment steps: a ``host.algorithms.config.Clock``."""

    steps: int


class Collector:
    """Makes experience for a run. A subclass has ``collect(policy, clock)``, whose policy may be an
    object that acts as one (``Learner.actor``). It returns the experience of one launch, and a list
    with the ``(return, length)`` of every episode that ended. It adds the environment steps that
    this experience took to ``clock.steps``.

    Attributes
    ----------
    columns : tuple of str
        Columns of progress.csv that ``progress`` returns.
    promising : bool
        Whether the returns of the last ``collect`` ask for an evaluation ahead of time.
    """

    columns: tuple[str, ...] = ()
    promising = False

    def restart(self, seed: int) -> None:
        """Resets all environments: environment i begins a new episode with seed ``seed + i``. A
        resumed run needs this, since gymnasium's environments cannot be saved."""
        raise NotImplementedError

    def progress(self) -> dict[str, float | None]:
        """Column -> present number, or the mean since the call before."""
        return {}

    def state_dict(self) -> dict[str, object]:
        """The collector's data of episodes under way."""
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continues a saved state, after ``restart``."""

    def stop(self) -> None:
        """Called when a signal asks the run to end: a ``collect`` that takes long may end sooner
        then. By default nothing happens."""

    def close(self) -> None:
        """Closes the environments."""
        raise NotImplementedError


class SteppingCollector(Collector):
    """Steps environments of its own.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        The environments to step.
    steps : int
        Steps of each environment in a collection.
    seed : int
        Seed of environment 0; environment i gets seed + i.
    phases : Phases, optional
        Counts the collector's time.
    """

    def __init__(
        self, envs: VectorEnv, steps: int, *, seed: int, phases: Phases | None = None
    ) -> None:
        self.envs, self.steps, self.phases = envs, steps, phases or Phases()
        self._actor = Actor(envs, seed=seed)

    def _step(self, policy, action, clock):
        """Applies ``action``; returns the Transitions, and the episodes that ended."""
        with self.phases("environments"):
            taken, episodes = self._actor.step(action)
            clock.steps += len(taken.reward)
            if episodes:
                policy.ended(taken.terminated | taken.truncated)
        return taken, episodes

    def restart(self, seed: int) -> None:
        self._actor = Actor(self.envs, seed=seed)

    def close(self) -> None:
        self.envs.close()
