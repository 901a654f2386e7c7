"""An environment and an on-policy agent whose every number is known: what rollouts are tested with,
without torch."""

import gymnasium
import numpy as np

from host.algorithms.agent import Agent
from host.algorithms.ppo_config import PPOConfig

__all__ = ["NAME", "Corridor", "Walker", "value_of"]

NAME = "rlfabric-tests/Corridor-v0"


class Corridor(gymnasium.Env):
    """Observes (episode, time). Episode e ends after 3 + e % 3 steps: in turn by termination, by
    truncation, and by both at once. The reward is the applied action's first component, plus 1."""

    observation_space = gymnasium.spaces.Box(-1e6, 1e6, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self):
        self.episode = -1

    def _obs(self):
        return np.array([self.episode, self.time], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.time = self.episode + 1, 0
        return self._obs(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.time += 1
        turn = self.episode % 3
        end = self.time == 3 + turn
        return self._obs(), 1 + float(action[0]), end and turn != 1, end and turn != 0, {}


gymnasium.register(NAME, entry_point=Corridor)


def value_of(obs):
    """What a Walker's critic says of observations [..., 2]."""
    return (100 * obs[..., 0] + obs[..., 1]).astype(np.float32)


class Walker(Agent):
    """Goes too far now and then; learns by counting. Has what a PPO agent shows."""

    CONFIG = PPOConfig

    def __init__(self, config, *, seed, discrete, **sizes):
        super().__init__(config, **sizes)
        self.discrete, self.rng = discrete, np.random.default_rng(seed)
        self.weight, self.learned = np.zeros(1), []

    @property
    def sizes(self):
        return super().sizes | {"discrete": self.discrete}

    def sample(self, obs):
        self.steps += len(obs)
        action = self.rng.normal(0, 1, (len(obs), self.action_count)).astype(np.float32)
        return obs, action, action.sum(axis=1), value_of(obs)

    def applied(self, action):
        return np.clip(action, -1, 1)

    def value(self, obs):
        return value_of(obs)

    def act(self, obs, *, greedy=False):
        assert greedy
        return np.full((len(obs), self.action_count), 0.5, np.float32)

    def learn(self, rollout, advantages, returns):
        self.learned.append((rollout, advantages, returns))
        self.updates += 1
        self.weight += float(returns.mean())
        return {"loss": 2.0 * self.updates, "explained_variance": None}

    @property
    def parameters(self):
        return {"weight": self.weight}

    def load_parameters(self, parameters):
        self.weight[...] = parameters["weight"]

    def state_dict(self):
        rng = self.rng.bit_generator.state
        weight = self.weight.copy()
        return {"rng": rng, "weight": weight, "steps": self.steps, "updates": self.updates}

    def load_state_dict(self, state):
        self.rng.bit_generator.state, self.weight[...] = state["rng"], state["weight"]
        self.steps, self.updates = state["steps"], state["updates"]
