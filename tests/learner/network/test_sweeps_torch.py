"""The twin of an algorithm of two sweeps against PyTorch in float64: the second sweep has the
critics after their step."""

import copy

import numpy as np
import pytest
from learner.learning import experiences, random_learner, steps
from learner.quartet import ENTRIES
from nn.exact_activation import EXACT

from hw.arith.arithmetic import Arithmetic
from hw.learner.config import LearnerConfig
from sim.model.learner.network.network import merge

BATCH, RATE = 16, (0.05, 0.02)


@pytest.fixture
def quartet(monkeypatch):
    for names, key, value in ENTRIES:
        monkeypatch.setitem(names, key, value)


def made(seed):
    """``(learner, records, weight)``, binary32 with plain gradient steps."""
    options = dict(observation=3, action=2, hidden=(6, 5), hidden_activation="tanh")
    config = LearnerConfig(algorithm="quartet", batch=BATCH, optimizer="sgd", **options)
    learner, rng = random_learner(config, seed)
    records = {n: x.astype("<f4") for n, x in experiences(config, rng, BATCH).items()}
    return learner, records, rng.uniform(0.2, 3, BATCH).astype(np.float32)


def run(learner, numbers, name, kind, x):
    """Outputs of a network, of parameters ``numbers[name]``, for float64 ``x`` [B, inputs]."""
    from torch import nn

    for layer, own in zip(learner.config.networks[name], numbers[name], strict=True):
        weights, biases = own[kind]
        x = EXACT[layer.activation].module(nn)(x @ weights.T + biases)
    return x


def tensors(torch, parameters):
    return {
        name: [
            {
                kind: tuple(torch.tensor(part.astype(float), requires_grad=True) for part in pair)
                for kind, pair in layer.items()
                if kind in ("online", "target")
            }
            for layer in layers
        ]
        for name, layers in parameters.items()
    }


def leaves(numbers, name):
    return [part for layer in numbers[name] for part in layer["online"]]


def actor_gradient(torch, learner, numbers, t, share):
    policy = run(learner, numbers, "actor", "online", t["obs"])
    seen = torch.cat([t["obs"], policy], 1)
    q, q2 = (run(learner, numbers, n, "online", seen)[:, 0] for n in ("critic", "critic_2"))
    td = (q - (t["reward"] + t["discount"] * q2)).detach().clamp(-1, 1)
    return torch.autograd.grad((-q + share * td * q2).sum(), leaves(numbers, "actor"))


def test_gradients_of_both_sweeps(quartet):
    torch = pytest.importorskip("torch")
    learner, records, weight = made(3)
    before = copy.deepcopy(learner.parameters)
    step = steps(1, BATCH, rate=RATE, first_decay=0, first_gain=1, clip=1.0)[0]
    learner.train(records, None, weight, step)
    after, found = learner.parameters, learner.gradients
    t = {name: torch.tensor(x.astype(float)) for name, x in records.items()}
    share = torch.tensor((weight / weight.max()).astype(float))
    old, new = tensors(torch, before), tensors(torch, after)

    following = run(learner, old, "actor", "target", t["next_obs"])
    ahead = torch.cat([t["next_obs"], following], 1)
    seen = torch.cat([t["obs"], t["action"]], 1)
    q, q2 = (run(learner, old, n, "online", seen)[:, 0] for n in ("critic", "critic_2"))
    v = run(learner, old, "value", "online", t["obs"])
    nearer = run(learner, old, "critic", "target", ahead)[:, 0]
    td = (q - (t["reward"] + t["discount"] * nearer)).detach().clamp(-1, 1)
    td2 = (q2 - (t["reward"] + t["discount"] * v[:, 0])).detach().clamp(-1, 1)
    wanted = {
        "critic": (share * td * q).sum(),
        "critic_2": (share * td2 * q2).sum(),
        "value": (share * td2 * v.sum(1)).sum(),
    }
    wanted = {
        name: torch.autograd.grad(loss, leaves(old, name), retain_graph=True)
        for name, loss in wanted.items()
    }
    stepped = new | {"actor": old["actor"]}
    wanted["actor"] = actor_gradient(torch, learner, stepped, t, share)
    for name, gradients in wanted.items():
        own = [part for pair in found[name] for part in pair]
        for k, (one, other) in enumerate(zip(own, gradients, strict=True)):
            other = other.numpy()
            near = 1e-5 * np.abs(other).max()
            np.testing.assert_allclose(one, other, rtol=0, atol=near, err_msg=f"{name} {k}")
            rate, start = RATE[name in ("actor", "value")], leaves(old, name)[k].detach().numpy()
            moved = leaves(new, name)[k].detach().numpy() - start
            np.testing.assert_allclose(moved, -rate / BATCH * other, rtol=1e-3, atol=2e-7)
    # The critics before their step would have given another one.
    lagged = actor_gradient(torch, learner, old, t, share)
    far = [float((a - b).abs().max()) for a, b in zip(lagged, wanted["actor"], strict=True)]
    assert max(far) > 1e-3


def test_errors_of_networks_are_added_in_order():
    """Exact and clipped once in fixed point; one after the other in binary32."""
    fixed = Arithmetic(kind="fixed")
    high, low = fixed.gradient.high, fixed.gradient.low
    parts = [np.array([high, high, low, 5]), np.array([1, 3, low, -7]), np.array([-1, 0, 9, 1])]
    total, clipped = merge(fixed, parts)
    assert total.tolist() == [high, high, low, -1] and clipped == 2
    parts = [np.array([x], np.float32) for x in (1.0, 2.0**-24, 2.0**-24)]
    total, clipped = merge(Arithmetic(), parts)
    assert total.tolist() == [1.0] and clipped == 0
