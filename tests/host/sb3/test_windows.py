"""Experiences of several steps, compared with stable-baselines3's own."""

import copy

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common import buffers
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from tests.host.sb3.test_card_buffer import BOX, equal, filled, made, pick


@pytest.mark.skipif(not hasattr(buffers, "NStepReplayBuffer"), reason="2.6 has no such buffer")
@pytest.mark.parametrize("n_steps", [2, 3, 7])
def test_rewards_of_several_steps_are_the_library_s(n_steps, monkeypatch):
    normalized = VecNormalize(make_vec_env("CartPole-v1", 2), clip_reward=0.7)
    normalized.normalize_obs = lambda obs: obs
    normalized.ret_rms.var = np.float64(2.5)
    options = dict(size=80, env_count=2, n_steps=n_steps, gamma=0.9)
    mine = filled(made(**options))
    theirs = filled(made(kind=buffers.NStepReplayBuffer, **options))
    # In the order in which windows close; the rest are open.
    stored = mine.memory.get_all_transitions()
    assert len(stored["action"]) == 2 * 30 - int(mine._windows._open.sum()) < 60
    for row in range(len(stored["action"])):
        [where] = np.argwhere((theirs.actions == stored["action"][row]).all(-1))
        pick(monkeypatch, where[1])
        wanted = theirs._get_samples(where[:1], normalized)
        batch = {name: values[[row]] for name, values in stored.items()}
        batch |= {"weights": np.ones(1, np.float32), "indexes": np.array([row])}
        equal(mine._samples(batch, normalized)._replace(), wanted)


def test_a_reset_closes_windows():
    buffer = made(n_steps=4, gamma=0.5)
    for at, reward in ((0, 1.0), (1, 2.0), (7, 4.0)):  # 7 does not follow 2
        obs = np.full((1, 3), at)
        buffer.add(obs, obs + 1, np.zeros((1, 2)), np.array([reward]), np.zeros(1), [{}])
    found = buffer.memory.get_all_transitions()
    assert found["next_observation/"][:, 0].tolist() == [2, 2]
    assert found["length"][:, 0].tolist() == [2, 1]
    assert found["reward"][:, :2].tolist() == [[1, 2], [2, 0]]
    assert not found["done"].any()


def test_a_reset_of_one_environment_closes_its_windows():
    """Any part of its observation may tell; another environment goes on."""
    space = spaces.Dict({"a": BOX, "b": BOX, "c": BOX})
    for key in space:
        buffer = made(space=space, env_count=2, n_steps=3, gamma=0.5)
        obs = {each: np.zeros((2, 3)) for each in space}
        for _ in range(2):
            buffer.add(obs, obs, np.zeros((2, 2)), np.array([1.0, 2.0]), np.zeros(2), [{}] * 2)
            obs = copy.deepcopy(obs)
            obs[key][1, 2] = 5
        found = buffer.memory.get_all_transitions()
        assert found["reward"].tolist() == [[2, 0, 0]] and found["length"].tolist() == [[1]]
        assert not found[f"observation/{key}"].any() and buffer.size() == 0


def test_the_largest_number_of_steps():
    buffer = made(size=300, n_steps=256)
    for at in range(259):
        obs = np.full((1, 3), at)
        buffer.add(obs, obs + 1, np.zeros((1, 2)), np.array([at]), np.zeros(1), [{}])
    found = buffer.memory.get_all_transitions()
    assert found["reward"].tolist() == [list(range(first, first + 256)) for first in range(4)]
    assert found["next_observation/"][:, 0].tolist() == [256, 257, 258, 259]
    assert set(found["length"][:, 0]) == {256} and buffer.size() == 4
