"""An environment and an on-policy algorithm whose every number is known: what rollouts are tested
with, without torch."""

from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import numpy as np

from host.advantages.ppo import PPO
from host.algorithms.policy import Policy

__all__ = ["NAME", "WALKER", "Corridor", "Counter", "Walker", "value_of"]

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


class Walker(Policy):
    """Goes too far now and then. Has what a PPO policy shows."""

    def make_networks(self, rng):
        return {"walker": SimpleNamespace(parameters=np.zeros(1))}

    def sample(self, obs):
        action = self.rng.normal(0, 1, (len(obs), self.spec.action_count)).astype(np.float32)
        return obs, action, action.sum(axis=1), value_of(obs)

    def applied(self, action):
        return np.clip(action, -1, 1)

    def value(self, obs):
        return value_of(obs)

    def act(self, obs, *, greedy=False, steps=0):
        assert greedy
        return np.full((len(obs), self.spec.action_count), 0.5, np.float32)


class Counter:
    """Learns by counting; keeps what it was given."""

    def __init__(self, policy, *, seed, device):
        self.policy, self.learned = policy, []

    def update(self, batch, clock):
        self.learned.append(batch)
        clock.updates += 1
        self.policy.networks["walker"].parameters += float(batch["return"].mean())
        return {"loss": 2.0 * clock.updates, "explained_variance": None}

    def state_dict(self):
        return {"learned": len(self.learned)}

    def load_state_dict(self, state):
        self.learned = [None] * state["learned"]


WALKER = replace(PPO, policy=Walker, updater=Counter)
