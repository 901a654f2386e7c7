"""host.algorithms.dqn: targets by hand, synchronization, exploration, rules of the config."""

import numpy as np
import pytest
import torch

from host.algorithms.config import linear
from host.algorithms.dqn import DQNConfig
from tests.host import agent_parts
from tests.host.agent_parts import make_batch, scramble


def make(seed=1, **config):
    return agent_parts.make("dqn", seed=seed, **config)


def network(agent):
    return agent.updater.networks["q"]


def q_of(trained, obs):
    """``(online Q, target Q)`` of observations."""
    with torch.no_grad():
        return [each(torch.from_numpy(obs)).numpy() for each in (trained, trained.target)]


@pytest.mark.parametrize("double", [False, True])
def test_td_errors_by_hand(double):
    agent, batch = make(double=double), make_batch()
    scramble(agent)
    online, target = q_of(network(agent), batch["next_obs"])
    expected = []
    q = agent.policy.predict(batch["obs"])
    for i in range(32):
        best = int(np.argmax((online if double else target)[i]))
        y = float(batch["reward"][i])
        y += float(batch["discount"][i]) * float(target[i, best])
        expected.append(y - float(q[i, batch["action"][i]]))
    assert any(online.argmax(1) != target.argmax(1)), "the two choices must differ to be told apart"
    td, measured = agent.learn(batch)
    np.testing.assert_allclose(td, expected, rtol=1e-4, atol=1e-5)
    each = [0.5 * e**2 if abs(e) <= 1 else abs(e) - 0.5 for e in expected]
    assert measured == {"loss": pytest.approx(np.mean(each * batch["weights"]), rel=1e-4)}
    assert td.dtype == np.float32


def test_hard_and_soft_target():
    hard, soft = make(target_tau=1.0, target_interval=3), make(target_tau=0.25, target_interval=1)
    first = network(hard).target_parameters.clone()
    for update in range(1, 7):
        before = network(soft).target_parameters.clone()
        hard.learn(make_batch(seed=update))
        soft.learn(make_batch(seed=update))
        target, online = network(soft).target_parameters, network(soft).parameters
        torch.testing.assert_close(target, before + 0.25 * (online - before), atol=1e-6, rtol=0)
        if update < 3:
            assert torch.equal(network(hard).target_parameters, first)
        same = torch.equal(network(hard).target_parameters, network(hard).parameters)
        assert same == (update % 3 == 0)


def test_the_step_goes_by_the_clock():
    """The learning rate by the steps at which the launch began, whatever the updates."""
    settings = dict(learning_rate=0.1, learning_rate_final=0.01, learning_rate_steps=10)
    steps = []
    for at in (0, 5, 10):
        agent = make(optimizer="sgd", max_gradient_norm=None, **settings)
        before = agent.policy.networks["q"].parameters.copy()
        agent.clock.launched = at
        agent.learn(make_batch())
        steps.append(agent.policy.networks["q"].parameters - before)
    np.testing.assert_allclose(steps[1], 0.55 * steps[0], atol=1e-6)
    np.testing.assert_allclose(steps[2], 0.1 * steps[0], atol=1e-6)
    assert abs(steps[0]).max() > 1e-3


def test_zero_weight_teaches_nothing():
    agent = make(optimizer="sgd")
    before = agent.policy.networks["q"].parameters.copy()
    td, measured = agent.learn(make_batch(weights=np.zeros(32, np.float32)))
    assert measured["loss"] == 0 and td.any()
    np.testing.assert_array_equal(agent.policy.networks["q"].parameters, before)


def test_the_policy_acts_on_what_was_learned():
    agent = make()
    before = agent.policy.predict(make_batch()["obs"])
    agent.learn(make_batch())
    assert abs(agent.policy.predict(make_batch()["obs"]) - before).max() > 1e-4


def test_exploration():
    policy = make(epsilon_start=1.0, epsilon_end=0.0, epsilon_steps=4000).policy
    obs = np.tile(np.float32([[0.1, -0.2, 0.3]]), (400, 1))
    best = int(policy.predict(obs)[0].argmax())
    counts = np.bincount(policy.act(obs, steps=0), minlength=4)
    assert (counts > 60).all(), f"near-uniform at first, not {counts}"
    others = [(policy.act(obs, steps=2000) != best).mean() for _ in range(5)]
    assert np.mean(others) == pytest.approx(0.5 * 3 / 4, abs=0.05), (
        "a random action may be the best"
    )
    assert (policy.act(obs, greedy=True) == best).all()
    assert (policy.act(obs, steps=4000) == best).all()
    assert policy.exploration_at(1000) == pytest.approx(0.75)


def test_linear_schedule():
    assert [linear(step, 1.0, 0.2, 4) for step in (0, 1, 4, 5)] == pytest.approx(
        [1.0, 0.8, 0.2, 0.2]
    )
    assert linear(0, 1.0, 0.2, 0) == 0.2 and linear(10**9, 1.0, 0.2, None) == 1.0
    config = DQNConfig(learning_rate=0.1, learning_rate_final=0.01, learning_rate_steps=10)
    assert config.learning_rate_at(5) == pytest.approx(0.055)
    assert DQNConfig(learning_rate=0.1).learning_rate_at(10**9) == 0.1
    config = DQNConfig(beta_start=0.4, beta_end=0.8, beta_steps=100)
    assert [config.beta_at(n) for n in (0, 50, 101)] == pytest.approx([0.4, 0.6, 0.8])


def test_state_resumes_bit_for_bit():
    whole, half = make(), make(seed=9)
    for i in range(5):
        whole.learn(make_batch(seed=i))
        whole.policy.act(make_batch(seed=i)["obs"])
    half.load_state_dict(whole.state_dict())
    half.clock.updates = 5
    for i in range(5, 25):
        batch = make_batch(seed=i)
        np.testing.assert_array_equal(whole.policy.act(batch["obs"]), half.policy.act(batch["obs"]))
        np.testing.assert_array_equal(whole.learn(batch)[0], half.learn(batch)[0])
    assert torch.equal(network(whole).parameters, network(half).parameters)
    assert torch.equal(network(whole).target_parameters, network(half).target_parameters)


def test_seed_decides_the_network():
    one, same, other = (make(seed=seed).policy.networks["q"].parameters for seed in (5, 5, 6))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


@pytest.mark.parametrize("field", ["reward", "obs", "next_obs"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_refuses_what_is_not_finite(field, value):
    agent, batch = make(), make_batch(discount=np.full(32, 0.9, np.float32))
    batch[field][7] = value
    before = agent.policy.networks["q"].parameters.copy()
    agent.clock.updates = 3
    words = r"^td_errors must be finite, not .* \(row 7 of batch 3; learning_rate 0.002 may be too "
    with pytest.raises(ValueError, match=words):
        agent.learn(batch)
    np.testing.assert_array_equal(agent.policy.networks["q"].parameters, before)
    assert agent.clock.updates == 3


def test_refuses_other_observations():
    with pytest.raises(ValueError, match=r"^obs must be \[rows, 3\], not \[2, 4\]$"):
        make().policy.predict(np.zeros((2, 4)))


BAD = [
    ("gamma", 1.5), ("gamma", "0.9"), ("epsilon_end", -0.1), ("beta_start", 2), ("beta1", 1.0),
    ("learning_rate", 0), ("learning_rate", float("nan")), ("learning_rate", float("inf")),
    ("learning_rate_final", -1), ("max_gradient_norm", 0), ("huber_delta", 0), ("hidden", (0,)),
    ("hidden", (2.5,)), ("activation", "gelu"), ("optimizer", "lion"), ("loss", "l1"),
    ("n_step", 0), ("batch_size", 0), ("batch_size", True), ("target_interval", 0),
    ("target_tau", 0), ("target_tau", 1.1), ("epsilon_steps", -1), ("momentum", 1),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        DQNConfig(**{name: value})


def test_config_round_trip():
    config = DQNConfig(hidden=[5, 6], learning_rate_final=1e-5)
    assert config.hidden == (5, 6) and DQNConfig.from_json(config.to_json()) == config
    with pytest.raises(ValueError, match="^hidden must have a layer when dueling"):
        DQNConfig(hidden=(), dueling=True)
