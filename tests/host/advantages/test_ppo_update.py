"""The update of host.advantages.ppo: the loss by hand, whole steps written anew in torch."""

import math

import numpy as np
import pytest
import torch

from host.advantages import ppo
from tests.host.agent_parts import Peer
from tests.host.ppo_parts import make, make_rollout, parameters

ROWS = "obs", "action", "log_probability", "value", "advantage", "return"

# log pi / pi_old of each row: inside and outside of the clip, with either sign of A; values too,
# of which the last has gone to its return, and further than it may.
BATCH = {
    "logarithm": [0.0, 0.1, 0.5, 0.5, -0.5, -0.5],
    "advantage": [1.0, -2.0, 3.0, -1.0, 2.0, -3.0],
    "value": [0.0, 0.5, 1.0, -1.0, 0.3, 2.0],
    "old_value": [0.0, 0.1, 2.0, -1.1, -0.3, 1.0],
    "return": [1.0, 0.0, 1.5, 1.0, 0.0, 3.0],
    "entropy": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
}


@pytest.fixture
def told(monkeypatch):
    """``told(updater)``: BATCH, of which the updater's network and distribution say their parts."""
    tensors = {name: torch.tensor(values) for name, values in BATCH.items()}
    found = tensors["logarithm"] - 1.0, tensors["entropy"]
    monkeypatch.setattr(ppo, "log_probability_and_entropy", lambda *arguments: found)

    def told(updater):
        updater.networks = {"actor_critic": lambda obs: (None, tensors["value"], None)}
        own = {name: tensors[name] for name in ("advantage", "return")}
        old = {"value": tensors["old_value"], "log_probability": torch.full((6,), -1.0)}
        return own | old | {"obs": None, "action": None}

    return told


def by_hand(clip, value_clip, value_coefficient, entropy_coefficient, normalize):
    """The loss of BATCH, a row at a time, in Python's floats."""
    rows = [dict(zip(BATCH, row, strict=True)) for row in zip(*BATCH.values(), strict=True)]
    advantages = [row["advantage"] for row in rows]
    mean = sum(advantages) / 6
    deviation = math.sqrt(sum((a - mean) ** 2 for a in advantages) / 5)
    policy = value = entropy = 0.0
    for row in rows:
        advantage = (row["advantage"] - mean) / deviation if normalize else row["advantage"]
        ratio = math.exp(row["logarithm"])
        policy -= min(advantage * ratio, advantage * min(max(ratio, 1 - clip), 1 + clip)) / 6
        error = (row["value"] - row["return"]) ** 2
        if value_clip is not None:
            step = min(max(row["value"] - row["old_value"], -value_clip), value_clip)
            error = max(error, (row["old_value"] + step - row["return"]) ** 2)
        value += error / 6
        entropy += row["entropy"] / 6
    return policy + value_coefficient * value - entropy_coefficient * entropy


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("value_clip", [None, 0.25])
@pytest.mark.parametrize("clip, value, entropy", [(0.2, 0.5, 0.0), (0.05, 0.0, 0.1), (0.3, 2, 1)])
def test_loss_by_hand(told, clip, value, entropy, value_clip, normalize):
    updater = make(
        clip=clip,
        value_clip=value_clip,
        value_coefficient=value,
        entropy_coefficient=entropy,
        normalize_advantages=normalize,
    ).updater
    loss, parts = updater.losses(told(updater))
    wanted = by_hand(clip, value_clip, value, entropy, normalize)
    assert loss.item() == pytest.approx(wanted, rel=1e-5) and parts["loss"] == loss.item()
    logarithms = BATCH["logarithm"]
    kl = sum(math.exp(x) - 1 - x for x in logarithms) / 6
    assert parts["kl"] == pytest.approx(kl, rel=1e-5)
    share = sum(abs(math.exp(x) - 1) > clip for x in logarithms) / 6
    assert parts["clip_fraction"] == pytest.approx(share)
    assert parts["entropy"] == pytest.approx(0.35)


@pytest.mark.parametrize("limit", [None, 0.1])
@pytest.mark.parametrize("discrete", [True, False])
def test_learning_is_the_same_written_anew(discrete, limit):
    """Whole-rollout minibatches: gradients, the norm's limit, Adam and the learning rate."""
    settings = dict(epochs=4, entropy_coefficient=0.02, value_clip=0.005, log_deviation=-0.5)
    agent = make(discrete=discrete, learning_rate=3e-3, max_gradient_norm=limit, **settings)
    rollout, network = make_rollout(agent), agent.policy.networks["actor_critic"]
    actor, critic = Peer(network.actor), Peer(network.critic)
    log_deviation = torch.tensor(network.log_deviation, requires_grad=True)
    leaves = [*actor.parameters(), *critic.parameters()] + ([] if discrete else [log_deviation])
    kl = agent.learn(rollout)["kl"]

    flat = [torch.from_numpy(rollout[name].reshape(64, *rollout[name].shape[2:])) for name in ROWS]
    obs, action, old, before, a, target = flat
    a = (a - a.mean()) / a.std()
    rule, divergences = torch.optim.Adam(leaves, lr=3e-3, eps=1e-5), []
    for _ in range(4):
        if discrete:
            pi = torch.distributions.Categorical(logits=actor(obs))
        else:
            normal = torch.distributions.Normal(actor(obs), log_deviation.exp())
            pi = torch.distributions.Independent(normal, 1)
        ratio = (pi.log_prob(action) - old).exp()
        surrogate = torch.min(ratio * a, torch.clip(ratio, 0.8, 1.2) * a).mean()
        value = critic(obs).squeeze(1)
        near = before + torch.clip(value - before, -0.005, 0.005)
        worse = torch.max((value - target) ** 2, (near - target) ** 2).mean()
        clipped = (near - target).abs() > (value - target).abs() + 1e-4
        divergences.append((ratio - 1 - ratio.log()).mean().item())
        rule.zero_grad()
        (-surrogate + 0.5 * worse - 0.02 * pi.entropy().mean()).backward()
        if limit is not None:
            norm = math.sqrt(sum((p.grad**2).sum().item() for p in leaves))
            assert norm > limit, "the limit is at work"
            for p in leaves:
                p.grad *= limit / norm
        rule.step()
    assert clipped.any(), "and so is that of values"
    wanted = np.concatenate([actor.flat, critic.flat, log_deviation.detach()])
    np.testing.assert_allclose(parameters(agent), wanted, rtol=1e-4, atol=2e-5)
    assert agent.clock.updates == 4 and kl == pytest.approx(
        np.mean(divergences), rel=1e-3, abs=1e-6
    )
