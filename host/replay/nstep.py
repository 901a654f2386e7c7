"""n-step experiences from vectorised environments, as the replay memory stores them.

Every transition opens a window; a window closes after n rewards or when its episode ends.
``NStepCollector`` steps environments, and collects them.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from host.environments.collector import Acts, Counts, Episodes, SteppingCollector
from host.environments.environment import Transitions
from host.environments.spec import Spec
from host.phases import Phases
from host.replay.experience import record_dtype
from hw.errors import UsageError

__all__ = ["Collected", "NStep", "NStepCollector", "Windowed", "stored"]


class Windowed(Protocol):
    """The config of an agent that learns from n-step experiences:
    ``host.algorithms.config.TemporalDifferenceConfig``."""

    n_step: int
    gamma: float
    reward_scale: float
    reward_clip: float | None


class NStep:
    """Makes n-step experiences of transitions: ``R = sum_{i<k} gamma^i r_i``, ``discount =
    gamma^k``, where k = n, or less if the episode ended first (Sutton and Barto, Reinforcement
    Learning, 2018, 7.1).

    The learner bootstraps ``R + discount Q(next_obs)``. If the episode terminated, the discount is
    0; a truncated episode (time limit) is bootstrapped from its final observation.

    Every step of an environment opens a window, in which its rewards are summed. A window closes
    after n steps or when the episode ends, and is then one experience.

    Parameters
    ----------
    env_count, n : int
        Environments; steps of a return.
    gamma : float
        Discount of a step.
    spec : Spec
        Observations and actions of an environment.
    scale : float
        Factor of rewards.
    clip : float, optional
        Each reward is clipped to ``-clip..clip`` before it is scaled.

    Attributes
    ----------
    dtype : dtype
        Of an experience's record: ``spec.fields``, padded to whole granules.
    """

    def __init__(
        self,
        env_count: int,
        n: int,
        gamma: float,
        spec: Spec,
        *,
        scale: float = 1.0,
        clip: float | None = None,
    ) -> None:
        for name, value in (("env_count", env_count), ("n", n)):
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} must be an integer of at least 1, not {value!r}")
        self.n, self.dtype = n, record_dtype(spec.fields)
        self._scale, self._clip = np.float32(scale), np.inf if clip is None else float(clip)
        # Products, which every processor rounds alike; NumPy's powers have other bits with AVX-512.
        self._powers = np.cumprod([1.0, *[gamma] * n])
        self._places = np.array([_bytes_of(self.dtype, name) for name in spec.fields])
        # Windows: one index for environment and slot; with observation and action as in records.
        count, size = env_count * n, self.dtype["obs"].itemsize
        self._windows = np.zeros((count, self.dtype.itemsize), np.uint8)
        self._open, self._age = np.zeros(count, bool), np.zeros(count, np.int64)
        self._reward = np.zeros(count, np.float64)
        self._cursor = np.zeros(env_count, np.int64)
        self._last = np.zeros((env_count, size), np.uint8)

    @classmethod
    def of(cls, agent: Windowed, spec: Spec, env_count: int) -> "NStep":
        """The NStep by an agent's ``n_step``, ``gamma``, ``reward_scale`` and ``reward_clip``."""
        rewards = dict(scale=agent.reward_scale, clip=agent.reward_clip)
        return cls(env_count, agent.n_step, agent.gamma, spec, **rewards)

    def push(self, step: Transitions) -> NDArray[np.void]:
        """Takes one step of all environments; those where ``valid`` is False are left out. Returns
        the experiences that this step completes, records [experiences], possibly none: environment
        by environment, the oldest first in each."""
        taken = np.empty(len(self._cursor), self.dtype)
        taken["obs"], taken["action"] = step.obs, step.action
        taken["next_obs"] = step.next_obs
        found = _loops().push(
            self._windows, taken.view(np.uint8).reshape(len(taken), -1), self._last, *self._sums,
            _array(step.reward, np.float64), _array(step.valid, bool),
            _array(step.terminated, bool), _array(step.truncated, bool), *self._returns,
        )  # fmt: skip
        return found.view(self.dtype).reshape(-1)

    def flush(self) -> NDArray[np.void]:
        """Closes every open window as if its episode was truncated after the last step. Returns the
        experiences, records [experiences].

        It must be called before environments are reset, so that no experience is lost.
        """
        ended = np.ones(len(self._cursor), bool)
        total = int(self._open.sum())
        found = _loops().close(
            self._windows, self._last, *self._sums, ended, ~ended, total, *self._returns
        )
        return found.view(self.dtype).reshape(-1)

    @property
    def _sums(self):
        return self._cursor, self._open, self._age, self._reward

    @property
    def _returns(self):
        return self._powers, self._scale, self._clip, self._places

    @property
    def _state(self):
        """The memory as views, windows [environments, n, ...]."""
        windows, count = self._windows.view(self.dtype)[:, 0], len(self._cursor)
        flat = dict(open=self._open, age=self._age, reward=self._reward)
        flat |= dict(obs=windows["obs"], action=windows["action"])
        views = {name: x.reshape(count, self.n, *x.shape[1:]) for name, x in flat.items()}
        base, shape = self.dtype["obs"].base, self.dtype["obs"].shape
        last = self._last.view(base).reshape(count, *shape)
        return dict(cursor=self._cursor) | views | dict(last_obs=last)

    def state_dict(self) -> dict[str, object]:
        return {name: view.copy() for name, view in self._state.items()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        for name, mine in self._state.items():
            theirs = np.asarray(state[name])
            if mine.shape != theirs.shape:
                raise UsageError(f"{name} must be {list(mine.shape)}, not {list(theirs.shape)}")
            mine[...] = theirs


@cache
def _loops():
    """The compiled functions. numba, which they take, is imported when the first step is."""
    from host.replay import window_loops

    return window_loops


def _bytes_of(dtype, name):
    begin = dtype.fields[name][1]
    return begin, begin + dtype[name].itemsize


def _array(values, dtype):
    """``values`` as the compiled functions know arrays."""
    if type(values) is np.ndarray and values.dtype == dtype and values.flags.carray:
        return values
    return np.array(values, dtype)


#: Experiences as records [n], or ``{"records": [n], "td_errors": float32 [n]}``.
Collected: TypeAlias = NDArray[np.void] | dict[str, NDArray[np.generic]]


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

    def restart(self, seed: int) -> None:
        """As the base class. The episodes that were under way count as truncated; the next
        ``collect`` returns their last experiences first."""
        super().restart(seed)
        self._broken_off = True

    def state_dict(self) -> dict[str, object]:
        return {"windows": self._windows.state_dict()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continues a saved state, after ``restart``."""
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
