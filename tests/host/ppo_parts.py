"""A small PPO agent and a rollout that it acted in, for the tests of ppo."""

from dataclasses import replace

import numpy as np

from tests.host import agent_parts

__all__ = ["make", "make_rollout", "parameters"]


def make(seed=1, discrete=True, **config):
    spec = replace(agent_parts.DISCRETE, discrete=discrete, action_count=2)
    return agent_parts.make("ppo", spec, seed, **{"hidden": (8, 6), "batch_size": 64, **config})


def make_rollout(agent, seed=2, shape=(16, 4)):
    """What an update takes: observations that ``agent`` acted on, with any advantages."""
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(*shape, 3)).astype(np.float32)
    parts = [np.stack(x) for x in zip(*map(agent.policy.sample, obs), strict=True)]
    batch = dict(zip(("obs", "action", "log_probability", "value"), parts, strict=True))
    advantage = rng.normal(0.3, 2, shape).astype(np.float32)
    return batch | {"advantage": advantage, "return": batch["value"] + advantage}


def parameters(agent):
    """All weights, of actor and critic: the network's own, not a copy."""
    return agent.policy.networks["actor_critic"].parameters
