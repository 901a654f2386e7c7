"""Outputs that are only biases, in random plans: the twin against PyTorch in float64, and weights
that stay 0. ``test_trainer_steps.py`` has the hardware."""

import copy

import numpy as np
import pytest
from learner import random_plan
from learner.learning import experiences, parameters, random_learner, steps
from nn.exact_activation import EXACT

from host.learner.parameters import to_image, zero_moments
from hw.arith.arithmetic import Arithmetic
from hw.errors import UsageError
from hw.learner.config import PARAMETER_SETS, LearnerConfig

BATCH = 64
#: Distance of a gradient as a part of its norm, and the least cosine.
NEAR = {"float32": (1e-6, 1 - 1e-12), "fixed": (3e-2, 0.9995)}
#: Of these the networks that others take, takers and networks beside have free outputs, one or all
#: but one, in up to three sweeps.
SEEDS = (0, 11, 12, 82, 85)


def made(monkeypatch, seed, kind, **options):
    """``(learner, rng, records, weight)``: the plan of ``seed`` with random parameters."""
    for names, key, value in random_plan.entries(seed):
        monkeypatch.setitem(names, key, value)
    config = LearnerConfig(
        algorithm=f"random_{seed}", observation=3, action=2, hidden=(32,), batch=BATCH,
        arithmetic=Arithmetic(kind=kind), **options,
    )  # fmt: skip
    learner, rng = random_learner(config, seed)
    learner.load(learner.store())  # as a card does: weights of free outputs become 0
    records = {n: x.astype("<f4") for n, x in experiences(config, rng, BATCH).items()}
    return learner, rng, records, rng.uniform(0.2, 3, BATCH).astype(np.float32)


def free_weights(learner):
    """All that an image has of the weights of free outputs, and of the gradients."""
    for name, layers in learner.config.networks.items():
        last = layers[-1]
        found = [*learner.parameters[name][-1].values(), learner.gradients[name][-1]]
        yield from (weights[last.outputs - last.free :] for weights, _ in found)


def gradients(torch, learner, before, records, weight):
    """``{network: gradient}``, float64, of networks that an earlier sweep trained with the
    learner's parameters, of others with those ``before``; losses are half the squares."""
    plan, found = learner.config.plan, {}
    fields = {name: torch.tensor(x.astype(float)) for name, x in records.items()}
    share = torch.tensor(weight.astype(float) / weight.max())
    unit = learner.config.arithmetic.weight.resolution if learner.config.arithmetic.saturates else 1
    for sweep, rule in enumerate(plan.losses):
        left = {name: one for name, one in plan.passes.items() if one.sweep == sweep}
        outputs, sums, leaves = {}, {}, {}
        while left:
            name = next(n for n, p in left.items() if not p.take or p.take.source in outputs)
            one = left.pop(name)
            earlier = plan.trained_in(one.network) < sweep
            numbers = (learner.parameters if earlier else before)[one.network]
            parts = [fields[feed.name] for feed in one.feeds]
            x = torch.cat(parts + ([outputs[one.take.source]] if one.take else []), 1)
            for layer, own in zip(learner.config.networks[one.network], numbers, strict=True):
                w, b = (
                    torch.tensor(np.asarray(part, float) * unit, requires_grad=one.trains)
                    for part in own[one.weights]
                )
                if one.trains:
                    leaves.setdefault(one.network, []).extend((w, b))
                kept = layer.outputs - layer.free
                free = b[kept:].expand(len(x), layer.free)
                sums[name] = torch.cat([x @ w[:kept].T + b[:kept], free], 1)
                x = EXACT[layer.activation].module(torch.nn)(sums[name])
            outputs[name] = x
        paths = {n: plan.paths[n][sweep] for n in rule.numbers}
        kept = {
            number: outputs[path][:, 0]
            for network, own in rule.numbers.items()
            for number, path in zip(own, paths[network], strict=True)
        }
        q, bootstrap, _ = (kept[name] for name in rule.chosen)
        error = (share * (q - fields["reward"] - fields["discount"] * bootstrap)).detach()
        objective = 0
        for turn, network in enumerate(rule.numbers):
            for path, name in enumerate(paths[network]):
                if plan.passes[name].errors:
                    own = -torch.ones_like(error) if (path + turn) % 2 else error
                    objective = objective + (own[:, None] * sums[name]).sum()
        for network, own in leaves.items():
            wanted = torch.autograd.grad(objective, own, retain_graph=True)
            found[network] = np.concatenate([g.numpy().ravel() for g in wanted])
    return found


@pytest.mark.parametrize("kind", NEAR)
@pytest.mark.parametrize("seed", SEEDS)
def test_gradients(monkeypatch, seed, kind):
    torch = pytest.importorskip("torch")
    learner, _, records, weight = made(monkeypatch, seed, kind, optimizer="sgd")
    before = copy.deepcopy(learner.parameters)
    learner.train(records, None, weight, steps(1, BATCH, clip=np.inf)[0])
    for name, wanted in gradients(torch, learner, before, records, weight).items():
        found = [np.ravel(part) for pair in learner.gradients[name] for part in pair]
        found = np.concatenate(found).astype(float)
        distance = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
        cosine = found @ wanted / np.linalg.norm(found) / np.linalg.norm(wanted)
        assert distance <= NEAR[kind][0] and cosine >= NEAR[kind][1], (name, distance, cosine)


def stepped(monkeypatch, kind):
    """``(learner, before, batch)`` after 60 steps of Adam with a limited norm."""
    learner, _, *batch = made(
        monkeypatch, 85, kind, optimizer="adam", update_units=4, clip_norm=True
    )
    before = copy.deepcopy(learner.parameters)
    for step in steps(60, BATCH, learner.config, max_norm=(0.5, 1)):
        learner.train(batch[0], None, batch[1], step)
    return learner, before, batch


@pytest.mark.parametrize("kind", NEAR)
def test_their_weights_stay_0(monkeypatch, kind):
    """In all sets, and of gradients."""
    learner, *_ = stepped(monkeypatch, kind)
    assert not any(weights.any() for weights in free_weights(learner))


def test_their_biases_learn(monkeypatch):
    learner, before, _ = stepped(monkeypatch, "fixed")
    for name in ("a", "v"):
        new, old = (each[name][-1]["online"][1] for each in (learner.parameters, before))
        assert (new != old).all()


def test_what_is_stored_can_be_loaded(monkeypatch):
    learner, *_ = stepped(monkeypatch, "fixed")
    image = learner.store()
    learner.load(image)
    assert (learner.store() == image).all()


def test_a_moment_of_0_is_divided_by_0(monkeypatch):
    """Where no floor is, which makes other weights NaN."""
    learner, _, (records, weight) = stepped(monkeypatch, "float32")
    learner.train(records, None, weight, steps(1, BATCH, learner.config, floor=0)[0])
    assert not any(weights.any() for weights in free_weights(learner))


def test_a_host_gives_them_no_weights(monkeypatch):
    learner, rng, *_ = made(monkeypatch, 82, "float32")
    text = (
        r"^v\[1\]\.online must have weights of 0 for its last 2 outputs, which are only biases, "
        "not others$"
    )
    given = zero_moments(parameters(learner.config, rng))
    with pytest.raises(UsageError, match=text):
        to_image(learner.config, given)
    given["v"][-1]["online"][0][-1] = 0  # the first of both is wrong still
    with pytest.raises(UsageError, match=text):
        to_image(learner.config, given)


def test_a_host_gives_what_the_card_has(monkeypatch):
    learner, *_ = made(monkeypatch, 82, "float32")
    image, sets, _ = to_image(learner.config, learner.parameters)
    assert (image == learner.store()).all() and sets == PARAMETER_SETS
