"""An algorithm that takes images as they are: from the environment through a session and the replay
memory of card ``model`` to its updater, every byte of them."""

import warnings
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from learner.modelled import opened
from replay.kernels import WIDE
from rich.console import Console

from host.agents.policy_file import load_policy
from host.agents.registry import ALGORITHMS
from host.algorithms.dqn import DQN
from host.algorithms.policy import Policy
from host.environments.environment import FlattenedImages
from host.environments.spec import Spec
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.runs.assembly import build
from host.runs.loop import train
from host.runs.replay_runs import OffPolicyConfig
from tests.host.strokes import NAME as STROKES

NAME, SHAPE = "rlfabric-tests/Screen-v0", (12, 12, 1)

#: bytes of an image -> ``(action, reward, bytes of the next one, terminated)``
shown = {}


class Screen(gymnasium.Env):
    """Noise, every image another; episodes of 4 steps, in turn terminated and truncated."""

    observation_space = gymnasium.spaces.Box(0, 255, SHAPE, np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def _look(self):
        self.image = self.np_random.integers(0, 256, SHAPE, np.uint8)
        return self.image

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.episode = 0, getattr(self, "episode", -1) + 1
        return self._look(), {}

    def step(self, action):
        before, reward = self.image.tobytes(), float(self.np_random.normal())
        self.time += 1
        terminated = self.time == 4 and self.episode % 2 == 0
        after = self._look()
        shown[before] = int(action), np.float32(reward), after.tobytes(), terminated
        return after, reward, terminated, self.time == 4 and not terminated, {}


gymnasium.register(NAME, entry_point=Screen)


class Looker(Policy):
    """Takes the brightness of some pixel for its action."""

    def make_networks(self, rng):
        return {"looker": SimpleNamespace(parameters=np.zeros(1, np.float32))}

    def act(self, obs, *, greedy=False, steps=0):
        assert obs.dtype == self.flat(obs).dtype == np.uint8 and obs.shape[1:] == SHAPE
        return obs[:, 3, 5, 0] % 3


class Watcher:
    """An updater that keeps the batches it was given."""

    def __init__(self, policy, *, seed, device):
        self.batches = []

    def inferred(self, policy):
        """The policy itself acts."""
        return policy

    def update(self, batch, clock):
        self.batches.append(batch)
        return np.ones(len(batch["action"]), np.float32), {"loss": 0.5}

    def state_dict(self):
        return {}


@pytest.fixture
def config(monkeypatch):
    looker = replace(DQN, name="looker", policy=Looker, updater=Watcher, images=True, kernel=None)
    monkeypatch.setitem(ALGORITHMS, "looker", looker)
    run = dict(algo="looker", env=NAME, env_count=3, steps=300, capacity=64, learning_starts=16)
    run |= dict(steps_per_launch=2, evaluation_interval_steps=150, evaluation_episodes=2)
    shown.clear()
    return OffPolicyConfig.from_dict(run | {"agent": dict(batch_size=16, n_step=1, gamma=0.5)})


def test_what_is_learned_from_is_what_was_seen(config):
    """Byte for byte, after the ring of 64 has wrapped as well."""
    with opened(WIDE, "replay") as kernel, warnings.catch_warnings():
        warnings.simplefilter("error", FlattenedImages)
        session = build(config, partial(PrioritizedReplayBuffer, kernel))
        assert session.policy.spec == Spec(SHAPE, "uint8", True, 3, exponent=-8)
        for _ in range(40):
            session.iterate()
        batches, buffer = session.learner.updater.batches, session.learner.buffer
        batches.append(buffer.sample(64))
        session.close()
    assert buffer.dtype["obs"].base == np.uint8 and len(buffer) == 64
    assert len(batches) > 30 and len(shown) > 3 * 64
    seen, discounts = set(), set()
    for batch in batches:
        assert batch["obs"].dtype == batch["next_obs"].dtype == np.uint8
        assert batch["obs"].shape == batch["next_obs"].shape == (len(batch["action"]), *SHAPE)
        for i, image in enumerate(batch["obs"]):
            action, reward, after, terminated = shown[image.tobytes()]
            assert batch["next_obs"][i].tobytes() == after
            assert (batch["action"][i], batch["reward"][i]) == (action, reward)
            assert batch["discount"][i] == (0 if terminated else 0.5)
            assert action == image[3, 5, 0] % 3
            seen.add(image.tobytes())
            discounts.add(float(batch["discount"][i]))
    assert len(seen) > 150 and discounts == {0, 0.5}


def test_a_resumed_run_draws_the_same_batch():
    """DQN's, from card ``model``'s memory: and learns the same from it."""
    run = dict(env=STROKES, env_count=3, capacity=64, learning_starts=16, evaluation_episodes=1)
    config = OffPolicyConfig.from_dict(run | {"agent": dict(hidden=[8], batch_size=16, n_step=2)})

    def next_of(session):
        update, batches = session.learner.updater.update, []
        session.learner.updater.update = lambda b, clock: batches.append(b) or update(b, clock)
        session.iterate()
        found = session.policy.parameters["q"].copy()
        session.close()
        return batches[0], found

    with opened(WIDE, "replay") as kernel:
        session = build(config, partial(PrioritizedReplayBuffer, kernel))
        for _ in range(40):
            session.iterate()
        state, before = session.state_dict(), session.policy.parameters["q"].copy()
        batch, weights = next_of(session)
    with opened(WIDE, "replay") as kernel:
        again = build(config, partial(PrioritizedReplayBuffer, kernel))
        again.load_state_dict(state)
        same, as_well = next_of(again)
    assert batch.keys() == same.keys() and batch["obs"].dtype == np.uint8 and batch["obs"].any()
    for name, array in batch.items():
        np.testing.assert_array_equal(same[name], array)
    np.testing.assert_array_equal(as_well, weights)
    assert not np.array_equal(weights, before)


def test_a_whole_run(config, tmp_path):
    """With evaluations, a policy in a file, and a summary."""
    with opened(WIDE, "replay") as kernel:
        factory = partial(PrioritizedReplayBuffer, kernel)
        result = train(config, factory, out=tmp_path, console=Console(quiet=True))
    assert result.exit_code == 0 and result.summary["mean_return"] is not None
    policy, info = load_policy(tmp_path / "best.npz")
    assert info["algo"] == "looker" and type(policy) is Looker
    assert policy.spec == Spec(SHAPE, "uint8", True, 3, exponent=-8)
