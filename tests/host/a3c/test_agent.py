"""host.a3c.agent: the errors of a rollout against autodiff of the objective; policy and
config."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch

from host.a3c.agent import A3C, A3CConfig, A3CPolicy, A3CUpdater
from host.environments.spec import Spec
from tests.host import agent_parts
from tests.host.experience import make_group

CONFIG = A3CConfig(gamma=0.9, value_coefficient=0.4, entropy_coefficient=0.03, reward_clip=None)


def rollout_of(seed, **changes):
    """Ends of all kinds: random, and of agent 0 to 4 in the middle, and in the last step."""
    rng = np.random.default_rng(seed)
    rollout = make_group(rng, steps=6, agents=8)
    ended = rng.integers(5, size=rollout.reward.shape)
    rollout.terminated, rollout.truncated = ended == 0, ended == 1
    rollout.valid = rng.random(ended.shape) < 0.8
    for agent in range(5):
        for step in (2, 5):
            terminated, truncated = [(0, 0), (1, 0), (0, 1), (0, 0), (1, 0)][agent]
            rollout.terminated[step, agent] = terminated
            rollout.truncated[step, agent] = truncated
            rollout.valid[step, agent] = agent < 3
    rollout.follows = rng.normal(size=ended.shape).astype(np.float32)
    return replace(rollout, **changes)


def returns_of(config, rollout):
    """R, one agent and step after the other."""
    steps, count = rollout.reward.shape
    returns = np.zeros((steps, count))
    for agent in range(count):
        for step in range(steps):
            total, scale, at = 0.0, 1.0, step
            while True:
                if rollout.valid[at, agent]:
                    reward = float(rollout.reward[at, agent])
                    if config.reward_clip is not None:
                        reward = max(-config.reward_clip, min(config.reward_clip, reward))
                    total, scale = total + scale * reward, scale * config.gamma
                if rollout.terminated[at, agent]:
                    break
                if rollout.truncated[at, agent]:
                    total += scale * float(rollout.follows[at, agent])
                    break
                at += 1
                if at == steps:
                    total += scale * float(rollout.bootstrap[agent])
                    break
            returns[step, agent] = total
    return returns


def derived(config, rollout):
    """Gradient of the objective by the outputs, and the returns."""
    outputs = torch.tensor(rollout.outputs, dtype=torch.float64, requires_grad=True)
    logarithms = torch.log_softmax(outputs[..., :-1], -1)
    returns = returns_of(config, rollout)
    gap = torch.tensor(returns) - outputs[..., -1]
    chosen = logarithms.gather(-1, torch.tensor(rollout.action)[..., None])[..., 0]
    entropy = torch.distributions.Categorical(logits=outputs[..., :-1]).entropy()
    loss = -chosen * gap.detach() - config.entropy_coefficient * entropy
    loss = loss + config.value_coefficient * gap**2
    (loss * torch.tensor(rollout.valid)).sum().backward()
    parts = dict(policy_loss=-chosen * gap, value_loss=gap**2, entropy=entropy)
    parts["value"] = outputs[..., -1]
    means = {name: part.detach().numpy()[rollout.valid].mean() for name, part in parts.items()}
    return outputs.grad.numpy(), means


CONFIGS = {
    "usual": CONFIG,
    "clipped": replace(CONFIG, reward_clip=0.5),
    "no entropy": replace(CONFIG, entropy_coefficient=0.0),
    "entropy alone": replace(CONFIG, entropy_coefficient=100.0),
    "no value": replace(CONFIG, value_coefficient=0.0),
    "gamma 1": replace(CONFIG, gamma=1.0),
    "gamma 0": replace(CONFIG, gamma=0.0),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_errors_are_the_objectives_derivatives(name):
    config = CONFIGS[name]
    for seed in range(4):
        rollout = rollout_of(seed)
        errors, measured = A3CUpdater.errors(config, rollout)
        wanted, means = derived(config, rollout)
        assert errors.dtype == np.float32 and not errors[~rollout.valid].any()
        largest = abs(wanted).max()
        assert largest > 0.1
        np.testing.assert_allclose(errors, wanted, rtol=1e-5, atol=1e-6 * largest)
        assert measured == pytest.approx(means, rel=1e-5)


def test_returns_by_hand():
    """gamma 1/2; agents that go on, terminate, are truncated, both, and spend a step on a reset."""
    config = A3CConfig(gamma=0.5, entropy_coefficient=0, value_coefficient=0.5, reward_clip=2)
    rollout = make_group(np.random.default_rng(1), steps=3, agents=5)
    rollout.outputs[...] = 0
    rollout.reward[...] = np.array([[1, 1, 1, 1, 1], [-4, 2, 2, 2, 0], [8, 1, 1, 1, 1]])
    rollout.bootstrap[...] = 8
    rollout.terminated[1, 1] = rollout.terminated[1, 3] = rollout.terminated[0, 4] = True
    rollout.truncated[1, 2] = rollout.truncated[1, 3] = True
    rollout.follows[1, 2:4] = 16
    rollout.valid[1, 4] = False
    errors, _ = A3CUpdater.errors(config, rollout)
    # Of outputs 0 the error of the value is -(R - 0).
    wanted = [[1.5, 2, 6, 2, 1], [1, 2, 10, 2, 0], [6, 5, 5, 5, 5]]
    np.testing.assert_array_equal(-errors[..., -1], wanted)


def test_nothing_is_measured_of_resets_alone():
    rollout = rollout_of(1)
    rollout.valid[...] = False
    errors, measured = A3CUpdater.errors(CONFIG, rollout)
    assert measured == {} and not errors.any()


def test_large_logits():
    """Probabilities of 0 and 1 have finite errors, and no warning."""
    rollout = rollout_of(2)
    rollout.outputs[..., :-1] *= 1e4
    with np.errstate(all="raise", under="ignore"):
        errors, measured = A3CUpdater.errors(CONFIG, rollout)
    assert np.isfinite(errors).all() and np.isfinite(list(measured.values())).all()


# -- policy and config


def test_first_weights():
    """Uniform within the root of the inverse fan-in, as are the biases."""
    config = A3CConfig(hidden=(50,), convolutions=((16, 4, 2),))
    spec = Spec(shape=(12, 12, 4), dtype="uint8", discrete=True, action_count=3, exponent=-8)
    for weight, bias in A3CPolicy(config, spec, weights=1).networks["actor_critic"].layers:
        bound = np.prod(weight.shape[1:]) ** -0.5
        for array in (weight, bias):
            assert 0.7 * bound < abs(array).max() <= bound
        assert 0.5 < weight.std() / bound * 3**0.5 < 1.2


def test_actions_are_drawn_by_their_probabilities():
    policy = agent_parts.make("a3c", agent_parts.DISCRETE).policy
    logits = np.log(np.float32([0.5, 0.3, 0.15, 0.05])) + 7
    outputs = np.tile(np.append(logits, 99).astype(np.float32), (20_000, 1))
    shares = np.bincount(policy.choose(outputs), minlength=4) / len(outputs)
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.15, 0.05], atol=0.015)
    assert set(policy.choose(outputs, greedy=True)) == {0}


def test_networks_are_the_configs():
    arrays = agent_parts.make("a3c", agent_parts.DISCRETE, hidden=(5, 7)).policy.networks[
        "actor_critic"
    ]
    assert [len(bias) for bias in arrays.arrays[1::2]] == [5, 7, 5]


BAD = [
    ("activation", "tanh"), ("batch_size", 0), ("batch_size", 33), ("learning_rate", 0),
    ("optimizer_epsilon", 0), ("decay", 1.1), ("decay", -0.1), ("max_gradient_norm", 40.0),
    ("value_coefficient", -1), ("entropy_coefficient", -1), ("reward_clip", 0), ("gamma", 1.1),
    ("convolutions", 5), ("convolutions", ((16, 8),)), ("hidden", (0,)),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        A3CConfig(**{name: value})


def test_continuous_actions_are_refused():
    box = gymnasium.spaces.Box(-1, 1, (2,))
    with pytest.raises(ValueError, match="^env must have a Discrete action space for a3c, not Box"):
        A3C.check_actions(box, "Some-v0")
