"""host.algorithms.sac: its densities, what it acts by, alpha, resuming."""

import numpy as np
import pytest
import torch

from host.algorithms.sac import SACConfig
from tests.host import agent_parts
from tests.host.agent_parts import CONTINUOUS, scramble


def make(seed=1, **config):
    agent = agent_parts.make("sac", seed=seed, **config)
    alpha = agent.policy.networks["alpha"].parameters.copy()
    scramble(agent)
    agent.policy.networks["alpha"].parameters[...] = alpha
    return agent


def make_batch(seed=2, **fields):
    return agent_parts.make_batch(CONTINUOUS, seed=seed, **fields)


def vectors(agent):
    networks = agent.updater.networks
    own = {name: each.network.parameters.copy() for name, each in networks.items()}
    return own | {f"{name}'": each.target_parameters.clone() for name, each in networks.items()}


def alpha(agent):
    return float(np.exp(agent.policy.networks["alpha"].parameters[0]))


def test_first_weights_are_those_of_torch():
    """Uniform up to 1 / sqrt(fan_in); outputs of the actor near 0."""
    networks = agent_parts.make("sac", hidden=(64, 32)).policy.networks
    shares = {
        name: [abs(weight).max() * len(weight) ** 0.5 for weight in networks[name].weights]
        for name in ("critic", "critic_2", "actor")
    }
    assert shares["actor"].pop() <= 0.01 * 3**0.5
    for share in sum(shares.values(), []):
        assert 0.9 < share <= 1.0001


def test_density_is_of_the_actions():
    """The mean of 1 / density over actions in [-0.9, 0.9] is the size of that."""
    spec = agent_parts.Spec(shape=(3,), dtype="float32", discrete=False, action_count=1)
    updater = agent_parts.make("sac", spec).updater
    actor = updater.networks["actor"].network
    actor.parameters[...] = 0
    actor.biases[-1][...] = [0.4, -0.5]
    action, logarithm = updater._drawn(torch.zeros(100_000, 3))
    inside = abs(action[:, 0]) < 0.9
    volume = (inside / logarithm.exp()).mean().item()
    assert volume == pytest.approx(1.8, rel=0.02)


def test_acting_is_what_is_learned():
    """The same distribution in NumPy: moments before the squash; deviations within their limits."""
    policy = make().policy
    actor = policy.networks["actor"]
    actor.parameters[...] = 0
    actor.biases[-1][...] = [0.3, -0.2, -1.0, -2.0]
    obs = np.zeros((100_000, 3), np.float32)
    u = np.arctanh(policy.act(obs).astype(np.float64))
    np.testing.assert_allclose(u.mean(0), [0.3, -0.2], atol=5e-3)
    np.testing.assert_allclose(u.std(0), np.exp([-1.0, -2.0]), rtol=0.01)
    assert abs(np.corrcoef(u.T)[0, 1]) < 0.02
    np.testing.assert_allclose(policy.act(obs[:1], greedy=True), np.tanh([[0.3, -0.2]]), rtol=1e-6)
    actor.biases[-1][2:] = [50, -50]
    action = policy.act(obs[:1000]).astype(np.float64)
    assert np.isfinite(action).all() and action[:, 1].std() < 1e-6
    share = (abs(action[:, 0]) < np.tanh(1)).mean()
    assert share == pytest.approx(0.1077, abs=0.04), "a deviation of e^2 at most"


@pytest.mark.parametrize("target, sign", [(-50.0, -1), (50.0, 1)])
def test_alpha_goes_to_its_entropy(target, sign):
    """Too little entropy: alpha rises; too much: it falls. Adam's first step is the rate."""
    agent = make(target_entropy=target, learning_rate=0.01)
    before = agent.policy.networks["alpha"].parameters.copy()
    measured = agent.learn(make_batch())[1]
    step = agent.policy.networks["alpha"].parameters - before
    assert step == pytest.approx(sign * 0.01, rel=1e-3)
    assert measured["entropy_coefficient"] == pytest.approx(1.0), "of before the step"


@pytest.mark.parametrize("count, target", [(1, None), (2, None), (5, None), (2, 0.0)])
def test_target_entropy_is_minus_the_components(count, target):
    """By plain descent: alpha's step is rate (target - entropy); 0 is a target like others."""
    spec = agent_parts.Spec(shape=(3,), dtype="float32", discrete=False, action_count=count)
    settings = dict(optimizer="sgd", learning_rate=0.01, target_entropy=target)
    agent, wanted = agent_parts.make("sac", spec, **settings), -count if target is None else target
    before = agent.policy.networks["alpha"].parameters.copy()
    entropy = agent.learn(agent_parts.make_batch(spec))[1]["entropy"]
    step = (agent.policy.networks["alpha"].parameters - before)[0]
    assert step == pytest.approx(0.01 * (wanted - entropy), rel=1e-3)


def test_alpha_may_stay():
    agent = make(learn_entropy_coefficient=False, entropy_coefficient=0.25)
    for i in range(3):
        assert agent.learn(make_batch(seed=i))[1]["entropy_coefficient"] == pytest.approx(0.25)
    assert alpha(agent) == pytest.approx(0.25)


def test_more_alpha_is_more_entropy():
    """The sign of the entropy in the actor's loss, by what training does."""
    entropies = []
    for coefficient in (1e-4, 5.0):
        config = dict(learn_entropy_coefficient=False, learning_rate=0.02)
        agent = make(entropy_coefficient=coefficient, **config)
        for i in range(12):
            entropy = agent.learn(make_batch(seed=i))[1]["entropy"]
        entropies.append(entropy)
    assert entropies[1] > entropies[0] + 0.5


@pytest.mark.parametrize("field", ["reward", "obs", "next_obs", "action"])
def test_refuses_what_is_not_finite(field):
    agent, batch = make(), make_batch(discount=np.full(32, 0.9, np.float32))
    batch[field][7] = np.nan
    before = vectors(agent)
    with pytest.raises(ValueError, match=r"^td_errors must be finite, not nan \(row 7 of batch 0;"):
        agent.learn(batch)
    assert all(np.array_equal(before[name], array) for name, array in vectors(agent).items())


def test_state_resumes_bit_for_bit():
    """Alpha, its moments and the draws of the updates among it."""
    whole, half = make(), make(seed=9, entropy_coefficient=0.9)
    for i in range(5):
        whole.learn(make_batch(seed=i))
    half.load_state_dict(whole.state_dict())
    half.clock.updates = 5
    for i in range(5, 9):
        mine, theirs = (agent.learn(make_batch(seed=i)) for agent in (whole, half))
        np.testing.assert_array_equal(mine[0], theirs[0])
        assert mine[1] == theirs[1]
    one, two = vectors(whole), vectors(half)
    assert all(np.array_equal(one[name], two[name]) for name in one)


BAD = [
    ("entropy_coefficient", 0), ("entropy_coefficient", np.inf), ("learn_entropy_coefficient", 1),
    ("target_entropy", np.nan), ("target_entropy", "auto"), ("learning_rate", 0),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        SACConfig(**{name: value})
