"""Advantages in float64: what PPO is tested with where no card is needed.

Same surface as the card's estimator; rewards and values as they are, or with rewards standardized
by all rewards so far (dynamic).
"""

from types import SimpleNamespace

import numpy as np

from host.cards.kernel import Flight


class FakeEstimator:
    """``A_t = r_t + gamma V_{t+1} - V_t + gamma lambda A_{t+1}``: the value of what followed is 0
    where terminated, a bootstrap where truncated or cut off, and nothing follows either."""

    device_cycles = None

    def __init__(self, dynamic=False):
        self.dynamic, self.closed = dynamic, False
        self.launcher = SimpleNamespace(kernel=SimpleNamespace(flight=Flight()))
        self.count = self.sum = self.squares = 0.0

    def estimate(self, rewards, values, terminated, truncated, bootstraps, *, gamma, gae_lambda):
        for name, array in (("rewards", rewards), ("values", values), ("bootstraps", bootstraps)):
            if array.dtype != np.float32 or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite float32")
        rewards, values = rewards.astype(np.float64), values.astype(np.float64)
        statistics = dict.fromkeys(("reward_mean", "reward_deviation"))
        if self.dynamic:
            self.count += rewards.size
            self.sum += rewards.sum()
            self.squares += (rewards**2).sum()
            mean = self.sum / self.count
            deviation = np.sqrt(self.squares / self.count - mean**2)
            rewards = (rewards - mean) / deviation
            statistics = {"reward_mean": mean, "reward_deviation": deviation}
        ended = terminated | truncated
        ended[-1] = True
        advantages, advantage = np.zeros_like(values), 0.0
        following = values[-1]
        for t in reversed(range(len(values))):
            following = np.where(ended[t], np.where(terminated[t], 0, bootstraps[t]), following)
            delta = rewards[t] + gamma * following - values[t]
            advantage = delta + np.where(ended[t], 0, gamma * gae_lambda * advantage)
            advantages[t], following = advantage, values[t]
        seen = {"value_mean": values.mean(), "value_deviation": values.std()}
        return SimpleNamespace(
            advantages=advantages.astype(np.float32),
            returns=(advantages + values).astype(np.float32),
            statistics=statistics | seen | {"clipped": 0.0, "saturated": 0.0},
        )

    def state_dict(self):
        return {"count": self.count, "sum": self.sum, "squares": self.squares}

    def load_state_dict(self, state):
        for name, value in state.items():
            setattr(self, name, value)

    def close(self):
        self.closed = True
