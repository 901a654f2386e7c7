"""Rollouts: steps of every environment by one policy. An on-policy agent learns from one rollout,
in several epochs of minibatches, and drops it before the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from host.environments.collector import Counts, Episodes, SteppingCollector

__all__ = ["Rollout", "RolloutCollector", "Samples"]


class Samples(Protocol):
    """The policy of an on-policy agent: a ``host.advantages.ppo.PPOPolicy``."""

    def sample(self, obs: NDArray[np.generic]) -> tuple[NDArray[np.generic], ...]: ...

    def applied(self, action: NDArray[np.generic]) -> NDArray[np.generic]: ...

    def value(self, obs: NDArray[np.generic]) -> NDArray[np.float32]: ...

    def ended(self, which: NDArray[np.bool_]) -> None: ...


@dataclass(frozen=True)
class Rollout:
    """Steps of all environments by one policy: arrays [steps, envs, ...], in the order of time.

    ``obs`` are the networks' inputs, normalized if the agent does so. ``action`` and its
    ``log_probability`` are as sampled; the applied action may be clipped. ``value`` is the critic's
    value of ``obs``. ``reward``, ``terminated`` and ``truncated`` are what the environment gave for
    the step.

    ``bootstrap`` is the critic's value of the observation after the action, even if the environment
    has been reset since. It is given if the step truncates an episode, and in the last step if the
    episode does not terminate there; elsewhere it is 0.
    """

    obs: np.ndarray
    action: np.ndarray
    log_probability: np.ndarray
    value: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    bootstrap: np.ndarray

    @classmethod
    def joined(cls, parts: "Sequence[Rollout]") -> "Rollout":
        """The Rollout of the environments of all ``parts``, Rollouts of equally many steps."""
        names = (each.name for each in fields(cls))
        columns = {name: [getattr(part, name) for part in parts] for name in names}
        return cls(**{name: np.concatenate(each, axis=1) for name, each in columns.items()})

    def batch(
        self, advantages: NDArray[np.float32], returns: NDArray[np.float32]
    ) -> dict[str, NDArray[np.generic]]:
        """What an agent learns from (``host.advantages.ppo.PPOUpdater.update``): ``obs``,
        ``action``, ``log_probability``, ``value``, ``advantage``, ``return``, each [steps, envs,
        ...]."""
        own = {name: getattr(self, name) for name in ("obs", "action", "log_probability", "value")}
        return own | {"advantage": advantages, "return": returns}


class RolloutCollector(SteppingCollector):
    """Collects Rollouts for an on-policy agent. Its policy must have ``sample``, ``applied`` and
    ``value``, as ``host.advantages.ppo.PPOPolicy`` has; its environments must have autoreset mode
    SAME_STEP."""

    def collect(self, policy: Samples, clock: Counts) -> tuple[Rollout, Episodes]:
        """Takes ``steps`` steps of every environment. Returns ``(Rollout, episodes)``;
        episodes are ``(return, length)`` of those that ended."""
        columns, followers, episodes = {}, [], []
        for step in range(self.steps):
            with self.phases("policy"):
                seen, action, log_probability, value = policy.sample(self._actor.obs)
            taken, ended = self._step(policy, policy.applied(action), clock)
            episodes += ended
            follows = taken.truncated & ~taken.terminated
            if step == self.steps - 1:
                follows = ~taken.terminated
            followers.append((follows, taken.next_obs[follows]))
            row = dict(
                obs=seen,
                action=action,
                log_probability=log_probability,
                value=value,
                reward=taken.reward.astype(np.float32),
                terminated=taken.terminated,
                truncated=taken.truncated,
            )
            for name, array in row.items():
                columns.setdefault(name, []).append(array)
        with self.phases("packing"):
            arrays = {name: np.stack(parts) for name, parts in columns.items()}
            follows = np.stack([where for where, _ in followers])
            bootstrap = np.zeros(follows.shape, np.float32)
        if follows.any():
            with self.phases("policy"):
                bootstrap[follows] = policy.value(np.concatenate([obs for _, obs in followers]))
        return Rollout(**arrays, bootstrap=bootstrap), episodes
