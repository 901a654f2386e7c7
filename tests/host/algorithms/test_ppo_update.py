"""The update of host.algorithms.ppo: distributions against torch's own, the loss by hand, whole steps
written anew."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from tests.host.ppo_parts import make, make_rollout, require_torch


@pytest.fixture(autouse=True)
def torch():
    return require_torch()


def test_categorical_is_torchs(torch):
    from host.algorithms.ppo_network import Categorical

    logits = torch.randn(64, 5, generator=torch.Generator().manual_seed(1)) * 3
    mine, reference = Categorical(logits), torch.distributions.Categorical(logits=logits)
    action = torch.arange(64) % 5
    torch.testing.assert_close(mine.log_probability(action), reference.log_prob(action))
    torch.testing.assert_close(mine.entropy(), reference.entropy())
    generator = torch.Generator().manual_seed(0)
    drawn = torch.stack([Categorical(logits[:1]).sample(generator) for _ in range(4000)])
    shares = torch.bincount(drawn.ravel(), minlength=5) / 4000
    torch.testing.assert_close(shares, reference.probs[0], atol=0.03, rtol=0)


def test_gaussian_is_torchs(torch):
    from host.algorithms.ppo_network import Gaussian

    generator = torch.Generator().manual_seed(1)
    mean, action = torch.randn(2, 64, 3, generator=generator)
    log_deviation = torch.tensor([-2.0, 0.0, 1.0])
    mine = Gaussian(mean, log_deviation)
    each = torch.distributions.Normal(mean, log_deviation.exp())
    reference = torch.distributions.Independent(each, 1)
    torch.testing.assert_close(mine.log_probability(action), reference.log_prob(action))
    torch.testing.assert_close(mine.entropy(), reference.entropy())
    still = Gaussian(mean[:1].expand(20000, 3), log_deviation)
    drawn = still.sample(generator)
    torch.testing.assert_close(drawn.mean(0), mean[0], atol=0.06, rtol=0)
    torch.testing.assert_close(drawn.std(0), log_deviation.exp(), rtol=0.03, atol=0)


BATCH = {  # log pi / pi_old of each row: inside and outside of the clip, with either sign of A
    "logarithm": [0.0, 0.1, 0.5, 0.5, -0.5, -0.5],
    "advantage": [1.0, -2.0, 3.0, -1.0, 2.0, -3.0],
    "value": [0.0, 0.5, 1.0, -1.0, 0.3, 2.0],
    "old_value": [0.0, 0.1, 2.0, -1.1, -0.3, 1.9],
    "return": [1.0, 0.0, 1.5, 1.0, 0.0, 3.0],
    "entropy": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
}


class Told:
    """A network that says what a test tells it to."""

    def __init__(self, torch):
        self.tensors = {name: torch.tensor(values) for name, values in BATCH.items()}

    def distribution(self, obs):
        tensors = self.tensors
        return SimpleNamespace(
            log_probability=lambda action: tensors["logarithm"] - 1.0,
            entropy=lambda: tensors["entropy"],
        )

    def value(self, obs):
        return self.tensors["value"]

    def batch(self, torch):
        own = {name: self.tensors[name] for name in ("advantage", "return")}
        unused = {"obs": None, "action": None}
        return own | unused | {
            "value": self.tensors["old_value"], "log_probability": torch.full((6,), -1.0)
        }  # fmt: skip


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
def test_loss_by_hand(torch, clip, value, entropy, value_clip, normalize):
    agent = make(
        clip=clip,
        value_clip=value_clip,
        value_coefficient=value,
        entropy_coefficient=entropy,
        normalize_advantages=normalize,
    )
    agent.network = Told(torch)
    loss, parts = agent.losses(agent.network.batch(torch))
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
def test_learning_is_the_same_written_anew(torch, discrete, limit):
    """Whole-rollout minibatches: gradients, the norm's limit, Adam and the learning rate."""
    settings = dict(epochs=4, entropy_coefficient=0.02, value_clip=0.3, log_deviation=-0.5)
    agent = make(discrete=discrete, learning_rate=3e-3, max_gradient_norm=limit, **settings)
    rollout, advantages, returns = make_rollout(agent)
    reference = make(discrete=discrete, **settings).network
    reference.load_state_dict(agent.network.state_dict())
    kl = agent.learn(rollout, advantages, returns)["kl"]

    flat = [torch.from_numpy(a.reshape(64, *a.shape[2:])) for a in (rollout.obs, rollout.action)]
    obs, action = flat
    old = torch.from_numpy(rollout.log_probability.ravel())
    before = torch.from_numpy(rollout.value.ravel())
    target = torch.from_numpy(returns.ravel())
    a = torch.from_numpy(advantages.ravel())
    a = (a - a.mean()) / a.std()
    rule, divergences = torch.optim.Adam(reference.parameters(), lr=3e-3, eps=1e-5), []
    for _ in range(4):
        if discrete:
            pi = torch.distributions.Categorical(logits=reference.actor(obs))
        else:
            normal = torch.distributions.Normal(reference.actor(obs), reference.log_deviation.exp())
            pi = torch.distributions.Independent(normal, 1)
        ratio = (pi.log_prob(action) - old).exp()
        surrogate = torch.min(ratio * a, torch.clip(ratio, 0.8, 1.2) * a).mean()
        value = reference.critic(obs).squeeze(1)
        near = before + torch.clip(value - before, -0.3, 0.3)
        worse = torch.max((value - target) ** 2, (near - target) ** 2).mean()
        divergences.append((ratio - 1 - ratio.log()).mean().item())
        rule.zero_grad()
        (-surrogate + 0.5 * worse - 0.02 * pi.entropy().mean()).backward()
        if limit is not None:
            norm = math.sqrt(sum((p.grad**2).sum().item() for p in reference.parameters()))
            assert norm > limit, "the limit is at work"
            for p in reference.parameters():
                p.grad *= limit / norm
        rule.step()
    for mine, theirs in zip(agent.network.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=2e-5)
    assert agent.updates == 4 and kl == pytest.approx(np.mean(divergences), rel=1e-3, abs=1e-6)
