"""What an on-policy agent learns from once: some steps of every environment, by one policy."""

from dataclasses import dataclass

import numpy as np

from host.collect.collector import Collector

__all__ = ["Rollout", "RolloutCollector"]


@dataclass(frozen=True)
class Rollout:
    """Arrays [steps, envs, ...], in the order of time.

    ``obs`` is what the networks saw, normalized where the agent does so. ``action`` and its
    ``log_probability`` are as sampled; what was applied may be clipped. ``value`` is the critic's
    of ``obs``. ``bootstrap`` is its value of what the action led to, also where the environment has
    been reset since: where an episode was truncated, and in the last step where it goes on; 0
    elsewhere.
    """

    obs: np.ndarray
    action: np.ndarray
    log_probability: np.ndarray
    value: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    bootstrap: np.ndarray


class RolloutCollector(Collector):
    """For an on-policy agent: a Rollout by one policy, which has ``sample``, ``applied`` and
    ``value`` (``host.algorithms.ppo.PPOPolicy``); environments are in autoreset mode SAME_STEP."""

    def collect(self, policy, clock):
        """``steps_per_launch`` steps of every environment: ``(Rollout, episodes)``."""
        columns, followers, episodes = {}, [], []
        count = self.config.steps_per_launch
        for step in range(count):
            with self.phases("policy"):
                seen, action, log_probability, value = policy.sample(self._actor.obs)
            taken, ended = self._step(policy, policy.applied(action), clock)
            episodes += ended
            follows = taken.truncated & ~taken.terminated
            if step == count - 1:
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
