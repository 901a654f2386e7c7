"""Collectors step environments by a policy, and make experience of the steps."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from host.collect.environment import Actor
from host.collect.nstep import NStep
from host.phases import Phases

__all__ = ["Acts", "Collected", "Collector", "Counts", "Episodes", "NStepCollector"]
__all__ += ["SteppingCollector", "stored"]

#: ``(return, length)`` of each episode that ended.
Episodes: TypeAlias = list[tuple[float, int]]
#: Experiences as records [n], or ``{"records": [n], "td_errors": float32 [n]}``.
Collected: TypeAlias = NDArray[np.void] | dict[str, NDArray[np.generic]]


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
    """

    columns: tuple[str, ...] = ()

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


class NStepCollector(SteppingCollector):
    """Collects records of n-step experiences for a replay memory.

    ``windows``, an NStep, makes experiences of the steps. ``td_errors``, if it is given, computes
    the TD errors of records [n] for their first priorities (``Policy.td_errors``). Other arguments
    are as for SteppingCollector.
    """

    def __init__(
        self,
        envs: VectorEnv,
        steps: int,
        *,
        windows: NStep,
        seed: int,
        td_errors: Callable[[NDArray[np.void]], NDArray[np.float32]] | None = None,
        phases: Phases | None = None,
    ) -> None:
        super().__init__(envs, steps, seed=seed, phases=phases)
        self._windows, self._broken_off, self._td_errors = windows, False, td_errors

    def collect(self, policy: Acts, clock: Counts) -> tuple[Collected, Episodes]:
        """Takes ``steps`` steps of every environment. Returns ``(experiences, episodes)``: the
        experiences that were completed, as records or, with ``td_errors``, as a dict; and
        ``(return, length)`` of each episode that ended."""
        parts, episodes = [self._windows.flush()] if self._broken_off else [], []
        self._broken_off = False
        for _ in range(self.steps):
            with self.phases("policy"):
                action = policy.act(self._actor.obs, steps=clock.steps)
            taken, ended = self._step(policy, action, clock)
            episodes += ended
            with self.phases("packing"):
                parts.append(self._windows.push(taken))
        with self.phases("packing"):
            records = _joined(parts)
        if self._td_errors is None:
            return records, episodes
        # The replay memory refuses TD errors that are not finite.
        with self.phases("policy"), np.errstate(over="ignore", invalid="ignore"):
            return {"records": records, "td_errors": self._td_errors(records)}, episodes

    def state_dict(self) -> dict[str, object]:
        return {"windows": self._windows.state_dict()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continues a saved state. The episodes that were under way count as truncated; the next
        ``collect`` returns their last experiences first."""
        self._windows.load_state_dict(state["windows"])
        self._broken_off = True


def stored(
    collected: Collected | None,
) -> tuple[NDArray[np.void] | None, dict[str, NDArray[np.generic]]]:
    """``(records, options)`` of a collection, as ``step`` and ``learn`` of a replay memory take
    them; ``options`` is ``{"td_errors": ...}``, or empty without TD errors."""
    if not isinstance(collected, dict) or "td_errors" not in collected:
        return collected, {}
    options = dict(collected)
    return options.pop("records"), options


def _joined(parts):
    """The records of all parts in one array; padding bytes between fields are copied too."""
    if len(parts) == 1:
        return parts[0]
    dtype = parts[0].dtype
    return np.concatenate([part.view(f"V{dtype.itemsize}") for part in parts]).view(dtype)
