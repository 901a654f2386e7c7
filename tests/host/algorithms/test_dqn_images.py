"""DQN on images: its update against torch.nn, its network, what it learns and what it refuses."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from fake_replay import FakeReplay
from torch import nn

from host.algorithms.convolution import ConvNet
from host.algorithms.dqn import DQNConfig, DQNPolicy
from host.algorithms.network import MLP
from host.environments.environment import FlattenedImages
from host.environments.spec import Spec
from host.learner.card_learner import CardLearner
from host.runs.assembly import build
from host.runs.preset import preset
from host.runs.replay_runs import OffPolicyConfig
from host.settings import override
from tests.host.agent_parts import make, make_batch, optimizer, scramble
from tests.host.strokes import NAME, SHAPE

SPEC = Spec((12, 9, 3), "uint8", True, 4, exponent=-8)
LAYERS = ((6, 5, 2), (5, 2, 1))


class Peer(nn.Module):
    """The network of LAYERS and hidden layers of 16 and 16, with the weights of ``parameters``."""

    def __init__(self, network, parameters):
        super().__init__()
        modules = [nn.Conv2d(3, 6, 5, 2), nn.ReLU(), nn.Conv2d(6, 5, 2), nn.ReLU(), nn.Flatten()]
        modules += [nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)]
        self.body, at = nn.Sequential(*modules), 0
        with torch.no_grad():
            for mine, array in zip(self.parameters(), network.arrays, strict=True):
                part = parameters[at : at + array.size].reshape(array.shape)
                mine.copy_(torch.tensor(part.T if mine.ndim == 2 else part))
                at += array.size

    def forward(self, images):
        return self.body(images.permute(0, 3, 1, 2) / 256)

    @property
    def flat(self):
        parts = (p.detach().numpy() for p in self.parameters())
        return np.concatenate([(part.T if part.ndim == 2 else part).ravel() for part in parts])


def batch_of(seed):
    rng, shape = np.random.default_rng(seed), (32, *SPEC.shape)
    images = {name: rng.integers(0, 256, shape, np.uint8) for name in ("obs", "next_obs")}
    return make_batch(SPEC, seed=seed) | images


@pytest.mark.parametrize("double, rule", [(True, "adam"), (False, "rmsprop")])
def test_training_is_torchs(double, rule):
    """Over 20 updates."""
    agent = make("dqn", SPEC, convolutions=LAYERS, double=double, optimizer=rule, target_interval=6)
    scramble(agent, 0.05)
    trained, config = agent.updater.networks["q"], agent.policy.config
    online = Peer(trained.network, trained.network.parameters)
    target = Peer(trained.network, trained.target_parameters.numpy())
    stepper, chosen = optimizer(config, online.parameters(), config.learning_rate), []
    for i in range(20):
        batch = batch_of(i)
        t = {name: torch.from_numpy(array) for name, array in batch.items()}
        with torch.no_grad():
            own, others = (net(t["next_obs"]).argmax(1, keepdim=True) for net in (online, target))
            value = target(t["next_obs"]).gather(1, own if double else others)[:, 0]
            wanted = t["reward"] + t["discount"] * value
        chosen.append((own != others).any())
        q = online(t["obs"]).gather(1, t["action"].long()[:, None])[:, 0]
        each = nn.functional.smooth_l1_loss(q, wanted, reduction="none")
        stepper.zero_grad()
        objective = (t["weights"] * each).mean()
        objective.backward()
        nn.utils.clip_grad_norm_(online.parameters(), config.max_gradient_norm)
        stepper.step()
        td, measured = agent.learn(batch)
        np.testing.assert_allclose(td, (wanted - q).detach().numpy(), rtol=2e-3, atol=2e-4)
        assert measured["loss"] == pytest.approx(objective.item(), rel=2e-3)
        if (i + 1) % 6 == 0:
            target.load_state_dict(online.state_dict())
    assert any(chosen), "the two choices differ"
    np.testing.assert_allclose(trained.parameters.detach(), online.flat, atol=2e-3)
    np.testing.assert_allclose(trained.target_parameters, target.flat, atol=2e-3)


@pytest.mark.parametrize(
    "shape, dtype, given, kind, layers",
    [
        ((84, 84, 4), "uint8", None, ConvNet, [(16, 4, 8, 8), (32, 16, 4, 4), (9, 2592), (2, 9)]),
        ((10, 10, 6), "uint8", None, ConvNet, [(16, 6, 3, 3), (9, 1024), (2, 9)]),
        ((10, 10, 6), "uint8", ((2, 4, 3),), ConvNet, [(2, 6, 4, 4), (9, 18), (2, 9)]),
        ((5, 4, 2), "uint8", (), ConvNet, [(9, 40), (2, 9)]),
        ((5, 4, 2), "float32", ((3, 2, 2),), ConvNet, [(3, 2, 2, 2), (9, 12), (2, 9)]),
        ((5, 4, 2), "float32", None, MLP, None),
        ((7,), "float32", None, MLP, None),
    ],
)
def test_its_network(shape, dtype, given, kind, layers):
    spec = Spec(shape, dtype, True, 2)
    policy = DQNPolicy(DQNConfig(convolutions=given, hidden=(9,)), spec)
    network = policy.networks["q"]
    assert type(network) is kind
    assert layers is None or [weight.shape for weight, _ in network.layers] == layers
    assert policy.act(np.ones((3, *shape), dtype), greedy=True).shape == (3,)


def config_of(**changes):
    run = dict(env=NAME, env_count=8, capacity=1000, learning_starts=64, evaluation_episodes=25)
    agent = dict(hidden=[16], batch_size=32, gamma=0.5, n_step=1, epsilon_steps=2000)
    return OffPolicyConfig.from_dict(run | {"agent": agent | changes})


def test_it_learns():
    """All of 4 answers right, from about half of them; clipped rewards are a third of what counts,
    and what is evaluated is not clipped."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FlattenedImages)
        session = build(config_of(reward_clip=1.0, convolutions=[[8, 2, 1]]), FakeReplay)
    before = session.evaluate().mean()
    for _ in range(500):
        session.iterate()
    after = session.evaluate().mean()
    stored = session.learner.buffer.arrays["reward"]
    session.close()
    assert before < 8.5 and after > 11.5, (before, after)
    assert set(stored.tolist()) == {0, 1}


# -- what it refuses


def test_the_card_takes_no_images():
    """In words that name what does."""
    config, spec = preset("dqn", "card", None, NAME), Spec(SHAPE, "uint8", True, 2, -8)
    words = (
        "env must have observations that are not images with learner card, not 8 x 8 x 1 bytes of "
        f"'{NAME}' (--learner cpu takes them)"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        config.kernel_values(spec)
    with pytest.raises(ValueError, match=r"^convolutions must be none with learner card, not \(\("):
        CardLearner.check_agent(replace(config.agent, convolutions=LAYERS), "dqn")
    CardLearner.check_agent(replace(config.agent, convolutions=()), "dqn")


def test_that_is_what_a_user_reads(run, tmp_path):
    for words in ((), ("--set", "max_gradient_norm=none")):
        code, _, err = run(
            "train", "dqn", *words, "--env", NAME, "--learner", "card", "--out", tmp_path
        )
        assert code == 2 and "(--learner cpu takes them)" in err and err.count("\n") == 1
    code, _, err = run("train", "dqn", "--env", "CartPole-v1", "--set", "convolutions=16:3:1")
    assert code == 2 and "convolutions must be none with learner card" in err


def test_config():
    config = DQNConfig(convolutions=[[16, 8, 4], (32, 4, 2)])
    assert config.convolutions == ((16, 8, 4), (32, 4, 2))
    assert DQNConfig.from_json(config.to_json()) == config
    for value in ("16:8:4", ((16, 8),), (16, 8, 4), ((16, 8, 9),), ((0, 8, 4),), 3):
        with pytest.raises(ValueError, match="^(convolutions|filters|stride) must be "):
            DQNConfig(convolutions=value)
    for text, value in (("16:3:1", ((16, 3, 1),)), ("none", None), ("", ())):
        assert override(DQNConfig(), {"convolutions": text}).convolutions == value
    with pytest.raises(ValueError, match="^reward_clip must be positive and finite, not 0$"):
        DQNConfig(reward_clip=0)
