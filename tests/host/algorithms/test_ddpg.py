"""host.algorithms.ddpg: targets by hand, whose critic the actor climbs, noise, resuming."""

import os

import numpy as np
import pytest
import torch
from fake_replay import FakeReplay
from rich.console import Console

from host.agents.policy_file import load_policy
from host.algorithms.ddpg import DDPGConfig
from host.runs.assembly import build
from host.runs.loop import train
from host.runs.preset import preset
from tests.host import agent_parts
from tests.host.agent_parts import CONTINUOUS, scramble


def make(seed=1, **config):
    agent = agent_parts.make("ddpg", seed=seed, **config)
    agent.policy.networks["actor"].parameters *= 3  # beyond the flat start
    return agent


def make_batch(seed=2, **fields):
    return agent_parts.make_batch(CONTINUOUS, seed=seed, **fields)


def q_of(critic, obs, action):
    return critic.forward(np.concatenate([obs, action], axis=1).astype(np.float32))[:, 0]


def test_td_errors_by_hand():
    agent, batch = make(), make_batch()
    scramble(agent)
    networks = agent.updater.networks
    next_obs = torch.from_numpy(batch["next_obs"])
    with torch.no_grad():
        following = networks["actor"].target(next_obs)
        value = networks["critic"].target(torch.cat([next_obs, following], 1))[:, 0].numpy()
    assert abs(following).max() < 1
    y = batch["reward"] + batch["discount"] * value
    expected = y - q_of(agent.policy.networks["critic"], batch["obs"], batch["action"])
    td, measured = agent.learn(batch)
    np.testing.assert_allclose(td, expected, rtol=1e-4, atol=1e-5)
    each = [0.5 * e**2 if abs(e) <= 1 else abs(e) - 0.5 for e in expected]
    assert measured == {"loss": pytest.approx(np.mean(each * batch["weights"]), rel=1e-4)}
    assert td.dtype == np.float32


@pytest.mark.parametrize("lagged", [True, False])
def test_actor_climbs_the_critic_from_before_the_step_or_after(lagged):
    """One step of plain descent: the actor's change is the gradient of mean Q(s, mu(s))."""
    rates = dict(learning_rate=0.5, actor_learning_rate=1e-3)
    options = dict(optimizer="sgd", activation="tanh", lagged_critic=lagged, **rates)
    agent, batch = make(**options), make_batch()
    network, actor = (agent.policy.networks[name] for name in ("critic", "actor"))
    critic = network.parameters
    before, old_critic = actor.parameters.copy(), critic.copy()

    def value():
        return float(q_of(network, batch["obs"], actor.forward(batch["obs"])).mean())

    slope = np.empty(len(before))
    if not lagged:
        new = make(**options)
        new.learn(batch)
        critic[...] = new.policy.networks["critic"].parameters
    for i in range(len(before)):
        actor.parameters[i] = before[i] + 2e-3
        high = value()
        actor.parameters[i] = before[i] - 2e-3
        slope[i] = (high - value()) / 4e-3
        actor.parameters[i] = before[i]
    critic[...] = old_critic
    agent.learn(batch)
    assert abs(critic - old_critic).max() > 0.01, "the critics of before and after differ"
    step = (actor.parameters - before) / 1e-3
    np.testing.assert_allclose(step, slope, rtol=0.05, atol=2e-3)
    assert np.dot(step, slope) > 0.999 * np.linalg.norm(step) * np.linalg.norm(slope)


def test_both_targets_follow_softly():
    agent = make(target_tau=0.25)
    for seed in range(3):
        networks = agent.updater.networks
        old = {name: each.target_parameters.clone() for name, each in networks.items()}
        agent.learn(make_batch(seed=seed))
        for name, each in networks.items():
            expected = old[name] + 0.25 * (each.parameters - old[name])
            torch.testing.assert_close(each.target_parameters, expected, atol=1e-6, rtol=0)


def test_learning_rates_fall_together():
    config = DDPGConfig(
        learning_rate=4e-3,
        actor_learning_rate=1e-3,
        learning_rate_final=2e-3,
        learning_rate_steps=100,
    )
    assert config.learning_rates_at(0) == pytest.approx((4e-3, 1e-3))
    assert config.learning_rates_at(100) == pytest.approx((2e-3, 0.5e-3))


def test_noise():
    policy = make(noise_start=0.5, noise_end=0.1, noise_steps=4000).policy
    obs = np.tile(np.float32([[0.1, -0.2, 0.3]]), (400, 1))
    greedy = policy.act(obs, greedy=True)
    # A library may sum the rows of a product in different orders: equal but for the last bits.
    assert greedy.shape == (400, 2)
    np.testing.assert_allclose(greedy, np.broadcast_to(greedy[0], (400, 2)), atol=1e-6)
    first, late = policy.act(obs, steps=400), policy.act(obs, steps=4000)
    assert policy.exploration_at(400) == pytest.approx(0.46)
    assert first.dtype == np.float32 and abs(first).max() <= 1
    assert (first.std(axis=0) > 0.3).all() and (first[:, 0] != first[:, 1]).all()
    assert (late.std(axis=0) < 0.15).all()


def test_state_resumes_bit_for_bit():
    whole, half = make(), make(seed=9)
    for i in range(5):
        whole.learn(make_batch(seed=i))
        whole.policy.act(make_batch(seed=i)["obs"])
    half.load_state_dict(whole.state_dict())
    for i in range(5, 9):
        batch = make_batch(seed=i)
        np.testing.assert_array_equal(whole.policy.act(batch["obs"]), half.policy.act(batch["obs"]))
        np.testing.assert_array_equal(whole.learn(batch)[0], half.learn(batch)[0])


@pytest.mark.parametrize("field", ["reward", "obs", "next_obs", "action"])
def test_refuses_what_is_not_finite(field):
    agent, batch = make(), make_batch(discount=np.full(32, 0.9, np.float32))
    batch[field][7] = np.nan
    before = agent.policy.state_dict()["parameters"]
    with pytest.raises(ValueError, match=r"^td_errors must be finite, not nan \(row 7 of batch 0;"):
        agent.learn(batch)
    for name, network in agent.policy.networks.items():
        np.testing.assert_array_equal(network.parameters, before[name])


BAD = [
    ("actor_learning_rate", 0), ("noise_start", -0.1), ("noise_end", 11), ("noise_steps", -1),
    ("reward_scale", 0), ("gamma", 1.5), ("hidden", (0,)), ("noise", "pink"), ("noise_theta", 0),
    ("noise_theta", 1.1),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        DDPGConfig(**{name: value})


def small(**changes):
    base = preset("ddpg", "cpu").to_dict()
    agent = base["agent"] | {"hidden": (8,), "batch_size": 16} | changes.pop("agent", {})
    run = dict(
        steps=1600, capacity=500, learning_starts=32, evaluation_episodes=2, log_interval_steps=200
    )
    return preset("ddpg", "cpu").from_dict({**base, **run, **changes, "agent": agent})


def test_what_is_stored(tmp_path):
    """Rewards scaled, actions as the agent took them, time limits bootstrapped."""
    agent = dict(reward_scale=0.25, n_step=1, gamma=0.5)
    session = build(small(learning_starts=500, agent=agent), FakeReplay)
    for _ in range(210):  # past the end of the first episodes
        session.iterate()
    buffer = session.learner.buffer
    stored, fill = buffer.arrays, len(buffer)
    assert list(stored) == ["obs", "next_obs", "action", "reward", "discount"] and fill == 500
    cos, sin, speed = stored["obs"].T
    torque = 2 * stored["action"][:, 0]
    cost = np.arctan2(sin, cos) ** 2 + 0.1 * speed**2 + 0.001 * torque**2
    np.testing.assert_allclose(stored["reward"], -0.25 * cost, rtol=1e-3, atol=1e-4)
    assert (stored["discount"] == 0.5).all() and abs(stored["action"]).max() <= 1
    session.close()


def test_trains_resumes_and_keeps_a_policy(tmp_path):
    console = Console(file=open(os.devnull, "w"))
    train(small(), FakeReplay, out=tmp_path, console=console)
    summary = train(
        small(steps=2400), FakeReplay, out=tmp_path, resume=True, console=console
    ).summary
    assert summary["algo"] == "ddpg" and summary["steps"] == 2400
    assert summary["reward_threshold"] == -200 and -2000 < summary["mean_return"] < 0
    policy, info = load_policy(tmp_path / "best.npz")
    assert info["algo"] == "ddpg" and info["env"] == "Pendulum-v1"
    assert policy.act(np.zeros((1, 3), np.float32), greedy=True).shape == (1, 1)


@pytest.mark.parametrize("hidden", [(400, 300), (7,), ()])
def test_first_weights_of_lillicrap(hidden):
    """Section 7: within 1 / sqrt(fan_in), of output layers within 3e-3."""
    policy = agent_parts.make("ddpg", hidden=hidden, first_weights="lillicrap").policy
    for network in policy.networks.values():
        *inner, last = network.weights
        bounds = [len(weight) ** -0.5 for weight in inner]
        bounds.append(3e-3)
        for weight, bound in zip([*inner, last], bounds, strict=True):
            assert bound / 4 < abs(weight).max() <= bound * 1.0001
            if weight.size > 1000:
                assert abs(weight).max() > 0.95 * bound and abs(weight.mean()) < 0.05 * bound
                assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.05)
