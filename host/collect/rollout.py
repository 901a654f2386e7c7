"""What an on-policy agent learns from once: some steps of every environment, by one policy."""

from dataclasses import dataclass

import numpy as np

from host.phases import Phases

__all__ = ["Rollout", "collect"]


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


def collect(actor, agent, steps, phases=None):
    """Step ``actor``, whose environments are in autoreset mode SAME_STEP, ``steps`` times; what it
    takes is counted in ``phases`` (``host.phases``).

    Returns
    -------
    Rollout
    episodes : list of (float, int)
        Return and length of each episode that ended.
    """
    phases = phases or Phases()
    columns, followers, episodes = {}, [], []
    for step in range(steps):
        with phases("policy"):
            seen, action, log_probability, value = agent.sample(actor.obs)
        with phases("environments"):
            taken, ended = actor.step(agent.applied(action))
        episodes += ended
        follows = taken.truncated & ~taken.terminated
        if step == steps - 1:
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
    with phases("packing"):
        arrays = {name: np.stack(parts) for name, parts in columns.items()}
        follows = np.stack([where for where, _ in followers])
        bootstrap = np.zeros(follows.shape, np.float32)
    if follows.any():
        with phases("policy"):
            bootstrap[follows] = agent.value(np.concatenate([obs for _, obs in followers]))
    return Rollout(**arrays, bootstrap=bootstrap), episodes
