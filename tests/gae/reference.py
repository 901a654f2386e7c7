"""Advantages as the papers define them, in float64: each a sum over its future, no recursion."""

import numpy as np

__all__ = ["advantages", "rollout"]


def advantages(rewards, values, terminated, truncated, bootstraps, *, gamma, gae_lambda):
    """``A_t = sum_l (gamma * lambda)^l delta_{t+l}`` up to the end of the episode or rollout
    (Schulman et al. 2016, equation 16; HEPPO, equation 3); arrays [steps, environments]."""
    steps, environments = rewards.shape
    result = np.zeros((steps, environments))
    decay = gamma * gae_lambda
    for n in range(environments):
        begin = 0
        for t in range(steps):
            if not (terminated[t, n] or truncated[t, n] or t == steps - 1):
                continue
            following = np.append(values[begin + 1 : t + 1, n], bootstraps[t, n])
            if terminated[t, n]:
                following[-1] = 0
            own = slice(begin, t + 1)
            deltas = rewards[own, n] + gamma * following - values[own, n]
            for k in range(t + 1 - begin):
                weights = decay ** np.arange(len(deltas) - k)
                result[begin + k, n] = (weights * deltas[k:]).sum()
            begin = t + 1
    return result


def rollout(rng, steps, environments, *, ends=0.05, scale=1.0):
    """Random arguments of ``advantages``, float32 and bool."""
    shape = (steps, environments)
    rewards, values, bootstraps = (
        (scale * rng.normal(0.3, 1, shape)).astype(np.float32) for _ in range(3)
    )
    terminated, truncated = rng.random((2, *shape)) < ends
    return rewards, values, terminated, truncated, bootstraps
