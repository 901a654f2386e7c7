"""host.algorithms.actor_critic against torch.distributions: what NumPy draws, and its densities."""

import numpy as np
import pytest
import torch

from host.advantages.ppo import PPOConfig
from host.algorithms.actor_critic import ActorCritic, log_probability_and_entropy
from host.algorithms.autodiff import TrainingNetwork
from host.environments.spec import Spec
from tests.host.agent_parts import Peer

LOGITS = np.float32([3.0, 1.0, 0.0, -1.0, 2.0])
LOG_DEVIATION = np.float32([-2.0, 0.0, 1.0])


def make(discrete, log_deviation=-0.5):
    count = 5 if discrete else 3
    spec = Spec(shape=(3,), dtype="float32", discrete=discrete, action_count=count)
    config = PPOConfig(hidden=(8, 6), log_deviation=log_deviation)
    return ActorCritic(config, spec, np.random.default_rng(1))


def telling(discrete):
    """A network whose actor gives the same, known numbers at every observation."""
    network = make(discrete)
    network.actor.parameters[...] = 0
    network.actor.biases[-1][...] = LOGITS if discrete else [1.0, -2.0, 0.5]
    if not discrete:
        network.log_deviation[...] = LOG_DEVIATION
    return network


def reference(network, x):
    """torch's distribution at NumPy's observations."""
    output = Peer(network.actor)(torch.from_numpy(x)).detach()
    if network.discrete:
        return torch.distributions.Categorical(logits=output)
    deviation = torch.tensor(network.log_deviation).exp()
    return torch.distributions.Independent(torch.distributions.Normal(output, deviation), 1)


def observations(rows):
    return np.random.default_rng(2).normal(size=(rows, 3)).astype(np.float32) * 3


def test_shares_of_discrete_actions():
    network, count = telling(True), 100_000
    x = np.zeros((count, 3), np.float32)
    action, _ = network.draw(x, np.random.default_rng(1))
    shares = np.bincount(action, minlength=5) / count
    wanted = reference(network, x[:1]).probs[0].numpy()
    np.testing.assert_allclose(shares, wanted, atol=5 * (0.25 / count) ** 0.5)


def test_moments_of_continuous_actions():
    network, count = telling(False), 100_000
    action, _ = network.draw(np.zeros((count, 3), np.float32), np.random.default_rng(1))
    deviation = np.exp(LOG_DEVIATION)
    np.testing.assert_allclose((action.mean(0) - [1, -2, 0.5]) / deviation, 0, atol=0.02)
    np.testing.assert_allclose(action.std(0), deviation, rtol=0.02)
    np.testing.assert_allclose(np.corrcoef(action.T), np.eye(3), atol=0.02)
    beyond = (abs(action - [1, -2, 0.5]) > 2 * deviation).mean(0)
    np.testing.assert_allclose(beyond, 0.0455, atol=0.004)


@pytest.mark.parametrize("discrete", [True, False])
def test_rows_are_independent(discrete):
    """Neither the same draw for all, nor for one row again."""
    network, rng, x = telling(discrete), np.random.default_rng(3), np.zeros((50, 3), np.float32)
    first, second = (network.draw(x, rng)[0] for _ in range(2))
    assert len(np.unique(first, axis=0)) > 1 and not np.array_equal(first, second)


@pytest.mark.parametrize("discrete", [True, False])
def test_log_probabilities_are_torchs(discrete):
    network, x = make(discrete), observations(64)
    network.parameters += np.random.default_rng(4).normal(0, 0.5, 1).astype(np.float32)
    action, logarithm = network.draw(x, np.random.default_rng(5))
    assert action.shape == ((64,) if discrete else (64, 3)) and logarithm.shape == (64,)
    assert logarithm.dtype == np.float32
    expected = reference(network, x).log_prob(torch.from_numpy(action))
    np.testing.assert_allclose(logarithm, expected, atol=1e-5)


def test_log_probabilities_of_extreme_logits():
    """exp of these is no float32."""
    network = telling(True)
    network.actor.biases[-1][...] = [200, 199, -200, 0, 0]
    action, logarithm = network.draw(np.zeros((50, 3), np.float32), np.random.default_rng(5))
    assert set(action) == {0, 1}
    np.testing.assert_allclose(np.exp(logarithm), np.where(action, 0.26894, 0.73106), atol=1e-4)


@pytest.mark.parametrize("discrete", [True, False])
def test_torchs_half_is_torchs_own(discrete):
    """log pi(a) and entropy, with their gradients."""
    generator, count = torch.Generator().manual_seed(1), 5 if discrete else 3
    output = (torch.randn(64, count, generator=generator) * 3).requires_grad_()
    log_deviation = None if discrete else torch.tensor(LOG_DEVIATION).requires_grad_()
    leaves = [output] if discrete else [output, log_deviation]
    if discrete:
        theirs, action = torch.distributions.Categorical(logits=output), torch.arange(64) % 5
    else:
        normal = torch.distributions.Normal(output, log_deviation.exp())
        theirs = torch.distributions.Independent(normal, 1)
        action = torch.randn(64, 3, generator=generator)
    probability, entropy = log_probability_and_entropy(output, log_deviation, action)
    pairs = (probability, theirs.log_prob(action)), (entropy, theirs.entropy())
    for mine, wanted in pairs:
        assert mine.shape == (64,)
        torch.testing.assert_close(mine, wanted)
        gradients = [
            torch.autograd.grad(each.sum(), leaves, retain_graph=True, allow_unused=True)
            for each in (mine, wanted)
        ]
        for own, other in zip(*gradients, strict=True):
            assert own is None or own.any() or not other.any()
            torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("discrete", [True, False])
def test_drawn_and_learned_densities_agree(discrete):
    """PPO's first ratio is 1: NumPy's log probability of a draw is torch's of the same."""
    network, x = make(discrete), observations(64)
    action, logarithm = network.draw(x, np.random.default_rng(6))
    output, value, log_deviation = TrainingNetwork(network, PPOConfig())(torch.from_numpy(x))
    found, _ = log_probability_and_entropy(output, log_deviation, torch.from_numpy(action))
    np.testing.assert_allclose(logarithm, found.detach(), atol=1e-5)
    np.testing.assert_allclose(value.detach(), network.critic.forward(x)[:, 0], atol=1e-6)
    assert value.shape == (64,)


@pytest.mark.parametrize("discrete", [True, False])
def test_parameters_are_one_vector(discrete):
    network, x = make(discrete), observations(5)
    arrays = network.arrays
    assert sum(array.size for array in arrays) == len(network.parameters)
    network.parameters[...] = np.arange(len(network.parameters))
    flat = np.concatenate([array.ravel() for array in arrays])
    np.testing.assert_array_equal(flat, network.parameters)
    np.testing.assert_array_equal(network.actor.arrays[0], arrays[0])
    np.testing.assert_array_equal(network.critic.arrays[-1], arrays[-1 if discrete else -2])
    network.parameters[...] = 0
    assert not network.actor.forward(x).any() and not network.critic.forward(x).any()


def test_first_weights():
    """Orthogonal; small where actions are made of them."""
    network = make(False)
    gains = (2, 2, 1e-4), (2, 2, 1)
    for mlp, squares in zip((network.actor, network.critic), gains, strict=True):
        for weight, square in zip(mlp.weights, squares, strict=True):
            small = weight if weight.shape[0] <= weight.shape[1] else weight.T
            np.testing.assert_allclose(small @ small.T, square * np.eye(len(small)), atol=1e-5)
        assert not any(bias.any() for bias in mlp.biases)
    assert network.log_deviation.tolist() == [-0.5] * 3
    assert len(make(True).log_deviation) == 0
