"""Small agents, batches for them, and their networks once more as torch.nn has them."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from nn.exact_activation import EXACT

from host.agents.registry import find
from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater
from host.algorithms.config import Clock
from host.algorithms.policy import Policy
from host.environments.spec import Spec

__all__ = ["CONTINUOUS", "DISCRETE", "Agent", "Peer", "make", "make_batch", "optimizer", "scramble"]

# Networks this small are a thread's; more of them wait for one another, and for other tests.
torch.set_num_threads(1)

DISCRETE = Spec(shape=(3,), dtype="float32", discrete=True, action_count=4)
CONTINUOUS = Spec(shape=(3,), dtype="float32", discrete=False, action_count=2)


@dataclass
class Agent:
    """What a run has of an algorithm."""

    algorithm: Algorithm
    policy: Policy
    updater: Updater
    clock: Clock

    def learn(self, batch):
        """What the updater's ``update`` gives; it is counted, as a learner does."""
        found = self.updater.update(batch, self.clock)
        if self.algorithm.learns_from == "replay":
            self.clock.updates += 1
        return found

    def state_dict(self):
        return {"policy": self.policy.state_dict(), "updater": self.updater.state_dict()}

    def load_state_dict(self, state):
        self.policy.load_state_dict(state["policy"])
        self.updater.load_state_dict(state["updater"])


def make(algo, spec=None, seed=1, **config):
    """An Agent with hidden layers of 16 and 16; ``spec`` None: DISCRETE, for dqn, or CONTINUOUS."""
    algorithm = find(algo)
    spec = spec or (DISCRETE if algo == "dqn" else CONTINUOUS)
    config = algorithm.config(**{"hidden": (16, 16), **config})
    policy = algorithm.policy(config, spec, weights=seed, exploration=seed + 1)
    return Agent(algorithm, policy, algorithm.updater(policy, seed=seed + 2), Clock())


def make_batch(spec=DISCRETE, seed=2, rows=32, **fields):
    """A batch of a replay memory, some of whose rows have terminated."""
    rng = np.random.default_rng(seed)
    batch = {
        "obs": rng.normal(size=(rows, *spec.shape)).astype(np.float32),
        "next_obs": rng.normal(size=(rows, *spec.shape)).astype(np.float32),
        "reward": rng.normal(size=rows).astype(np.float32),
        "discount": rng.choice([0, 0.9, 0.81], rows).astype(np.float32),
        "weights": rng.uniform(0.2, 1, rows).astype(np.float32),
    }
    if spec.discrete:
        batch["action"] = rng.integers(spec.action_count, size=rows).astype(np.uint32)
    else:
        batch["action"] = rng.uniform(-1, 1, (rows, spec.action_count)).astype(np.float32)
    return batch | fields


def scramble(agent, deviation=0.2, seed=3):
    """Move all weights, and the targets away from them: at first they are equal, and biases 0."""
    rng = np.random.default_rng(seed)
    for trained in agent.updater.networks.values():
        for flat in (trained.network.parameters, trained.target_parameters.numpy()):
            flat += rng.normal(0, deviation, len(flat)).astype(np.float32)


def optimizer(config, parameters, learning_rate):
    """torch's of the config's rule."""
    if config.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=learning_rate, eps=config.optimizer_epsilon)
    if config.optimizer == "rmsprop":
        options = dict(alpha=config.decay, eps=config.optimizer_epsilon)
        return torch.optim.RMSprop(parameters, lr=learning_rate, **options)
    return torch.optim.SGD(parameters, lr=learning_rate, momentum=config.momentum)


def module(activation):
    return EXACT[activation].module(torch.nn)


class Peer(torch.nn.Module):
    """An MLP in torch.nn, its weights copied from ``parameters``, flat, or the MLP's own."""

    def __init__(self, network, parameters=None):
        super().__init__()
        flat = network.parameters if parameters is None else np.asarray(parameters)
        ends = np.cumsum([array.size for array in network.arrays])
        parts = np.split(flat, ends[:-1])
        arrays = [p.reshape(a.shape) for p, a in zip(parts, network.arrays, strict=True)]
        layers = list(zip(arrays[::2], arrays[1::2], strict=True))
        self.dueling, function = network.dueling, partial(module, network.activation)
        if self.dueling:
            *layers, (weight, bias), value, advantage = layers
            half = len(bias) // 2
            self.value = torch.nn.Sequential(
                _linear(weight[:, :half], bias[:half]), function(), _linear(*value)
            )
            self.advantage = torch.nn.Sequential(
                _linear(weight[:, half:], bias[half:]), function(), _linear(*advantage)
            )
        modules = [module for layer in layers for module in (_linear(*layer), function())]
        if not self.dueling:
            modules.pop()
            if network.output_activation != "linear":
                modules.append(module(network.output_activation))
        self.body = torch.nn.Sequential(*modules)

    def forward(self, x):
        x = self.body(x)
        if not self.dueling:
            return x
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(1, keepdim=True)

    def follow(self, other, tau):
        """``parameters += tau (other's - parameters)``."""
        with torch.no_grad():
            for mine, theirs in zip(self.parameters(), other.parameters(), strict=True):
                mine.copy_((1 - tau) * mine + tau * theirs)

    @property
    def flat(self):
        """All weights, in the order of the MLP's own."""
        layers = [_arrays(module) for module in self.body if hasattr(module, "weight")]
        if self.dueling:
            streams = self.value, self.advantage
            weights, biases = zip(*(_arrays(stream[0]) for stream in streams), strict=True)
            layers.append((np.concatenate(weights, 1), np.concatenate(biases)))
            layers += [_arrays(stream[2]) for stream in streams]
        return np.concatenate([array.ravel() for layer in layers for array in layer])


def _linear(weight, bias):
    layer = torch.nn.Linear(*weight.shape)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight.T))
        layer.bias.copy_(torch.tensor(bias))
    return layer


def _arrays(layer):
    return layer.weight.detach().numpy().T, layer.bias.detach().numpy()
