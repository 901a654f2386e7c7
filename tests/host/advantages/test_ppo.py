"""host.advantages.ppo: epochs, acting, seeds, resuming, learning."""

import os

import numpy as np
import pytest
import torch
from fake_estimator import FakeEstimator
from rich.console import Console

from host.agents.policy_file import load_policy
from host.runs.loop import train
from host.runs.preset import preset
from host.runs.rollout_runs import OnPolicyConfig
from tests.host.ppo_parts import make, make_rollout, parameters


def test_every_step_is_in_an_epoch_once(monkeypatch):
    agent, seen = make(batch_size=24, epochs=3), []
    rollout, losses = make_rollout(agent), agent.updater.losses
    monkeypatch.setattr(agent.updater, "losses", lambda batch: seen.append(batch) or losses(batch))
    agent.learn(rollout)
    assert [len(batch["obs"]) for batch in seen] == [24, 24, 16] * 3
    advantages, orders = rollout["advantage"].ravel().tolist(), []
    for epoch in (seen[0:3], seen[3:6], seen[6:9]):
        rows = torch.cat([batch["advantage"] for batch in epoch]).tolist()
        assert sorted(rows) == sorted(advantages)
        orders.append(rows)
    assert orders[0] != orders[1] != orders[2]
    together = dict(zip(advantages, rollout["obs"].reshape(64, 3), strict=True))
    for batch in seen:
        for advantage, obs in zip(batch["advantage"].tolist(), batch["obs"], strict=True):
            np.testing.assert_array_equal(together[advantage], obs.numpy())


def test_each_minibatch_is_an_update():
    agent = make(batch_size=24, epochs=3)
    measured = agent.learn(make_rollout(agent))
    assert agent.clock.updates == 9 and set(measured) == set(agent.algorithm.columns)


def test_a_minibatch_of_one_step():
    """Its advantage has no deviation, and stays as it is."""
    agent, seen = make(batch_size=63, epochs=1), []
    losses = agent.updater.losses
    agent.updater.losses = lambda batch: seen.append(losses(batch)) or seen[-1]
    rollout = make_rollout(agent)
    agent.learn(rollout)
    assert agent.clock.updates == 2 and np.isfinite(seen[1][1]["policy_loss"])
    assert abs(seen[1][1]["policy_loss"]) > 1e-3 and np.isfinite(parameters(agent)).all()


def test_target_kl_ends_the_epochs():
    """Before the step of the first minibatch that is too far."""
    free = make(epochs=20, learning_rate=0.05)
    measured = free.learn(make_rollout(free))
    assert free.clock.updates == 20 and measured["kl"] > 0.01
    target = 0.01
    for _ in range(2):
        bound = make(epochs=20, learning_rate=0.05, target_kl=target)
        rollout, losses, kl = make_rollout(bound), bound.updater.losses, []

        def spy(batch, losses=losses, kl=kl):
            found = losses(batch)
            kl.append(found[1]["kl"])
            return found

        bound.updater.losses = spy
        measured = bound.learn(rollout)
        assert 0 < bound.clock.updates == len(kl) - 1 < 19
        assert max(kl[:-1]) <= 1.5 * target < kl[-1]
        assert measured["kl"] == pytest.approx(np.mean(kl))
        target = max(kl[:-1]) / 1.25
    assert max(kl[:-1]) > target, "half above it is not too far"


def test_learning_rate_falls():
    settings = dict(learning_rate=1e-2, learning_rate_final=1e-3, learning_rate_steps=1000)
    agent = make(max_gradient_norm=None, epochs=1, **settings)
    agent.clock.launched = 500
    before = parameters(agent).copy()
    agent.learn(make_rollout(agent))
    # Adam's first step is the learning rate, whatever the gradient.
    assert abs(parameters(agent) - before).max() == pytest.approx(5.5e-3, rel=1e-2)


def test_explained_variance():
    agent = make(epochs=1)
    rollout = make_rollout(agent)
    wanted = 1 - np.var(rollout["return"] - rollout["value"]) / np.var(rollout["return"])
    assert agent.learn(rollout)["explained_variance"] == pytest.approx(wanted, rel=1e-3)
    same = np.full_like(rollout["return"], 2)
    assert agent.learn(rollout | {"return": same})["explained_variance"] is None


@pytest.mark.parametrize("name", ["advantage", "return", "obs"])
def test_refuses_what_is_not_finite(name):
    agent = make()
    rollout = make_rollout(agent)
    rollout[name][3, 2] = np.nan
    before = parameters(agent).copy()
    words = r"^loss must be finite, not nan \(batch 0; learning_rate 0.001 may be too high"
    with pytest.raises(ValueError, match=words):
        agent.learn(rollout)
    np.testing.assert_array_equal(parameters(agent), before)
    assert agent.clock.updates == 0


# -- acting


@pytest.mark.parametrize("discrete", [True, False])
def test_acting(discrete):
    policy = make(discrete=discrete).policy
    obs = np.tile(np.float32([[0.1, -0.2, 0.3]]), (400, 1))
    greedy, output = policy.act(obs, greedy=True), policy.predict(obs)
    assert (greedy == greedy[0]).all() and output.shape == (400, 2)
    assert greedy[0] == output[0].argmax() if discrete else (greedy == output).all()
    seen, action, log_probability, value = policy.sample(obs)
    assert log_probability.shape == value.shape == (400,)
    np.testing.assert_array_equal(seen, obs)
    np.testing.assert_allclose(value, policy.value(obs))
    if discrete:
        assert set(action) == {0, 1} and policy.applied(action) is action
    else:
        assert abs(action).max() > 1 and abs(policy.applied(action)).max() == 1
        assert abs(policy.act(obs)).max() == 1
        policy.networks["actor_critic"].actor.biases[-1][...] = [9, -9]
        assert policy.act(obs, greedy=True)[0].tolist() == [1, -1]
    with pytest.raises(ValueError, match=r"^obs must be \[rows, 3\], not \[400, 2\]$"):
        policy.act(obs[:, :2])


# -- state


@pytest.mark.parametrize("discrete", [True, False])
def test_state_resumes_bit_for_bit(discrete):
    whole, half = make(discrete=discrete), make(seed=9, discrete=discrete)
    for i in range(3):
        whole.learn(make_rollout(whole, seed=i))
    state = whole.state_dict()
    kept = parameters(whole).copy()
    half.load_state_dict(state)
    for i in range(3, 6):
        mine, theirs = make_rollout(whole, seed=i), make_rollout(half, seed=i)
        np.testing.assert_array_equal(mine["action"], theirs["action"])
        assert whole.learn(mine) == half.learn(theirs)
    np.testing.assert_array_equal(parameters(whole), parameters(half))
    whole.load_state_dict(state)
    np.testing.assert_array_equal(parameters(whole), kept)  # the state was a copy


def test_seeds():
    one, same, other = make(seed=3), make(seed=3), make(seed=4)
    for agent in (one, same, other):
        agent.learn(make_rollout(agent))
    np.testing.assert_array_equal(parameters(one), parameters(same))
    assert not np.array_equal(parameters(one), parameters(other))


# -- learning


def small(env, **changes):
    agent = dict(hidden=(8,), batch_size=16, epochs=2) | changes.pop("agent", {})
    run = dict(env=env, steps=640, env_count=2, steps_per_launch=32, evaluation_episodes=2)
    return OnPolicyConfig.from_dict({**run, **changes, "agent": agent})


def run(config, out, **options):
    factory = lambda: FakeEstimator(dynamic=config.agent.rewards == "dynamic")  # noqa: E731
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
    policy, info = load_policy(tmp_path / "best.npz")
    assert info["algo"] == "ppo" and info["env"] == env
    assert policy.act(np.zeros((1, policy.spec.size), np.float32), greedy=True).shape == shape


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
