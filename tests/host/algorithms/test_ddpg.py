"""host.algorithms.ddpg: targets by hand, whose critic the actor climbs, noise, resuming."""

import os

import numpy as np
import pytest
from fake_replay import FakeReplay
from rich.console import Console

from host.algorithms.ddpg import DDPG, DDPGConfig
from host.train.loop import load_policy, train
from host.train.session import Session
from host.train.train_config import preset


def make(seed=1, **config):
    config = {"hidden": (16, 16), **config}
    agent = DDPG(DDPGConfig(**config), observation_size=3, action_count=2, seed=seed)
    agent.networks["actor"].online.parameters *= 3  # beyond the flat start
    return agent


def make_batch(rows=32, seed=2, **fields):
    rng = np.random.default_rng(seed)
    batch = {
        "obs": rng.normal(size=(rows, 3)).astype(np.float32),
        "next_obs": rng.normal(size=(rows, 3)).astype(np.float32),
        "action": rng.uniform(-1, 1, (rows, 2)).astype(np.float32),
        "reward": rng.normal(size=rows).astype(np.float32),
        "discount": rng.choice([0, 0.9, 0.81], rows).astype(np.float32),  # 0: terminated
        "weights": rng.uniform(0.2, 1, rows).astype(np.float32),
    }
    return batch | fields


def scramble_targets(agent):
    rng = np.random.default_rng(3)
    for pair in agent.networks.values():
        pair.target.parameters += rng.normal(0, 0.3, len(pair.target.parameters)).astype(np.float32)


def q_of(critic, obs, action):
    return critic.forward(np.concatenate([obs, action], axis=1).astype(np.float32))[:, 0].copy()


def test_td_errors_by_hand():
    agent, batch = make(), make_batch()
    scramble_targets(agent)
    critic, actor = agent.networks["critic"], agent.networks["actor"]
    following = actor.target.forward(batch["next_obs"]).copy()
    assert abs(following).max() < 1
    y = batch["reward"] + batch["discount"] * q_of(critic.target, batch["next_obs"], following)
    expected = y - q_of(critic.online, batch["obs"], batch["action"])
    td, loss = agent.learn_batch(batch)
    np.testing.assert_allclose(td, expected, rtol=1e-4, atol=1e-5)
    each = [0.5 * e**2 if abs(e) <= 1 else abs(e) - 0.5 for e in expected]
    assert loss == pytest.approx(np.mean(each * batch["weights"]), rel=1e-4)
    assert td.dtype == np.float32


def test_actor_climbs_the_critic_from_before_the_step():
    """One step of plain descent: the actor's change is the gradient of mean Q(s, mu(s))."""
    rates = dict(learning_rate=0.5, actor_learning_rate=1e-3)
    agent, batch = make(optimizer="sgd", activation="tanh", **rates), make_batch()
    network = agent.networks["critic"].online
    critic = network.parameters
    actor = agent.networks["actor"].online
    before, old_critic = actor.parameters.copy(), critic.copy()

    def value():
        return float(q_of(network, batch["obs"], actor.forward(batch["obs"])).mean())

    slope = np.empty(len(before))
    for i in range(len(before)):
        actor.parameters[i] = before[i] + 2e-3
        high = value()
        actor.parameters[i] = before[i] - 2e-3
        slope[i] = (high - value()) / 4e-3
        actor.parameters[i] = before[i]
    agent.learn_batch(batch)
    assert abs(critic - old_critic).max() > 0.01, "the critics of before and after differ"
    step = (actor.parameters - before) / 1e-3
    np.testing.assert_allclose(step, slope, rtol=0.05, atol=2e-3)
    assert np.dot(step, slope) > 0.999 * np.linalg.norm(step) * np.linalg.norm(slope)


def test_both_targets_follow_softly():
    agent = make(target_tau=0.25)
    for seed in range(3):
        old = {name: pair.target.parameters.copy() for name, pair in agent.networks.items()}
        agent.learn_batch(make_batch(seed=seed))
        for name, pair in agent.networks.items():
            expected = old[name] + 0.25 * (pair.online.parameters - old[name])
            np.testing.assert_allclose(pair.target.parameters, expected, atol=1e-6)


def test_learning_rates_fall_together():
    agent = make(
        learning_rate=4e-3,
        actor_learning_rate=1e-3,
        learning_rate_final=2e-3,
        learning_rate_steps=100,
    )
    assert agent.learning_rates == pytest.approx((4e-3, 1e-3))
    agent.steps = 100
    assert agent.learning_rates == pytest.approx((2e-3, 0.5e-3))


def test_noise():
    agent = make(noise_start=0.5, noise_end=0.1, noise_steps=4000)
    obs = np.tile(np.float32([[0.1, -0.2, 0.3]]), (8, 1))
    greedy = agent.act(obs, greedy=True)
    assert agent.steps == 0 and greedy.shape == (8, 2) and (greedy == greedy[0]).all()
    first = np.concatenate([agent.act(obs) for _ in range(50)])
    assert agent.steps == 400 and agent.exploration == pytest.approx(0.46)
    assert first.dtype == np.float32 and abs(first).max() <= 1
    assert (first.std(axis=0) > 0.3).all() and (first[:, 0] != first[:, 1]).all()
    agent.steps = 4000
    late = np.concatenate([agent.act(obs) for _ in range(50)])
    assert (late.std(axis=0) < 0.15).all()


def test_state_resumes_bit_for_bit():
    whole, half = make(), make(seed=9)
    for i in range(5):
        whole.learn_batch(make_batch(seed=i))
        whole.act(make_batch(seed=i)["obs"])
    half.load_state_dict(whole.state_dict())
    for i in range(5, 9):
        batch = make_batch(seed=i)
        np.testing.assert_array_equal(whole.act(batch["obs"]), half.act(batch["obs"]))
        np.testing.assert_array_equal(whole.learn_batch(batch)[0], half.learn_batch(batch)[0])
    with pytest.raises(ValueError, match=r"^parameters must be \d+ numbers for this network, not"):
        whole.load_state_dict(make(hidden=(4,)).state_dict())


@pytest.mark.parametrize("field", ["reward", "obs", "next_obs", "action"])
def test_refuses_what_is_not_finite(field):
    agent, batch = make(), make_batch(discount=np.full(32, 0.9, np.float32))
    batch[field][7] = np.nan
    before = agent.state_dict()
    with pytest.raises(ValueError, match=r"^td_errors must be finite, not .* \(row 7 of"):
        agent.learn_batch(batch)
    for name, pair in agent.networks.items():
        np.testing.assert_array_equal(pair.online.parameters, before["networks"][name]["online"])


BAD = [
    ("actor_learning_rate", 0), ("noise_start", -0.1), ("noise_end", 11), ("noise_steps", -1),
    ("reward_scale", 0), ("gamma", 1.5), ("hidden", (0,)),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        DDPGConfig(**{name: value})


def small(**changes):
    base = preset("ddpg", "cpu").to_dict()
    agent = base["ddpg"] | {"hidden": (8,), "batch_size": 16} | changes.pop("ddpg", {})
    run = dict(
        steps=1600, capacity=500, learning_starts=32, evaluation_episodes=2, log_interval_steps=200
    )
    return preset("ddpg", "cpu").from_dict({**base, **run, **changes, "ddpg": agent})


def test_what_is_stored(tmp_path):
    """Rewards scaled, actions as the agent took them, time limits bootstrapped."""
    session = Session(small(ddpg=dict(reward_scale=0.25, n_step=1, gamma=0.5)), FakeReplay)
    for _ in range(210):  # past the end of the first episodes
        session.iterate()
    stored, fill = session.buffer.arrays, len(session.buffer)
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
    agent, info = load_policy(tmp_path / "best.npz")
    assert info["algo"] == "ddpg" and info["env"] == "Pendulum-v1"
    assert agent.act(np.zeros((1, 3), np.float32), greedy=True).shape == (1, 1)
