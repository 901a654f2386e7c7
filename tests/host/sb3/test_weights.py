"""Losses are weighted, and new priorities follow from the TD errors, by the formulas."""

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional

from rlfabric.sb3 import PrioritizedDQN, PrioritizedSAC, PrioritizedTD3
from tests.host.sb3.test_as_the_library import Kept

OPTIONS = dict(
    buffer_size=64,
    learning_starts=30,
    policy_kwargs=dict(net_arch=[8]),
    seed=2,
    device="cpu",
    gamma=0.9,
)


def dqn(model, batch):
    """``(loss, TD errors)``."""
    value = model.q_net_target(batch.next_observations).max(1, keepdim=True).values
    discounts = 0.9 if batch.discounts is None else batch.discounts
    wanted = batch.rewards + discounts * (1 - batch.dones) * value
    q = model.q_net(batch.observations).gather(1, batch.actions.long())
    loss = functional.smooth_l1_loss(q, wanted, reduction="none")
    return (batch.weights * loss).mean(), (wanted - q)[:, 0].abs()


def td3(model, batch):
    action = model.actor_target(batch.next_observations)
    return critics(model, batch, action, 0.0, 1.0)


def sac(model, batch):
    torch.manual_seed(5)
    model.actor.action_log_prob(batch.observations)
    action, logarithm = model.actor.action_log_prob(batch.next_observations)
    alpha = model.log_ent_coef.detach().exp()
    return critics(model, batch, action, alpha * logarithm[:, None], 0.5)


def critics(model, batch, action, entropy, scale):
    one, two = model.critic_target(batch.next_observations, action)
    wanted = batch.rewards + 0.9 * (1 - batch.dones) * (torch.minimum(one, two) - entropy)
    errors = [wanted - q for q in model.critic(batch.observations, batch.actions)]
    loss = scale * sum((batch.weights * e**2).mean() for e in errors)
    return loss, torch.maximum(*(e[:, 0].abs() for e in errors))


@pytest.mark.parametrize(
    "cls, env, found, options",
    [
        (PrioritizedDQN, "CartPole-v1", dqn, {}),
        (PrioritizedDQN, "CartPole-v1", dqn, dict(replay_buffer_kwargs=dict(n_steps=3))),
        (PrioritizedTD3, "Pendulum-v1", td3, dict(target_policy_noise=0.0)),
        (PrioritizedSAC, "Pendulum-v1", sac, {}),
    ],
    ids=["dqn", "dqn of 3 steps", "td3", "sac"],
)
def test_weights_and_new_priorities(cls, env, found, options):
    torch.set_num_threads(1)
    model = cls("MlpPolicy", env, **copy.deepcopy(OPTIONS), **options)
    model.set_logger(Kept())
    model.learn(40)
    buffer, told = model.replay_buffer, []
    batch = buffer.sample_prioritized(16)
    weights = torch.from_numpy(np.random.default_rng(1).uniform(0.1, 1, (16, 1)))
    batch = batch._replace(weights=weights.float())
    buffer.sample_prioritized = lambda *_: batch
    buffer.update_priorities = lambda *arguments: told.append(arguments)
    with torch.no_grad():
        loss, errors = found(model, batch)
    model.logger.numbers.clear()
    torch.manual_seed(5)
    model.train(1, 16)
    measured = dict(model.logger.numbers)
    name = "train/loss" if cls is PrioritizedDQN else "train/critic_loss"
    assert measured[name] == pytest.approx(loss.item(), rel=1e-5)
    [(indexes, td)] = told
    assert (indexes == batch.indexes).all()
    np.testing.assert_allclose(td.detach().abs(), errors, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("use_sde", [False, True])
def test_state_dependent_noise_is_drawn_anew_for_each_gradient_step(use_sde):
    model = PrioritizedSAC("MlpPolicy", "Pendulum-v1", **copy.deepcopy(OPTIONS), use_sde=use_sde)
    model.learn(31)
    drawn, draw = [], model.actor.reset_noise
    model.actor.reset_noise = lambda *arguments: drawn.append(draw(*arguments))
    model.train(3, 16)
    assert len(drawn) == 3 * use_sde


def test_dqn_clips_its_gradient():
    model = PrioritizedDQN("MlpPolicy", "CartPole-v1", **copy.deepcopy(OPTIONS), max_grad_norm=1e-3)
    model.learn(31)
    gradients = [x.grad.norm() for x in model.q_net.parameters()]
    assert torch.stack(gradients).norm().item() == pytest.approx(1e-3, rel=1e-3)


def test_a_fixed_entropy_coefficient():
    options = copy.deepcopy(OPTIONS) | dict(ent_coef=0.25)
    model = PrioritizedSAC("MlpPolicy", "Pendulum-v1", **options)
    model._setup_learn(1)
    losses = []
    assert model._entropy_step(torch.zeros(3, 1), losses).item() == 0.25 and not losses
