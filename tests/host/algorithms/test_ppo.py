"""host.algorithms.ppo: epochs, acting, first weights, seeds, resuming, learning."""

import os

import numpy as np
import pytest
from fake_estimator import FakeEstimator
from host.algorithms.ppo_config import PPOConfig
from host.train.train_config import OnPolicyConfig, preset
from rich.console import Console

from host.train.loop import load_policy, train
from tests.host.ppo_parts import make, make_rollout, parameters, require_torch


@pytest.fixture(autouse=True)
def torch():
    return require_torch()


def test_every_step_is_in_an_epoch_once(torch, monkeypatch):
    agent, seen = make(batch_size=24, epochs=3), []
    rollout, advantages, returns = make_rollout(agent)
    losses = agent.losses
    monkeypatch.setattr(agent, "losses", lambda batch: seen.append(batch) or losses(batch))
    agent.learn(rollout, advantages, returns)
    assert [len(batch["obs"]) for batch in seen] == [24, 24, 16] * 3
    orders = []
    for epoch in (seen[0:3], seen[3:6], seen[6:9]):
        rows = torch.cat([batch["advantage"] for batch in epoch]).tolist()
        assert sorted(rows) == sorted(advantages.ravel().tolist())
        orders.append(rows)
    assert orders[0] != orders[1] != orders[2]
    together = dict(zip(advantages.ravel().tolist(), rollout.obs.reshape(64, 3), strict=True))
    for batch in seen:
        for advantage, obs in zip(batch["advantage"].tolist(), batch["obs"], strict=True):
            np.testing.assert_array_equal(together[advantage], obs.numpy())


def test_target_kl_ends_the_epochs():
    """Before the step of the first minibatch that is too far."""
    free, bound = make(epochs=20, learning_rate=0.05), None
    measured = free.learn(*make_rollout(free))
    assert free.updates == 20 and measured["kl"] > 0.01
    bound = make(epochs=20, learning_rate=0.05, target_kl=0.01)
    bound.learn(*make_rollout(bound))
    assert 0 < bound.updates < 20


def test_learning_rate_falls(torch):
    settings = dict(learning_rate=1e-2, learning_rate_final=1e-3, learning_rate_steps=1000)
    agent = make(max_gradient_norm=None, epochs=1, **settings)
    assert agent.learning_rate == 1e-2
    agent.steps = 500 - 64
    rollout = make_rollout(agent)  # acts 64 steps
    before = parameters(agent)
    agent.learn(*rollout)
    # Adam's first step is the learning rate, whatever the gradient.
    assert abs(parameters(agent) - before).max() == pytest.approx(5.5e-3, rel=1e-2)


def test_explained_variance():
    agent = make(epochs=1)
    rollout, advantages, returns = make_rollout(agent)
    wanted = 1 - np.var(returns - rollout.value) / np.var(returns)
    found = agent.learn(rollout, advantages, returns)["explained_variance"]
    assert found == pytest.approx(wanted, rel=1e-3)
    same = np.full_like(returns, 2)
    assert agent.learn(rollout, advantages, same)["explained_variance"] is None


@pytest.mark.parametrize("name", ["advantages", "returns", "obs"])
def test_refuses_what_is_not_finite(name):
    agent = make()
    rollout, advantages, returns = make_rollout(agent)
    {"advantages": advantages, "returns": returns, "obs": rollout.obs}[name][3, 2] = np.nan
    before = parameters(agent).copy()
    with pytest.raises(ValueError, match=r"^loss must be finite, not nan \(minibatch 0; learning_"):
        agent.learn(rollout, advantages, returns)
    np.testing.assert_array_equal(parameters(agent), before)


# -- acting


def test_first_weights(torch):
    from host.algorithms.ppo import PPO

    before = torch.random.get_rng_state()
    agent = PPO(PPOConfig(), seed=1, discrete=True, observation_size=3, action_count=2)
    assert torch.equal(torch.random.get_rng_state(), before), "nobody else's random stream"
    for layers, gains in ((agent.network.actor, (2, 2, 1e-4)), (agent.network.critic, (2, 2, 1))):
        weights = [layer.weight.detach() for layer in layers if hasattr(layer, "weight")]
        assert [list(w.shape) for w in weights[:2]] == [[64, 3], [64, 64]]
        for weight, square in zip(weights, gains, strict=True):
            small = weight if len(weight) <= weight.shape[1] else weight.T
            product = small @ small.T
            torch.testing.assert_close(product, square * torch.eye(len(small)), atol=1e-5, rtol=0)
    assert all(not layer.bias.any() for layer in agent.network.actor if hasattr(layer, "bias"))
    assert [type(x).__name__ for x in agent.network.actor].count("Tanh") == 2


@pytest.mark.parametrize("discrete", [True, False])
def test_acting(discrete):
    agent = make(discrete=discrete)
    obs = np.tile(np.float32([[0.1, -0.2, 0.3]]), (400, 1))
    greedy, output = agent.act(obs, greedy=True), agent.predict(obs)
    assert agent.steps == 0 and (greedy == greedy[0]).all() and output.shape == (400, 2)
    assert greedy[0] == output[0].argmax() if discrete else (greedy == output).all()
    _, action, log_probability, value = agent.sample(obs)
    assert agent.steps == 400 and log_probability.shape == value.shape == (400,)
    np.testing.assert_allclose(value, agent.value(obs))
    if discrete:
        assert set(action) == {0, 1} and agent.applied(action) is action
    else:
        assert abs(action).max() > 1 and abs(agent.applied(action)).max() == 1
        assert abs(agent.act(obs)).max() == 1
        agent.load_parameters(agent.parameters | {"actor.4.bias": np.float32([9, -9])})
        assert agent.act(obs, greedy=True)[0].tolist() == [1, -1]
    with pytest.raises(ValueError, match=r"^obs must be \[rows, 3\], not \[400, 2\]$"):
        agent.act(obs[:, :2])


# -- state


@pytest.mark.parametrize("discrete", [True, False])
def test_state_resumes_bit_for_bit(discrete):
    whole, half = make(discrete=discrete), make(seed=9, discrete=discrete)
    for i in range(3):
        whole.learn(*make_rollout(whole, seed=i))
    state = whole.state_dict()
    kept = parameters(whole).copy()
    half.load_state_dict(state)
    for i in range(3, 6):
        mine, theirs = make_rollout(whole, seed=i), make_rollout(half, seed=i)
        np.testing.assert_array_equal(mine[0].action, theirs[0].action)
        assert whole.learn(*mine) == half.learn(*theirs)
    np.testing.assert_array_equal(parameters(whole), parameters(half))
    assert (whole.steps, whole.updates) == (half.steps, half.updates)
    whole.load_state_dict(state)
    np.testing.assert_array_equal(parameters(whole), kept)  # the state was a copy


def test_seeds():
    one, same, other = make(seed=3), make(seed=3), make(seed=4)
    for agent in (one, same, other):
        agent.learn(*make_rollout(agent))
    np.testing.assert_array_equal(parameters(one), parameters(same))
    assert not np.array_equal(parameters(one), parameters(other))


def test_parameters_must_fit():
    with pytest.raises(ValueError, match=r"^parameters must be \{.*, not actor.0.weight \[4, 3\]$"):
        make().load_state_dict(make(hidden=(4,)).state_dict())


# -- learning


def small(env, **changes):
    ppo = dict(hidden=(8,), batch_size=16, epochs=2) | changes.pop("ppo", {})
    run = dict(env=env, steps=640, env_count=2, steps_per_launch=32, evaluation_episodes=2)
    return OnPolicyConfig.from_dict({**run, **changes, "ppo": ppo})


def run(config, out, **options):
    factory = lambda: FakeEstimator(dynamic=config.ppo.rewards == "dynamic")  # noqa: E731
    return train(config, factory, out=out, console=Console(file=open(os.devnull, "w")), **options)


@pytest.mark.parametrize(
    "env, shape",
    [("CartPole-v1", (1,)), ("Pendulum-v1", (1, 1)), ("MountainCarContinuous-v0", (1, 1))],
)
def test_trains_resumes_and_keeps_a_policy(tmp_path, env, shape):
    run(small(env), tmp_path)
    summary = run(small(env, steps=1280), tmp_path, resume=True).summary
    assert summary["algo"] == "ppo" and summary["steps"] == 1280 and summary["launches"] == 20
    assert summary["updates"] == 20 * 2 * 4 and summary["seed"] == 0
    agent, info = load_policy(tmp_path / "best.npz")
    assert info["algo"] == "ppo" and info["env"] == env
    size = agent.observation_size
    assert agent.act(np.zeros((1, size), np.float32), greedy=True).shape == shape


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_defaults_solve_cartpole(tmp_path, seed):
    summary = run(OnPolicyConfig(seed=seed, until_solved=True), tmp_path).summary
    assert summary["solved"] and summary["mean_return"] >= 475 and summary["steps"] <= 60_000


@pytest.mark.long
def test_defaults_solve_pendulum(tmp_path):
    config = preset("ppo", "cpu", env="Pendulum-v1")
    values = config.to_dict() | {"until_solved": True}
    summary = run(OnPolicyConfig.from_dict(values), tmp_path).summary
    assert summary["solved"] and summary["mean_return"] >= -200
