"""host.algorithms.ddpg against PyTorch: autograd, its losses and optimizers, over 20 updates."""

import numpy as np
import pytest

from host.algorithms.ddpg import DDPG, DDPGConfig


def make_batch(seed, rows=32):
    rng = np.random.default_rng(seed)
    return {
        "obs": rng.normal(size=(rows, 3)).astype(np.float32),
        "next_obs": rng.normal(size=(rows, 3)).astype(np.float32),
        "action": rng.uniform(-1, 1, (rows, 2)).astype(np.float32),
        "reward": rng.normal(size=rows).astype(np.float32),
        "discount": rng.choice([0, 0.9, 0.81], rows).astype(np.float32),  # 0: terminated
        "weights": rng.uniform(0.2, 1, rows).astype(np.float32),
    }


@pytest.mark.parametrize("optimizer", ["adam", "rmsprop", "sgd"])
@pytest.mark.parametrize("loss", ["huber", "squared"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_training_is_torchs(activation, loss, optimizer):
    try:
        import torch
    except ImportError as error:
        pytest.fail(f"torch must be installed for this test (pip install -e '.[torch]'): {error}")
    config = DDPGConfig(
        hidden=(16, 16),
        activation=activation,
        loss=loss,
        optimizer=optimizer,
        learning_rate=0.01,
        actor_learning_rate=0.005,
        momentum=0.9,
        huber_delta=0.7,
        target_tau=0.1,
        optimizer_epsilon=1e-5,
    )
    agent = DDPG(config, observation_size=3, action_count=2, seed=1)
    noise = np.random.default_rng(3)
    theirs = {}
    for name, pair in agent.networks.items():
        for network in (pair.online, pair.target):
            network.parameters += noise.normal(0, 0.2, len(network.parameters)).astype(np.float32)
        theirs[name] = [_tensors(torch, network) for network in (pair.online, pair.target)]
    (critic, critic_target), (actor, actor_target) = theirs["critic"], theirs["actor"]
    rules = {
        "adam": lambda p, lr: torch.optim.Adam(p, lr=lr, eps=1e-5),
        "rmsprop": lambda p, lr: torch.optim.RMSprop(p, lr=lr, alpha=0.99, eps=1e-5),
        "sgd": lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9),
    }
    steppers = [rules[optimizer](critic, 0.01), rules[optimizer](actor, 0.005)]
    function = getattr(torch, activation)

    def forward(tensors, x):
        *hidden, last = zip(tensors[::2], tensors[1::2], strict=True)
        for weight, bias in hidden:
            x = function(x @ weight + bias)
        return x @ last[0] + last[1]

    def q_of(tensors, obs, action):
        return forward(tensors, torch.cat([obs, action], dim=1))[:, 0]

    for i in range(20):
        batch = make_batch(i)
        t = {name: torch.from_numpy(array) for name, array in batch.items()}
        with torch.no_grad():
            following = torch.tanh(forward(actor_target, t["next_obs"]))
            y = t["reward"] + t["discount"] * q_of(critic_target, t["next_obs"], following)
        q = q_of(critic, t["obs"], t["action"])
        if loss == "huber":
            each = torch.nn.functional.huber_loss(q, y, reduction="none", delta=0.7)
        else:
            each = 0.5 * torch.nn.functional.mse_loss(q, y, reduction="none")
        objective = (t["weights"] * each).mean()
        ascent = -q_of(critic, t["obs"], torch.tanh(forward(actor, t["obs"]))).mean()
        gradients = [torch.autograd.grad(objective, critic), torch.autograd.grad(ascent, actor)]
        for tensors, values, rule in zip((critic, actor), gradients, steppers, strict=True):
            for tensor, gradient in zip(tensors, values, strict=True):
                tensor.grad = gradient
            rule.step()
        with torch.no_grad():
            for target, online in ((critic_target, critic), (actor_target, actor)):
                for mine, other in zip(target, online, strict=True):
                    mine.lerp_(other, 0.1)
        td, value = agent.learn_batch(batch)
        np.testing.assert_allclose(td, (y - q).detach().numpy(), rtol=2e-3, atol=2e-4)
        assert value == pytest.approx(objective.item(), rel=2e-3)
    for name, pair in agent.networks.items():
        for network, tensors in zip((pair.online, pair.target), theirs[name], strict=True):
            flat = np.concatenate([x.detach().numpy().ravel() for x in tensors])
            np.testing.assert_allclose(network.parameters, flat, rtol=5e-3, atol=5e-4)


def _tensors(torch, network):
    pairs = zip(network.weights, network.biases, strict=True)
    return [torch.tensor(array, requires_grad=True) for pair in pairs for array in pair]
