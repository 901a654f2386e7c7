"""A small PPO agent and a rollout that it acted in, for the tests of ppo."""

import numpy as np

from host.algorithms.ppo_config import PPOConfig
from host.collect.rollout import Rollout

__all__ = ["make", "make_rollout", "parameters", "require_torch"]


def require_torch():
    """The module, or AssertionError."""
    try:
        import torch
    except ImportError as error:
        raise AssertionError(
            f"torch must be installed for this test (pip install -e '.[torch]'): {error}"
        ) from error
    return torch


def make(seed=1, discrete=True, **config):
    from host.algorithms.ppo import PPO

    config = PPOConfig(**{"hidden": (8, 6), "batch_size": 64, **config})
    return PPO(config, seed=seed, discrete=discrete, observation_size=3, action_count=2)


def make_rollout(agent, seed=2, shape=(16, 4)):
    """``(rollout, advantages, returns)`` of observations that ``agent`` acted on."""
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(*shape, 3)).astype(np.float32)
    parts = [np.stack(x) for x in zip(*map(agent.sample, obs), strict=True)]
    seen, action, log_probability, value = parts
    empty = np.zeros(shape, np.float32)
    rollout = Rollout(seen, action, log_probability, value, empty, empty > 0, empty > 0, empty)
    advantages = rng.normal(0.3, 2, shape).astype(np.float32)
    return rollout, advantages, value + advantages


def parameters(agent):
    return np.concatenate([array.ravel() for array in agent.parameters.values()])
