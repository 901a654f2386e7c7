"""host.algorithms.td3 against torch.nn and the paper's equations; noise, delay, twins."""

import copy

import numpy as np
import pytest
import torch

from host.algorithms.td3 import TD3Config
from tests.host import agent_parts
from tests.host.agent_parts import CONTINUOUS, Peer, optimizer, scramble


def make(seed=1, **config):
    agent = agent_parts.make("td3", seed=seed, **config)
    scramble(agent, 0.4)
    return agent


def make_batch(seed=2, **fields):
    return agent_parts.make_batch(CONTINUOUS, seed=seed, **fields)


def vectors(agent):
    """``{name: copy of its weights}``, and of its targets, with an apostrophe."""
    networks = agent.updater.networks
    own = {name: each.network.parameters.copy() for name, each in networks.items()}
    return own | {f"{name}'": each.target_parameters.clone() for name, each in networks.items()}


CASES = [
    dict(),
    dict(loss="huber", activation="tanh"),
    dict(policy_delay=3, target_tau=0.5),
    dict(policy_delay=1),
    dict(target_noise=0.8, target_noise_clip=0.1),
    dict(optimizer="sgd", max_gradient_norm=0.5),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)) or "defaults")
def test_training_is_the_papers(case):
    """(Fujimoto et al., 2018, algorithm 1), with importance weights, over 12 updates."""
    settings = dict(learning_rate=0.01, actor_learning_rate=0.005, huber_delta=0.7, target_tau=0.1)
    agent = make(**settings | case)
    config, networks, noise = (
        agent.policy.config,
        agent.updater.networks,
        copy.deepcopy(agent.updater.rng),
    )
    online = {name: Peer(each.network) for name, each in networks.items()}
    target = {name: Peer(x.network, x.target_parameters) for name, x in networks.items()}
    rates = {"critic": 0.01, "critic_2": 0.01, "actor": 0.005}
    rules = {n: optimizer(config, net.parameters(), rates[n]) for n, net in online.items()}
    critics = "critic", "critic_2"

    def step(name, loss):
        rules[name].zero_grad()
        loss.backward()
        if config.max_gradient_norm:
            torch.nn.utils.clip_grad_norm_(online[name].parameters(), config.max_gradient_norm)
        rules[name].step()

    smaller = set()
    for i in range(1, 13):
        batch = make_batch(seed=i)
        t = {name: torch.from_numpy(array) for name, array in batch.items()}
        with torch.no_grad():
            drawn = torch.from_numpy(noise.standard_normal((32, 2), np.float32))
            limit = config.target_noise_clip
            smooth = torch.clip(config.target_noise * drawn, -limit, limit)
            action = torch.clip(target["actor"](t["next_obs"]) + smooth, -1, 1)
            pairs = torch.cat([t["next_obs"], action], 1)
            values = [target[name](pairs).squeeze(1) for name in critics]
            smaller |= set((values[0] < values[1]).tolist())
            y = t["reward"] + t["discount"] * torch.min(*values)
        expected, losses = [], []
        for name in critics:
            q = online[name](torch.cat([t["obs"], t["action"]], 1)).squeeze(1)
            if config.loss == "huber":
                each = torch.nn.functional.huber_loss(q, y, reduction="none", delta=0.7)
            else:
                each = 0.5 * (q - y) ** 2
            loss = (t["weights"] * each).mean()
            expected.append((y - q).detach().numpy())
            losses.append(loss.item())
            step(name, loss)
        if i % config.policy_delay == 0:
            pairs = torch.cat([t["obs"], online["actor"](t["obs"])], 1)
            step("actor", -online["critic"](pairs).mean())
            for name in online:
                target[name].follow(online[name], config.target_tau)
        td, measured = agent.learn(batch)
        np.testing.assert_allclose(td, np.abs(expected).max(axis=0), rtol=2e-3, atol=2e-4)
        assert measured == {"loss": pytest.approx(sum(losses), rel=2e-3)} and td.dtype == np.float32
    assert smaller == {True, False}, "either twin is the smaller one somewhere"
    for name, trained in networks.items():
        own, targets = trained.network.parameters, trained.target_parameters
        np.testing.assert_allclose(own, online[name].flat, rtol=2e-3, atol=2e-4)
        np.testing.assert_allclose(targets, target[name].flat, rtol=2e-3, atol=2e-4)


def test_twins_begin_apart():
    agent = agent_parts.make("td3")
    one, two = (agent.policy.networks[name].parameters for name in ("critic", "critic_2"))
    assert one.shape == two.shape and not np.array_equal(one, two)
    assert list(agent.policy.networks) == ["critic", "critic_2", "actor"]


@pytest.mark.parametrize("delay", [1, 2, 5])
def test_the_actor_waits(delay):
    """For as many steps of the critics, whatever was learned before a checkpoint; and all targets
    move with it, and only then: a field of their own let them move at other times (host 19)."""
    agent, moved = make(policy_delay=delay), []
    agent.clock.updates = 3
    for i in range(10):
        before = vectors(agent)
        agent.learn(make_batch(seed=i))
        after = vectors(agent)
        assert not np.array_equal(before["critic"], after["critic"])
        assert not np.array_equal(before["critic_2"], after["critic_2"])
        steps = not np.array_equal(before["actor"], after["actor"])
        if steps:
            moved.append(agent.clock.updates)
        for name in ("actor'", "critic'", "critic_2'"):
            assert before[name].equal(after[name]) == (not steps)
    assert moved == [n for n in range(4, 14) if n % delay == 0]


def smoothed(**config):
    """Target actions [4000, 2] around 0."""
    updater = make(**config).updater
    updater.networks["actor"].target_parameters.zero_()
    return updater._target_action(torch.zeros(4000, 3))


def test_smoothing_is_limited():
    """By the clip, and by the limits of actions."""
    found = smoothed(target_noise=3.0, target_noise_clip=0.3)
    assert abs(found).max() == np.float32(0.3) and found.std() > 0.27 and abs(found.mean()) < 0.02
    assert (found[:, 0] != found[:, 1]).any() and (found[0] != found[1]).any()
    assert smoothed(target_noise=0.1, target_noise_clip=9.0).std() == pytest.approx(0.1, rel=0.05)
    assert abs(smoothed(target_noise=3.0, target_noise_clip=9.0)).max() == 1


def test_no_noise_is_none():
    updater, next_obs = make(target_noise=0.0).updater, torch.randn(9, 3)
    assert updater._target_action(next_obs).equal(updater.networks["actor"].target(next_obs))


@pytest.mark.parametrize("field", ["reward", "obs", "next_obs", "action"])
def test_refuses_what_is_not_finite(field):
    agent, batch = make(), make_batch(discount=np.full(32, 0.9, np.float32))
    batch[field][7] = np.nan
    agent.clock.updates = 1  # the actor's turn
    before = vectors(agent)
    with pytest.raises(ValueError, match=r"^td_errors must be finite, not nan \(row 7 of batch 1;"):
        agent.learn(batch)
    assert all(np.array_equal(before[name], array) for name, array in vectors(agent).items())


@pytest.mark.parametrize("name", ["critic", "critic_2"])
def test_refuses_either_critic(name):
    agent = make()
    agent.policy.networks[name].parameters[-1] = np.inf
    with pytest.raises(ValueError, match=r"^td_errors must be finite, not inf \(row 0 of batch 0;"):
        agent.learn(make_batch())


def test_state_resumes_bit_for_bit():
    """Noise of the targets and the actor's turn among it."""
    whole, half = make(), make(seed=9)
    for i in range(5):
        whole.learn(make_batch(seed=i))
    half.load_state_dict(whole.state_dict())
    half.clock.updates = 5
    for i in range(5, 9):
        td = [agent.learn(make_batch(seed=i))[0] for agent in (whole, half)]
        np.testing.assert_array_equal(*td)
    mine, theirs = vectors(whole), vectors(half)
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("algo", ["td3", "sac"])
def test_critics_that_err_to_either_side_do_not_cancel(algo):
    """Errors of +5 and -5 have the priority of 5, not of their mean, which is 0 (host 2)."""
    agent = agent_parts.make(algo)
    for name, value in (("critic", -5), ("critic_2", 5)):
        agent.policy.networks[name].parameters[...] = 0
        agent.policy.networks[name].biases[-1][...] = value
    nothing = np.zeros(32, np.float32)
    td = agent.learn(make_batch(reward=nothing, discount=nothing))[0]
    np.testing.assert_array_equal(td, np.full(32, 5, np.float32))


BAD = [
    ("target_interval", 2),
    ("policy_delay", 0), ("policy_delay", 1001), ("target_noise", -0.1), ("target_noise", np.inf),
    ("target_noise_clip", -1), ("target_tau", 0), ("actor_learning_rate", 0),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        TD3Config(**{name: value})


@pytest.mark.parametrize("name", ["critic_error_shift", "actor_error_shift"])
def test_shifts_are_those_of_a_step(name):
    for shift in (-8, 8):
        assert getattr(TD3Config(**{name: shift}), name) == shift
    for shift in (-9, 9):
        with pytest.raises(ValueError, match=rf"^{name} must be .*-8\.\.8, not {shift}"):
            TD3Config(**{name: shift})
