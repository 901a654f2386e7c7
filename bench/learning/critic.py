"""Measures what a critic has learned: its loss on the same experiences, before and after the run.

The loss that a run logs may rise while its critic learns: a policy that finds more rewards makes
returns larger, and so their errors.
"""

from contextlib import closing
from pathlib import Path

import numpy as np

from host.agents.policy_file import load_policy
from host.environments.environment import Actor, make_envs
from host.environments.spec import Spec
from host.runs.blas_threads import single_threaded
from host.runs.session import Seeds

__all__ = ["critic_losses", "returns"]

#: Environments, steps of each, and how many of the last steps may have an unknown return.
_ENVS, _STEPS, _UNKNOWN = 4, 600, 100

#: Seed of the episodes.
_SEED = 1 << 20


def critic_losses(config, folder):
    """``[before, after]``: a critic's mean loss ``(R - V)**2`` with the first weights of a run of
    ``config``, and with those of the best policy in the run's ``folder``, on the same experiences.

    V is the critic's value of a state. The experiences are those of the best policy with the
    exploration of training.

    R is the discounted sum of rewards, clipped as in training, to the end of the episode or of the
    600 steps that are played. Of the last 100 steps, only those count whose episode ends within
    them.
    """
    algorithm, agent = config.algorithm, config.agent
    policy, _ = load_policy(Path(folder) / "best.npz")
    values, rewards, ended = [], [], []
    with single_threaded(), closing(make_envs(config.env, _ENVS, algorithm)) as envs:
        weights, exploration, _ = Seeds(config.seed).agent
        first = algorithm.policy(agent, Spec.of(envs), weights=weights, exploration=exploration)
        actor = Actor(envs, seed=_SEED)
        for _ in range(_STEPS):
            outputs = policy.predict(actor.obs)
            values.append((first.predict(actor.obs)[:, -1], outputs[:, -1]))
            step, _ = actor.step(policy.choose(outputs))
            rewards.append(step.reward)
            ended.append(step.terminated | step.truncated)
    rewards, ended = np.array(rewards), np.array(ended)
    if agent.reward_clip is not None:
        rewards = np.clip(rewards, -agent.reward_clip, agent.reward_clip)
    wanted, known = returns(rewards, ended, agent.gamma)
    known[:-_UNKNOWN] = True
    errors = (wanted - np.array(values).transpose(1, 0, 2)) ** 2  # [2, steps, environments]
    return [float(of_one[known].mean()) for of_one in errors]


def returns(rewards, ended, gamma):
    """``(sums, known)``, both [steps, environments], of ``rewards`` of the same shape.

    ``sums`` has the discounted sum of rewards from each step to the end of its episode, or to the
    last step if the episode does not end. ``known`` says whether it ends. ``ended`` is true at the
    last step of an episode.
    """
    sums, known = np.zeros(rewards.shape), np.zeros(rewards.shape, bool)
    after, whole = np.zeros(rewards.shape[1]), np.zeros(rewards.shape[1], bool)
    for step in reversed(range(len(rewards))):
        after = rewards[step] + gamma * np.where(ended[step], 0, after)
        whole = whole | ended[step]
        sums[step], known[step] = after, whole
    return sums, known
