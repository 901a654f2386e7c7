"""n-step experiences from vectorised environments, as the replay memory stores them.

Every transition opens a window; a window closes after n rewards or when its episode ends.
``NStepCollector`` steps environments, and collects them.
"""

from collections.abc import Callable, Mapping
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
        self._scale, self._clip = np.float32(scale), np.inf if clip is None else clip
        self._powers = gamma ** np.arange(n + 1, dtype=np.float64)
        self._first = n * np.arange(env_count)  # the flat index of each environment's slot 0
        self._cursor = np.zeros(env_count, np.int64)
        # Windows: one index for environment and slot.
        count = env_count * n
        self._open, self._age = np.zeros(count, bool), np.zeros(count, np.int64)
        self._reward = np.zeros(count, np.float64)
        self._obs = np.zeros(count, self.dtype["obs"])
        self._action = np.zeros(count, self.dtype["action"])
        self._last_obs = np.zeros(env_count, self.dtype["obs"])

    @classmethod
    def of(cls, agent: Windowed, spec: Spec, env_count: int) -> "NStep":
        """The NStep by an agent's ``n_step``, ``gamma``, ``reward_scale`` and ``reward_clip``."""
        rewards = dict(scale=agent.reward_scale, clip=agent.reward_clip)
        return cls(env_count, agent.n_step, agent.gamma, spec, **rewards)

    def push(self, step: Transitions) -> NDArray[np.void]:
        """Takes one step of all environments; those where ``valid`` is False are left out. Returns
        the experiences that this step completes, records [experiences], possibly none: environment
        by environment, the oldest first in each."""
        valid, slot = step.valid, self._first + self._cursor
        every = bool(np.logical_and.reduce(valid))
        self._obs[slot], self._action[slot] = step.obs, step.action
        self._reward[slot], self._age[slot] = 0, 0
        if every:
            self._open[slot], active = True, self._open
            self._last_obs[...] = step.next_obs
        else:
            self._open[slot] |= valid
            active = self._open & np.repeat(valid, self.n)
            self._last_obs[valid] = step.next_obs[valid]
        reward = np.asarray(step.reward, np.float64)
        if self._clip < np.inf:
            reward = np.clip(reward, -self._clip, self._clip)
        gain = self._powers[self._age] * np.repeat(reward, self.n)
        np.add(self._reward, gain, out=self._reward, where=active)
        self._age += active
        ended = np.logical_or(step.terminated, step.truncated)
        self._cursor = (self._cursor + valid) % self.n
        if not np.logical_or.reduce(ended):
            # One window of an environment may be full: the oldest, at the cursor.
            oldest = self._first + self._cursor
            full = (self._age[oldest] == self.n) & self._open[oldest] & valid
            [env] = full.nonzero()
            return self._records(env, oldest[env])
        closing = active & ((self._age == self.n) | np.repeat(ended, self.n))
        return self._take(closing, np.asarray(step.terminated, bool))

    def flush(self) -> NDArray[np.void]:
        """Closes every open window as if its episode was truncated after the last step. Returns the
        experiences, records [experiences].

        It must be called before environments are reset, so that no experience is lost.
        """
        return self._take(self._open, np.zeros(len(self._first), bool))

    def _take(self, closing, terminated):
        # Columns are rotated, so that column 0 is the oldest window: the order is by environment,
        # then by age.
        order = self._first[:, None] + (self._cursor[:, None] + np.arange(self.n)) % self.n
        env, column = np.nonzero(closing[order])
        return self._records(env, order[env, column], terminated)

    def _records(self, env, slot, terminated=None):
        """Closes the windows ``slot`` of the environments ``env``; returns their experiences."""
        records = np.zeros(len(env), self.dtype)
        self._open[slot] = False
        records["obs"] = self._obs[slot]
        records["next_obs"] = self._last_obs[env]
        records["action"] = self._action[slot]
        records["reward"] = self._reward[slot].astype(np.float32) * self._scale
        discount = self._powers[self._age[slot]]
        if terminated is not None:
            discount = np.where(terminated[env], 0, discount)
        records["discount"] = discount
        return records

    @property
    def _state(self):
        """The memory as views, those of windows [environments, n, ...]."""
        views = dict(cursor=self._cursor)
        for name in ("open", "age", "reward", "obs", "action"):
            flat = getattr(self, f"_{name}")
            views[name] = flat.reshape(len(self._first), self.n, *flat.shape[1:])
        return views | dict(last_obs=self._last_obs)

    def state_dict(self) -> dict[str, object]:
        return {name: view.copy() for name, view in self._state.items()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        for name, mine in self._state.items():
            theirs = np.asarray(state[name])
            if mine.shape != theirs.shape:
                raise UsageError(f"{name} must be {list(mine.shape)}, not {list(theirs.shape)}")
            mine[...] = theirs


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
