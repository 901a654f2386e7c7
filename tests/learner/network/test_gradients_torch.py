"""sim.model.learner.network.trainer against PyTorch: autograd, losses, optimizers, and speed."""

import copy
import time

import numpy as np
import pytest
from learner.exact_learner import ExactLearner
from learner.learning import experiences, random_learner
from nn.exact_activation import EXACT

from host.learner.hyperparameters import hyperparameter_records
from hw.arith.arithmetic import Arithmetic
from hw.learner.config import LearnerConfig
from hw.learner.records import HYPERPARAMETERS, STEP

#: Relative to the largest number of a layer.
TOLERANCE = 1e-5
#: Largest norm of a network's gradient, where it is limited.
MOST_NORM = 0.3
STEPS = 3
RATE, FLOOR, BLEND = 0.002, 1e-4, (0.1, 0.02)


@pytest.fixture
def torch():
    try:
        import torch
    except ImportError as error:
        pytest.fail(f"torch must be installed for this test (pip install -e '.[torch]'): {error}")
    return torch


class Reference:
    """The networks of a learner as torch's, with its parameters and of ``dtype``."""

    def __init__(self, torch, learner, dtype):
        self.torch, self.config, self.dtype = torch, learner.config, dtype
        self.online = {name: self._network(learner, name, "online") for name in learner.parameters}
        self.target = {name: self._network(learner, name, "target") for name in learner.parameters}

    def _network(self, learner, name, kind):
        nn, modules = self.torch.nn, []
        for layer, numbers in zip(
            self.config.networks[name], learner.parameters[name], strict=True
        ):
            linear = nn.Linear(layer.inputs, layer.outputs, dtype=self.dtype)
            with self.torch.no_grad():
                for own, array in zip((linear.weight, linear.bias), numbers[kind], strict=True):
                    if self.config.arithmetic.saturates:
                        array = self.config.arithmetic.weight.to_float(array)
                    own.copy_(self.torch.tensor(array))
            modules.append(linear)
            modules.append(EXACT[layer.activation].module(nn))
        return nn.Sequential(*modules)

    def numbers(self, name, kind="online"):
        """(weights, biases) of every layer, tensors."""
        network = getattr(self, kind)[name]
        return [(m.weight, m.bias) for m in network if hasattr(m, "weight")]

    def losses(self, t, weight, clip):
        """``(td, loss of each sample, objective of each network)``; ``t``: tensors by name."""
        torch, critic = self.torch, "critic"
        if self.config.algorithm == "dqn":
            online, target = self.online["q"], self.target["q"]
            q = online(t["obs"]).gather(1, t["action"][:, None])[:, 0]
            with torch.no_grad():
                values = target(t["next_obs"])
                choice = online(t["next_obs"]) if self.config.double else values
                following = values.gather(1, choice.argmax(1, keepdim=True))[:, 0]
        else:
            q = self.online[critic](torch.cat([t["obs"], t["action"]], 1))[:, 0]
            with torch.no_grad():
                action = self.target["actor"](t["next_obs"])
                following = self.target[critic](torch.cat([t["next_obs"], action], 1))[:, 0]
        y = t["reward"] + t["discount"] * following
        if np.isinf(clip):
            each = 0.5 * torch.nn.functional.mse_loss(q, y, reduction="none")
        else:
            each = torch.nn.functional.huber_loss(q, y, reduction="none", delta=clip)
        each = each * (weight / weight.max())
        if self.config.algorithm == "dqn":
            return q - y, each, {"q": each.sum()}
        action = self.online["actor"](t["obs"])
        policy = self.online[critic](torch.cat([t["obs"], action], 1))
        return q - y, each, {critic: each.sum(), "actor": -policy.sum()}

    def gradients(self, objectives):
        for name, objective in objectives.items():
            leaves = [p for pair in self.numbers(name) for p in pair]
            gradients = self.torch.autograd.grad(objective, leaves, retain_graph=True)
            for leaf, gradient in zip(leaves, gradients, strict=True):
                leaf.grad = gradient

    def soft_update(self):
        with self.torch.no_grad():
            for name, blend in zip(self.online, BLEND, strict=False):
                for target, online in zip(
                    self.target[name].parameters(), self.online[name].parameters(), strict=True
                ):
                    target.lerp_(online, blend)


def make(seed, batch, **config):
    config = LearnerConfig(**config)
    learner, rng = random_learner(config, seed)
    return learner, rng


def batch_of(config, rng, batch):
    records = experiences(config, rng, batch)
    discrete = config.discrete
    records = {
        name: np.asarray(values, "<u4" if discrete and name == "action" else "<f4")
        for name, values in records.items()
    }
    return records, rng.uniform(0.2, 3, batch).astype(np.float32)


def tensors(torch, records, dtype):
    return {
        name: torch.tensor(values.astype(np.int64) if values.dtype.kind == "u" else values).to(
            torch.int64 if values.dtype.kind == "u" else dtype
        )
        for name, values in records.items()
    }


def close(own, other):
    """Sequences of arrays and of tensors."""
    other = [np.atleast_1d(tensor.detach().numpy()) for tensor in other]
    error = max(np.max(np.abs(a - b)) for a, b in zip(own, other, strict=True))
    return error <= TOLERANCE * max(np.max(np.abs(b)) for b in other)


def rule(torch, optimizer, leaves):
    return {
        "sgd": lambda: torch.optim.SGD(leaves, lr=RATE, momentum=0.9),
        "rmsprop": lambda: torch.optim.RMSprop(leaves, lr=RATE, alpha=0.99, eps=FLOOR),
        "adam": lambda: torch.optim.Adam(leaves, lr=RATE, eps=FLOOR),
    }[optimizer]()


def step_of(optimizer, iteration, batch, clip, **more):
    """The HYPERPARAMETERS of torch's optimizer in its iteration, from 1, and fields ``more``."""
    values = dict(rate=RATE, floor=FLOOR, scale=1 / batch, clip=clip, blend=BLEND)
    if optimizer == "sgd":
        values |= dict(first_decay=0.9, first_gain=1)
    elif optimizer == "rmsprop":
        values |= dict(second_decay=0.99)
    else:
        first, second = 1 - 0.9**iteration, np.sqrt(1 - 0.999**iteration)
        values |= dict(first_decay=0.9, second_decay=0.999)
        values |= dict(rate=RATE * second / first, floor=FLOOR * second)
    return hyperparameter_records(1, STEP if more else HYPERPARAMETERS, **values, **more)[0]


def random_config(seed):
    """Net ``seed`` of 20; every loss, optimizer, activation and algorithm is among them."""
    rng = np.random.default_rng(seed)
    lanes = int(rng.choice([1, 2, 4, 8]))
    config = dict(
        algorithm=("dqn", "ddpg")[seed % 2],
        optimizer=("sgd", "rmsprop", "adam")[seed % 3],
        hidden_activation=tuple(EXACT)[seed // 2 % len(EXACT)],
        double=bool(seed // 4 % 2),
        hidden=tuple(int(n) for n in rng.integers(3, 50, rng.integers(1, 4))),
        observation=int(rng.integers(1, 12)),
        action=int(rng.integers(2, 6)),
        lanes=lanes,
        multipliers=int(rng.choice([8, 16, 32, 64])),
        clip_norm=seed % 4 > 1,
    )
    return config, int(lanes * rng.integers(2, 9)), (0.5, np.inf)[seed // 3 % 2]


@pytest.mark.parametrize("seed", range(20))
def test_training_is_torchs(torch, seed):
    config, batch, clip = random_config(seed)
    learner, rng = make(seed, batch, **config)
    reference = Reference(torch, learner, torch.float64)
    leaves = [p for network in reference.online.values() for p in network.parameters()]
    optimizer = rule(torch, learner.config.optimizer, leaves)
    more = dict(max_norm=MOST_NORM) if learner.config.clip_norm else {}
    for iteration in range(1, STEPS + 1):
        records, weight = batch_of(learner.config, rng, batch)
        step = step_of(learner.config.optimizer, iteration, batch, clip, **more)
        result = learner.train(records, None, weight, step)
        t = tensors(torch, records, torch.float64)
        td, each, objectives = reference.losses(t, torch.tensor(weight).double(), clip)
        assert close([result.td], [td])
        assert close([result.loss], [each.sum()])
        assert close([result.td_sum], [td.abs().sum()])
        assert result.weight == weight.max() and result.saturations == (0, 0, 0)

        reference.gradients(objectives)
        for name in learner.parameters:
            for own, pair in zip(learner.gradients[name], reference.numbers(name), strict=True):
                assert close(own, [leaf.grad for leaf in pair])
        for leaf in leaves:
            leaf.grad /= batch
        for network in reference.online.values() if more else ():
            torch.nn.utils.clip_grad_norm_(network.parameters(), MOST_NORM)
        optimizer.step()
        reference.soft_update()
        for name, layers in learner.parameters.items():
            for kind in ("online", "target"):
                for own, pair in zip(layers, reference.numbers(name, kind), strict=True):
                    assert close(own[kind], pair)


def test_every_choice_is_among_them():
    configs = [random_config(seed) for seed in range(20)]
    for name, count in (("optimizer", 3), ("hidden_activation", len(EXACT)), ("double", 2)):
        for algorithm in ("dqn", "ddpg"):
            of = [(c[name], clip) for c, _, clip in configs if c["algorithm"] == algorithm]
            assert len({choice for choice, _ in of}) == count and len({c for _, c in of}) == 2
    limited = {(c["algorithm"], c["optimizer"]) for c, _, _ in configs if c["clip_norm"]}
    assert len(limited) == 6


@pytest.mark.parametrize("activation", EXACT)
@pytest.mark.parametrize("algorithm", ["dqn", "ddpg"])
def test_real_numbers_are_torchs(torch, algorithm, activation):
    """What the bound of fixed point is a bound from."""
    learner, rng = make(
        3,
        32,
        algorithm=algorithm,
        hidden_activation=activation,
        hidden=(8, 8),
        arithmetic=Arithmetic(kind="fixed"),
    )
    for layers in learner.parameters.values():
        for array in (a for layer in layers for kind in layer.values() for a in kind):
            array[...] = rng.integers(-(1 << 22), 1 << 22, array.shape)
    records, weight = batch_of(learner.config, rng, 32)
    exact = ExactLearner(learner.config, learner.parameters)
    td, _ = exact.train(records, weight, step_of("sgd", 1, 32, 0.5))
    reference = Reference(torch, learner, torch.float64)
    t = tensors(torch, records, torch.float64)
    expected, _, objectives = reference.losses(t, torch.tensor(weight).double(), 0.5)
    reference.gradients(objectives)
    assert np.allclose(td.value, expected.detach().numpy(), rtol=1e-12)
    for name, layers in exact.gradients.items():
        for own, pair in zip(layers, reference.numbers(name), strict=True):
            for near, leaf in zip(own, pair, strict=True):
                assert np.allclose(near.value, leaf.grad.numpy(), rtol=0, atol=1e-12)


@pytest.mark.long
def test_as_fast_as_torch(torch):
    """A gradient step of double DQN with Adam, 4-64-64-2, 64 experiences, one thread each."""
    batch, clip = 64, 1.0
    learner, rng = make(0, batch, hidden=(64, 64))
    records, weight = batch_of(learner.config, rng, batch)
    step = step_of("adam", 1, batch, clip)
    reference = Reference(torch, copy.deepcopy(learner), torch.float32)
    t, w = tensors(torch, records, torch.float32), torch.tensor(weight)
    optimizer = rule(torch, "adam", list(reference.online["q"].parameters()))

    def torchs():
        objective = reference.losses(t, w, clip)[2]["q"] / batch
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()

    def ours():
        learner.train(records, None, weight, step)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        best = {ours: np.inf, torchs: np.inf}
        for _ in range(30):  # by turns, so that what else runs here slows both
            for function in best:
                start = time.perf_counter()
                for _ in range(20):
                    function()
                best[function] = min(best[function], (time.perf_counter() - start) / 20)
    finally:
        torch.set_num_threads(threads)
    print(f"twin {1e6 * best[ours]:.0f} us, torch {1e6 * best[torchs]:.0f} us a step")
    assert best[ours] <= best[torchs]
