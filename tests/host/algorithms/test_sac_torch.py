"""host.algorithms.sac against torch.nn, torch.distributions and the paper's equations."""

import copy

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform

from tests.host import agent_parts
from tests.host.agent_parts import CONTINUOUS, Peer, optimizer, scramble


def make(**config):
    agent = agent_parts.make("sac", **config)
    log_alpha = agent.policy.networks["alpha"].parameters
    before = log_alpha.copy()
    scramble(agent)
    log_alpha[...] = before
    return agent


def drawn(output, noise):
    """``(action, log probability)`` of a normal ``noise``, by torch's own distribution."""
    mean, logarithm = output.chunk(2, 1)
    deviation, transform = torch.clip(logarithm, -20, 2).exp(), TanhTransform(cache_size=1)
    action = transform(mean + deviation * noise)  # and the density knows what it was
    squashed = TransformedDistribution(Normal(mean, deviation), transform)
    return action, Independent(squashed, 1).log_prob(action)


CASES = [
    dict(),
    dict(loss="huber", activation="tanh"),
    dict(learn_entropy_coefficient=False, entropy_coefficient=0.7),
    dict(target_entropy=1.5, target_interval=5, target_tau=1.0),
    dict(optimizer="sgd", max_gradient_norm=0.5),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)) or "defaults")
def test_training_is_the_papers(case):
    """(Haarnoja et al., 2019, equations 5, 7, 9, 18), with importance weights, over 12 updates."""
    agent = make(**dict(learning_rate=0.01, huber_delta=0.7, target_tau=0.1) | case)
    config, networks, rng = (
        agent.policy.config,
        agent.updater.networks,
        copy.deepcopy(agent.updater.rng),
    )
    names = "critic", "critic_2", "actor"
    online = {name: Peer(networks[name].network) for name in names}
    target = {
        name: Peer(networks[name].network, networks[name].target_parameters) for name in names
    }
    log_alpha = torch.tensor([np.log(config.entropy_coefficient)], dtype=torch.float32)
    log_alpha.requires_grad_()
    leaves = {name: list(online[name].parameters()) for name in names} | {"alpha": [log_alpha]}
    rules = {name: optimizer(config, each, 0.01) for name, each in leaves.items()}
    wanted_entropy = -2.0 if config.target_entropy is None else config.target_entropy

    def step(name, loss):
        for parameter, gradient in zip(
            leaves[name], torch.autograd.grad(loss, leaves[name]), strict=True
        ):
            parameter.grad = gradient
        if config.max_gradient_norm:
            torch.nn.utils.clip_grad_norm_(leaves[name], config.max_gradient_norm)
        rules[name].step()

    def least(networks, obs, action):
        pairs = torch.cat([obs, action], 1)
        return torch.min(*(networks[name](pairs).squeeze(1) for name in names[:2]))

    for i in range(1, 13):
        batch = agent_parts.make_batch(CONTINUOUS, seed=i)
        t = {name: torch.from_numpy(array) for name, array in batch.items()}
        noises = [torch.from_numpy(rng.standard_normal((32, 2), np.float32)) for _ in range(2)]
        coefficient = log_alpha.detach().exp()
        with torch.no_grad():
            action, logarithm = drawn(online["actor"](t["next_obs"]), noises[0])
            soft = least(target, t["next_obs"], action) - coefficient * logarithm
            y = t["reward"] + t["discount"] * soft
        expected, losses = [], []
        for name in names[:2]:
            q = online[name](torch.cat([t["obs"], t["action"]], 1)).squeeze(1)
            if config.loss == "huber":
                each = torch.nn.functional.huber_loss(q, y, reduction="none", delta=0.7)
            else:
                each = 0.5 * (q - y) ** 2
            loss = (t["weights"] * each).mean()
            expected.append((y - q).detach().numpy())
            losses.append(loss.item())
            step(name, loss)
        action, logarithm = drawn(online["actor"](t["obs"]), noises[1])
        step("actor", (coefficient * logarithm - least(online, t["obs"], action)).mean())
        if config.learn_entropy_coefficient:
            step("alpha", -(log_alpha * (logarithm.detach() + wanted_entropy)).mean())
        if i % config.target_interval == 0:
            for name in names:
                target[name].follow(online[name], config.target_tau)
        td, measured = agent.learn(batch)
        np.testing.assert_allclose(td, np.abs(expected).max(axis=0), rtol=2e-3, atol=5e-4)
        assert td.dtype == np.float32
        assert measured == {
            "loss": pytest.approx(sum(losses), rel=2e-3),
            "entropy": pytest.approx(-logarithm.mean().item(), rel=2e-3, abs=1e-3),
            "entropy_coefficient": pytest.approx(coefficient.item(), rel=1e-3),
        }
    for name in names:
        own, targets = networks[name].network.parameters, networks[name].target_parameters
        np.testing.assert_allclose(own, online[name].flat, rtol=2e-3, atol=5e-4)
        if name != "actor":
            np.testing.assert_allclose(targets, target[name].flat, rtol=2e-3, atol=5e-4)
    alpha = np.exp(networks["alpha"].network.parameters[0])
    assert alpha == pytest.approx(log_alpha.exp().item(), rel=1e-3)
    moved = abs(alpha - config.entropy_coefficient) > 1e-4
    assert moved == config.learn_entropy_coefficient


@pytest.mark.parametrize("scale", [0.5, 3, 30])
def test_log_probability_is_torchs(scale):
    """Far out too, where 1 - tanh^2 is 0 in float32: there torch in float64."""
    updater = make().updater
    actor, rng = updater.networks["actor"], copy.deepcopy(updater.rng)
    actor.network.parameters *= np.float32(scale)
    obs = torch.randn(200, 3, generator=torch.Generator().manual_seed(1))
    action, logarithm = updater._drawn(obs)
    assert action.shape == (200, 2) and logarithm.shape == (200,) and logarithm.isfinite().all()
    noise = torch.from_numpy(rng.standard_normal((200, 2), np.float32)).double()
    mean, deviation = actor(obs).detach().double().chunk(2, 1)
    deviation = torch.clip(deviation, -20, 2).exp()
    u = mean + deviation * noise
    squash = TanhTransform().log_abs_det_jacobian(u, torch.tanh(u))
    expected = (Normal(mean, deviation).log_prob(u) - squash).sum(1)
    torch.testing.assert_close(action.detach().double(), torch.tanh(u), rtol=0, atol=1e-5)
    torch.testing.assert_close(logarithm.detach().double(), expected, rtol=1e-4, atol=1e-3)
