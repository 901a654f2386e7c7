"""Updates by td3 and sac against stable-baselines3's own, with the same weights, batches and noise.
Long: an extra that `make test` does not install."""

import copy

import gymnasium
import numpy as np
import pytest
import torch

from tests.host import agent_parts
from tests.host.agent_parts import CONTINUOUS, scramble

pytestmark = pytest.mark.long

UPDATES = 40


class Unused(gymnasium.Env):
    """Has the spaces of CONTINUOUS."""

    observation_space = gymnasium.spaces.Box(-10, 10, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)


def make(algo, **config):
    rates = dict(learning_rate=1e-3, target_tau=0.02, loss="squared")
    agent = agent_parts.make(algo, **rates, **config)
    scramble(agent)
    return agent


def batches(algo):
    for i in range(UPDATES):
        # td3's loss is the mean of td^2 there, and half of it here; sac's is half in both.
        weights = np.full(32, 2.0 if algo == "td3" else 1.0, np.float32)
        yield agent_parts.make_batch(CONTINUOUS, seed=i, weights=weights)


def model_of(kind, agent, **options):
    """Theirs, with our weights; ``train`` takes the same batches."""
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.type_aliases import ReplayBufferSamples

    policy = dict(net_arch=[16, 16])
    rates = dict(learning_rate=1e-3, tau=0.02, device="cpu")
    model = kind("MlpPolicy", Unused(), policy_kwargs=policy, **rates, **options)
    model.set_logger(Logger(None, []))
    for theirs, flat in modules(model, agent):
        copy_in(theirs, flat)

    def sample(size, env):
        batch = {name: torch.from_numpy(x) for name, x in next(stream).items()}
        column = {name: batch[name][:, None] for name in ("reward", "discount")}
        return ReplayBufferSamples(
            batch["obs"],
            batch["action"],
            batch["next_obs"],
            torch.zeros(32, 1),
            column["reward"],
            column["discount"],
        )

    stream = batches(agent.algorithm.name)
    model.replay_buffer.sample = sample
    return model


def modules(model, agent):
    """[(their layers, our vector)] of each network and target."""
    networks, pairs = agent.updater.networks, []
    for target, parameters in (("", "parameters"), ("_target", "target_parameters")):
        critic = getattr(model, f"critic{target}")
        own = {name: getattr(each, parameters).numpy() for name, each in networks.items()}
        pairs += [([critic.qf0], own["critic"]), ([critic.qf1], own["critic_2"])]
        if hasattr(model.actor, "log_std"):
            if not target:
                heads = (model.actor.mu, model.actor.log_std)
                pairs.append(([model.actor.latent_pi, heads], own["actor"]))
        else:
            pairs.append(([getattr(model, f"actor{target}").mu], own["actor"]))
    return pairs


def layers_of(parts):
    """Lists of layers that are one of ours: two heads are columns of one matrix."""
    for part in parts:
        if isinstance(part, tuple):
            yield list(part)
        else:
            yield from ([layer] for layer in part if hasattr(layer, "weight"))


def vector(parts):
    """The weights of their layers, in our order."""
    arrays = []
    for layers in layers_of(parts):
        arrays.append(torch.cat([layer.weight.T for layer in layers], 1).ravel())
        arrays += [layer.bias for layer in layers]
    return torch.cat(arrays).detach().numpy()


def copy_in(parts, flat):
    flat = torch.tensor(flat)
    with torch.no_grad():
        for layers in layers_of(parts):
            sizes, fan_in = [len(layer.bias) for layer in layers], layers[0].weight.shape[1]
            weights, biases, flat = flat.split(
                [fan_in * sum(sizes), sum(sizes), len(flat) - (fan_in + 1) * sum(sizes)]
            )
            weights = weights.view(fan_in, -1).split(sizes, 1)
            for layer, weight, bias in zip(layers, weights, biases.split(sizes), strict=True):
                layer.weight.copy_(weight.T)
                layer.bias.copy_(bias)
    assert not len(flat)


def check(model, agent):
    for theirs, flat in modules(model, agent):
        np.testing.assert_allclose(vector(theirs), flat, rtol=0, atol=1e-5)


def learn(agent):
    before = {n: x.network.parameters.copy() for n, x in agent.updater.networks.items()}
    for batch in batches(agent.algorithm.name):
        agent.learn(batch)
    for name, each in agent.updater.networks.items():
        assert abs(each.network.parameters - before[name]).max() > 1e-2


def test_td3(monkeypatch):
    from stable_baselines3 import TD3

    agent = make("td3", actor_learning_rate=1e-3)
    model, rng = model_of(TD3, agent), copy.deepcopy(agent.updater.rng)

    def normal(tensor, mean, deviation):
        noise = rng.standard_normal(tuple(tensor.shape), np.float32)
        return tensor.copy_(torch.from_numpy(noise) * deviation)

    monkeypatch.setattr(torch.Tensor, "normal_", normal)
    model.train(UPDATES, 32)
    monkeypatch.undo()
    learn(agent)
    check(model, agent)


def test_sac(monkeypatch):
    from stable_baselines3 import SAC

    agent = make("sac", entropy_coefficient=0.1)
    agent.policy.networks["alpha"].parameters[...] = np.log(0.1)
    actor = agent.policy.networks["actor"]
    actor.parameters *= np.float32(0.3)  # away from actions of 1, where their density adds 1e-6
    actor.biases[-1][2:] = -2
    model, rng = model_of(SAC, agent, ent_coef="auto_0.1"), copy.deepcopy(agent.updater.rng)
    drawn = []

    def normal(shape, dtype, device):
        """Ours draws for the next observations first."""
        if not drawn:
            drawn.extend(rng.standard_normal(tuple(shape), np.float32) for _ in range(2))
        return torch.from_numpy(drawn.pop())

    monkeypatch.setattr("torch.distributions.normal._standard_normal", normal)
    model.train(UPDATES, 32)
    monkeypatch.undo()
    learn(agent)
    check(model, agent)
    alpha = agent.updater.networks["alpha"].network.parameters
    np.testing.assert_allclose(model.log_ent_coef.detach(), alpha, atol=1e-5)
