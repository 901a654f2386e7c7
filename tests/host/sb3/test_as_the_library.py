"""With alpha = beta = 0 and the same draws, losses and weights are stable-baselines3's own."""

import copy

import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, SAC, TD3
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecNormalize

from rlfabric.sb3 import PrioritizedDQN, PrioritizedSAC, PrioritizedTD3


class Normed(BaseFeaturesExtractor):
    """Batch normalization: its statistics depend on the mode of training, and targets copy them."""

    def __init__(self, space):
        super().__init__(space, space.shape[0])
        self.norm = torch.nn.BatchNorm1d(space.shape[0])

    def forward(self, observations):
        return self.norm(observations)


#: of which 60 are without learning
_STEPS = 160
_OPTIONS = dict(
    buffer_size=120,  # it wraps
    learning_starts=60,
    learning_rate=lambda left: 2e-3 * left,
    gamma=0.97,
    policy_kwargs=dict(net_arch=[32, 32], features_extractor_class=Normed),
    seed=3,
    device="cpu",
)
CASES = {
    "dqn": (PrioritizedDQN, DQN, "CartPole-v1", 1, dict(batch_size=32, target_update_interval=50)),
    "td3": (PrioritizedTD3, TD3, "Pendulum-v1", 1, dict(batch_size=64, train_freq=2, tau=0.02)),
    "sac": (
        PrioritizedSAC,
        SAC,
        "Pendulum-v1",
        1,
        dict(
            batch_size=64,
            train_freq=4,
            gradient_steps=3,
            target_update_interval=2,
            ent_coef="auto_0.3",
        ),
    ),
    "two environments": (PrioritizedSAC, SAC, "Pendulum-v1", 2, dict(batch_size=32)),
    "several steps": (PrioritizedDQN, DQN, "CartPole-v1", 1, dict(gradient_steps=3, batch_size=32)),
    "sde": (PrioritizedSAC, SAC, "Pendulum-v1", 1, dict(batch_size=32, use_sde=True, ent_coef=0.2)),
}
QUICK = ("dqn", "td3", "sac")


class Kept(Logger):
    """Keeps all numbers of gradient steps."""

    def __init__(self):
        super().__init__(None, [])
        self.numbers = []

    def record(self, key, value, exclude=None):
        if key.startswith("train/"):
            self.numbers.append((key, float(value)))


class Told(ReplayBuffer):
    """Draws what it is told to."""

    draws = ()

    def sample(self, batch_size, env=None):
        rows, env_rows = np.divmod(self.draws.pop(0), self.n_envs)
        assert len(rows) == batch_size
        state = np.random.get_state()
        np_randint, np.random.randint = np.random.randint, lambda *_, **__: env_rows
        try:
            return self._get_samples(rows, env)
        finally:
            np.random.randint = np_randint
            np.random.set_state(state)


def learned(cls, env, env_count, options, **more):
    torch.set_num_threads(1)
    envs = VecNormalize(make_vec_env(env, env_count, seed=5), clip_obs=1.5, clip_reward=0.5)
    model = cls("MlpPolicy", envs, **copy.deepcopy(_OPTIONS | options), **more)
    model.set_logger(Kept())
    return model


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in CASES],
)
def test_losses_and_weights(name):
    ours, theirs, env, env_count, options = CASES[name]
    kwargs = dict(replay_buffer_kwargs=dict(alpha=0.0, beta=0.0, seed=1))
    mine = learned(ours, env, env_count, options, **kwargs)
    draws, draw = [], mine.replay_buffer.sample_prioritized

    def drawn(*arguments):
        batch = draw(*arguments)
        assert (batch.weights == 1).all()
        draws.append(batch.indexes)
        return batch

    mine.replay_buffer.sample_prioritized = drawn
    mine.learn(_STEPS)
    library = learned(theirs, env, env_count, options, replay_buffer_class=Told)
    library.replay_buffer.draws = list(draws)
    library.learn(_STEPS)
    assert len(draws) > 20 and not library.replay_buffer.draws
    (keys, one), (theirs, other) = (zip(*m.logger.numbers, strict=True) for m in (mine, library))
    assert keys == theirs and {"train/learning_rate", "train/n_updates"} < set(keys)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    own, other = (m.policy.state_dict() for m in (mine, library))
    for key, tensor in own.items():
        np.testing.assert_allclose(tensor.numpy(), other[key].numpy(), rtol=0, atol=1e-6)
    assert mine.num_timesteps == library.num_timesteps
