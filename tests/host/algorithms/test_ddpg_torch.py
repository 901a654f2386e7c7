"""host.algorithms.ddpg against torch.nn, autograd, its losses and optimizers, over 20 updates."""

import numpy as np
import pytest
import torch

from host.algorithms.activation import ACTIVATIONS
from tests.host.agent_parts import CONTINUOUS, Peer, make, make_batch, optimizer, scramble

CASES = [
    dict(activation=activation, loss=loss, optimizer=rule)
    for activation in ACTIVATIONS
    for loss in ("huber", "squared")
    for rule in ("adam", "rmsprop", "sgd")
]
CASES += [dict(target_tau=1.0, target_interval=6), dict(max_gradient_norm=0.05)]
CASES += [
    dict(lagged_critic=False),
    dict(lagged_critic=False, loss="squared", optimizer="sgd"),
    dict(loss="mse"),
    dict(lagged_critic=False, max_gradient_norm=0.05),
]


def seen_with(actor, obs):
    """What the critic sees of the actor's own actions."""
    return torch.cat([obs, actor(obs)], 1)


def gradient_of(net, loss):
    return torch.autograd.grad(loss, list(net.parameters()))


def step(net, gradient, rule, config):
    for parameter, each in zip(net.parameters(), gradient, strict=True):
        parameter.grad = each
    if config.max_gradient_norm:
        torch.nn.utils.clip_grad_norm_(net.parameters(), config.max_gradient_norm)
    rule.step()


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_training_is_torchs(case):
    settings = dict(
        learning_rate=0.01,
        actor_learning_rate=0.005,
        momentum=0.9,
        huber_delta=0.7,
        target_tau=0.1,
        optimizer_epsilon=1e-5,
    )
    agent = make("ddpg", **settings | case)
    scramble(agent)
    config, networks = agent.policy.config, agent.updater.networks
    peers = {
        name: [Peer(each.network), Peer(each.network, each.target_parameters)]
        for name, each in networks.items()
    }
    (critic, critic_target), (actor, actor_target) = peers["critic"], peers["actor"]
    rules = [
        optimizer(config, critic.parameters(), 0.01),
        optimizer(config, actor.parameters(), 0.005),
    ]
    for i in range(20):
        batch = make_batch(CONTINUOUS, seed=i)
        t = {name: torch.from_numpy(array) for name, array in batch.items()}
        with torch.no_grad():
            following = critic_target(seen_with(actor_target, t["next_obs"])).squeeze(1)
            y = t["reward"] + t["discount"] * following
        q = critic(torch.cat([t["obs"], t["action"]], 1)).squeeze(1)
        if config.loss == "huber":
            each = torch.nn.functional.huber_loss(q, y, reduction="none", delta=0.7)
        else:
            share = 1 if config.loss == "mse" else 0.5
            each = share * torch.nn.functional.mse_loss(q, y, reduction="none")
        objective = (t["weights"] * each).mean()
        slope = gradient_of(critic, objective)
        if config.lagged_critic:  # both gradients before either step
            climb = gradient_of(actor, -critic(seen_with(actor, t["obs"])).mean())
            step(critic, slope, rules[0], config)
        else:
            step(critic, slope, rules[0], config)
            climb = gradient_of(actor, -critic(seen_with(actor, t["obs"])).mean())
        step(actor, climb, rules[1], config)
        if (i + 1) % config.target_interval == 0:
            critic_target.follow(critic, config.target_tau)
            actor_target.follow(actor, config.target_tau)
        td, measured = agent.learn(batch)
        np.testing.assert_allclose(td, (y - q).detach().numpy(), rtol=2e-3, atol=2e-4)
        assert measured["loss"] == pytest.approx(objective.item(), rel=2e-3)
    for name, (online, target) in peers.items():
        trained = networks[name]
        np.testing.assert_allclose(trained.network.parameters, online.flat, rtol=5e-3, atol=5e-4)
        np.testing.assert_allclose(trained.target_parameters, target.flat, rtol=5e-3, atol=5e-4)
