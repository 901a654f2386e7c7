"""Rewards and values that are all equal have no deviation: CartPole's, Acrobot's, a sparse reward's
until there is one."""

import gymnasium
import numpy as np
import pytest
from gae.gae_programs import kernel_config
from gae.reference import advantages, rollout
from replay.kernels import opened

from host.advantages.estimator import AdvantageEstimator
from host.advantages.ppo import HEPPO
from host.advantages.standardization import Standardization

WORDS = kernel_config(rows=8, depth=64, code_width=32, result_width=32)
CODES = kernel_config(rows=8, depth=64, code_width=8, result_width=32)


@pytest.fixture
def estimator(request):
    config, ways = request.param
    with opened("model", config) as kernel:
        yield AdvantageEstimator(kernel, Standardization(**ways))


_NAMES = ("rewards", "values")
_WAYS = [
    (config, dict(rewards=rewards, values=values))
    for config in (WORDS, CODES)
    for rewards in ("dynamic", "block", "restored")
    for values in ("raw", "restored")
]


@pytest.mark.parametrize("estimator", _WAYS, indirect=True)
@pytest.mark.parametrize("reward", [1.0, -1.0, 0.0, 1e-6, 1 / 3, 1e9, -1e30])
def test_rewards_that_are_all_equal(estimator, reward):
    """CartPole's, Acrobot's: standardized they are 0; restored, themselves."""
    ways, rng = estimator.standardization, np.random.default_rng(0)
    size = abs(reward) or 1.0
    for _ in range(2):
        _, values, *ends = rollout(rng, 20, 3)
        values, ends[2] = values * np.float32(size), ends[2] * np.float32(size)
        rewards = np.full((20, 3), reward, np.float32)
        if ways.rewards != "restored":  # what is standardized is of the size of 1
            values, ends[2] = values / np.float32(size), ends[2] / np.float32(size)
        result = estimator.estimate(rewards, values, *ends)
        wanted = rewards if ways.rewards == "restored" else np.zeros((20, 3))
        wanted = advantages(wanted, values, *ends, gamma=0.99, gae_lambda=0.95)
        codes = estimator.config.gae.code_width == 8
        deviation = np.abs(values).max()  # of values that are codes, half of one at most
        bound = 0.7 * deviation if codes else 2e-5 * max(np.abs(wanted).max(), deviation)
        assert np.abs(result.advantages - wanted).max() <= bound
        if codes or ways.rewards != "restored":
            assert result.statistics["reward_deviation"] == 0
            assert result.statistics["reward_mean"] == pytest.approx(reward, rel=2**-22)
        assert result.statistics["clipped"] == 0
    if ways.rewards == "dynamic":  # and other rewards may follow
        assert estimator.running.count == 120
        estimator.estimate(*rollout(rng, 20, 3))


_RAW = [(config, {}) for config in (WORDS, CODES)]


@pytest.mark.parametrize("estimator", _RAW, indirect=True)
@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e30])
@pytest.mark.parametrize("blank", ["rewards", "values", "both"])
def test_raw_numbers_that_are_all_zero(estimator, blank, size):
    """FrozenLake's rewards until the goal is found; values of a network that has none yet. 0 has no
    magnitude of its own, however small or large the others are."""
    rewards, values, *ends = rollout(np.random.default_rng(1), 20, 3)
    of_rewards, of_values = (0.0 if blank in (name, "both") else size for name in _NAMES)
    rewards, values = rewards * np.float32(of_rewards), values * np.float32(of_values)
    ends[2] = ends[2] * np.float32(of_values)
    result = estimator.estimate(rewards, values, *ends)
    wanted = advantages(rewards, values, *ends, gamma=0.99, gae_lambda=0.95)
    words = estimator.config.gae.code_width == 32
    step = 2e-5 if words else 0.2
    assert np.abs(result.advantages - wanted).max() <= step * np.abs(wanted).max()
    assert result.statistics["clipped"] == 0


@pytest.mark.parametrize("reward", [1.0, -1.0, 0.75, 1e-6, 1e30])
@pytest.mark.parametrize("estimator", _WAYS[-1:], indirect=True)
def test_equal_rewards_come_back_exactly(estimator, reward):
    """Without a value and without a next step, the reward-to-go is the reward to the bit; so is an
    advantage that values, all equal too, are part of."""
    nothing, all_of = np.zeros((1, 3), np.float32), np.ones((1, 3), bool)
    rewards = np.full((1, 3), reward, np.float32)
    result = estimator.estimate(rewards, nothing, all_of, ~all_of, nothing)
    assert (result.returns == rewards).all() and (result.advantages == rewards).all()
    result = estimator.estimate(rewards, rewards, all_of, ~all_of, nothing)
    assert (result.advantages == 0).all() and (result.returns == rewards).all()


@pytest.mark.parametrize("estimator", _WAYS[:1], indirect=True)
def test_a_reward_after_many_of_nothing(estimator):
    """The units of sums over all rewards are those of the first that is not 0."""
    rng, seen = np.random.default_rng(3), []
    for size in (0, 0, 1, 0, 1e-3, 50):
        _, *others = rollout(rng, 20, 3)
        rewards = (size * rng.integers(0, 2, (20, 3))).astype(np.float32)
        seen.append(rewards)
        result = estimator.estimate(rewards, *others)
        own = np.concatenate(seen).astype(np.float64)
        assert result.statistics["reward_mean"] == pytest.approx(own.mean(), rel=1e-4)
        assert result.statistics["reward_deviation"] == pytest.approx(own.std(), rel=1e-4)
        wanted = (rewards - own.mean()) / (own.std() or 1)
        wanted = advantages(wanted, *others, gamma=0.99, gae_lambda=0.95)
        np.testing.assert_allclose(result.advantages, wanted, atol=1e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("env", ["CartPole-v1", "Acrobot-v1"])
@pytest.mark.parametrize("preset", HEPPO)
def test_presets_on_rewards_that_are_all_equal(preset, env):
    """Rollouts of a random policy: finite, and near what the definition says of standardized
    rewards, which is nothing but values."""
    ways = dict(HEPPO[preset])
    config = kernel_config(rows=8, depth=128, code_width=ways.pop("code_width"), result_width=32)
    envs = gymnasium.make_vec(env, num_envs=4)
    envs.action_space.seed(0)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    with opened("model", config) as kernel:
        estimator = AdvantageEstimator(kernel, Standardization(**ways))
        for _ in range(4):
            steps = [envs.step(envs.action_space.sample())[1:4] for _ in range(48)]
            rewards, terminated, truncated = (np.array(x) for x in zip(*steps, strict=True))
            values, bootstraps = rng.normal(size=(2, *rewards.shape)).astype(np.float32)
            rewards[:] = rewards[0, 0]  # but for the steps in which an episode was reset
            result = estimator.estimate(rewards, values, terminated, truncated, bootstraps)
            same = rewards if ways["rewards"] in ("raw", "restored") else np.zeros_like(rewards)
            wanted = advantages(
                same, values, terminated, truncated, bootstraps, gamma=0.99, gae_lambda=0.95
            )
            error = np.abs(result.advantages - wanted).max()
            assert error <= (1e-4 if config.gae.code_width == 32 else 1.0)
