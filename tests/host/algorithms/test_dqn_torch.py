"""host.algorithms.dqn against PyTorch: autograd, its losses and its optimizers, over 20 updates."""

import numpy as np
import pytest

from host.algorithms.dqn import DQN, DQNConfig


def make_batch(seed, rows=32):
    rng = np.random.default_rng(seed)
    return {
        "obs": rng.normal(size=(rows, 3)).astype(np.float32),
        "next_obs": rng.normal(size=(rows, 3)).astype(np.float32),
        "action": rng.integers(4, size=rows).astype(np.int32),
        "reward": rng.normal(size=rows).astype(np.float32),
        "discount": rng.choice([0, 0.9, 0.81], rows).astype(np.float32),  # 0: terminated
        "weights": rng.uniform(0.2, 1, rows).astype(np.float32),
    }


@pytest.mark.parametrize("optimizer", ["adam", "rmsprop", "sgd"])
@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("loss", ["huber", "squared"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_training_is_torchs(activation, loss, dueling, optimizer):
    try:
        import torch
    except ImportError as error:
        pytest.fail(f"torch must be installed for this test (pip install -e '.[torch]'): {error}")
    config = dict(activation=activation, loss=loss, dueling=dueling, optimizer=optimizer)
    config |= dict(learning_rate=0.01, momentum=0.9, huber_delta=0.7, max_gradient_norm=0.5)
    config = DQNConfig(
        **config, hidden=(16, 16), target_tau=0.1, target_interval=1, optimizer_epsilon=1e-5
    )
    agent = DQN(config, observation_size=3, action_count=4, seed=1)
    noise = np.random.default_rng(3).normal(0, 0.3, len(agent.target.parameters))
    agent.target.parameters += noise.astype(np.float32)
    online, target = (TorchNetwork(torch, network) for network in (agent.online, agent.target))
    rules = {
        "adam": lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-5),
        "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, alpha=0.99, eps=1e-5),
        "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    }
    rule = rules[optimizer](online.tensors)
    for i in range(20):
        batch = make_batch(i)
        t = {name: torch.from_numpy(array) for name, array in batch.items()}
        with torch.no_grad():
            best = online(t["next_obs"]).argmax(1, keepdim=True)
            value = target(t["next_obs"]).gather(1, best)[:, 0]
            y = t["reward"] + t["discount"] * value
        q = online(t["obs"]).gather(1, t["action"].long()[:, None])[:, 0]
        if loss == "huber":
            each = torch.nn.functional.huber_loss(q, y, reduction="none", delta=0.7)
        else:
            each = 0.5 * torch.nn.functional.mse_loss(q, y, reduction="none")
        objective = (t["weights"] * each).mean()
        rule.zero_grad()
        objective.backward()
        torch.nn.utils.clip_grad_norm_(online.tensors, 0.5)
        rule.step()
        with torch.no_grad():
            for mine, theirs in zip(target.tensors, online.tensors, strict=True):
                mine.lerp_(theirs, 0.1)
        td, value = agent.learn_batch(batch)
        np.testing.assert_allclose(td, (y - q).detach().numpy(), rtol=2e-3, atol=2e-4)
        assert value == pytest.approx(objective.item(), rel=2e-3)
    for network, reference in ((agent.online, online), (agent.target, target)):
        flat = np.concatenate([x.detach().numpy().ravel() for x in reference.tensors])
        np.testing.assert_allclose(network.parameters, flat, rtol=5e-3, atol=5e-4)


class TorchNetwork:
    """The same weights as torch tensors, the forward pass in torch's words."""

    def __init__(self, torch, network):
        self.torch, self.dueling = torch, network.dueling
        self.function = getattr(torch, network.activation)
        pairs = zip(network.weights, network.biases, strict=True)
        self.tensors = [torch.tensor(a, requires_grad=True) for pair in pairs for a in pair]

    def __call__(self, x):
        layers = list(zip(self.tensors[::2], self.tensors[1::2], strict=True))
        heads = 2 if self.dueling else 1
        for weight, bias in layers[:-heads]:
            x = self.function(self.torch.addmm(bias, x, weight))
        if not self.dueling:
            return self.torch.addmm(layers[-1][1], x, layers[-1][0])
        halves = x.chunk(2, dim=1)
        value, advantage = (
            self.torch.addmm(b, h, w) for h, (w, b) in zip(halves, layers[-2:], strict=True)
        )
        return value + advantage - advantage.mean(1, keepdim=True)
