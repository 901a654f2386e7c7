"""host.algorithms.autodiff: a network in training is its policy's, and one vector; what is kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from host.algorithms.autodiff import TrainingNetwork, Updater
from host.algorithms.config import Clock, TemporalDifferenceConfig
from host.algorithms.network import MLP
from tests.host.agent_parts import CONTINUOUS, DISCRETE, make, make_batch


def trained(dueling=False, **config):
    network = MLP(3, 2, (8, 6), dueling=dueling, rng=np.random.default_rng(1))
    return TrainingNetwork(network, TemporalDifferenceConfig(**config))


def obs(seed=1, rows=16):
    return torch.randn(rows, 3, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dueling", [False, True])
def test_it_is_the_policys_memory(dueling):
    each = trained(dueling)
    torch.testing.assert_close(
        each(obs()).detach(), torch.tensor(each.network.forward(obs().numpy()))
    )
    each.network.parameters += np.float32(0.1)
    after = each(obs()).detach()
    torch.testing.assert_close(after, torch.tensor(each.network.forward(obs().numpy())))
    before = each.network.parameters.copy()
    each.backward(each(obs()).square().mean())
    each.descend(0.01)
    assert not np.array_equal(each.network.parameters, before)
    np.testing.assert_array_equal(each.network.parameters, each.parameters.numpy())
    assert not each(obs()).detach().equal(after)


def test_the_target_is_its_own():
    each = trained()
    first = each.target(obs())
    assert first.equal(each(obs())) and not first.requires_grad
    each.backward(each(obs()).square().mean())
    each.descend(0.01)
    assert each.target(obs()).equal(first), "until it is synchronized"
    each.synchronize(0.5)
    middle = each.target(obs())
    assert not middle.equal(first) and not middle.equal(each(obs()))
    each.synchronize(1)
    assert each.target(obs()).equal(each(obs()))


def test_the_gradient_is_of_this_network_alone():
    one, two = (
        trained(),
        TrainingNetwork(MLP(2, 1, (4,), rng=np.random.default_rng(2)), trained().config),
    )
    one.backward(two(one(obs())).sum())
    assert one.parameters.grad.any() and not two.parameters.grad.any()
    two.backward(two(one(obs())).sum())
    assert two.parameters.grad.any()


def test_gradients_add_up_until_a_step():
    each = trained()
    each.backward(each(obs(1)).sum())
    first = each.parameters.grad.clone()
    each.backward(each(obs(2)).sum())
    both = each.parameters.grad.clone()
    each.descend(1e-3)
    assert not each.parameters.grad.any()
    each = trained()
    each.backward(each(obs(2)).sum())
    torch.testing.assert_close(both, first + each.parameters.grad)


@pytest.mark.parametrize("limit, share", [(0.01, None), (1e6, 1), (None, 1)])
def test_the_whole_gradients_norm_is_limited(limit, share):
    """By plain descent: the step is the gradient, or it scaled to the limit."""
    each = trained(optimizer="sgd", max_gradient_norm=limit)
    before = each.parameters.clone()
    each.backward(each(obs()).square().sum())
    gradient = each.parameters.grad.clone()
    assert gradient.norm() > 0.02
    each.descend(1.0)
    wanted = gradient * (share or limit / gradient.norm())
    torch.testing.assert_close(before - each.parameters, wanted, rtol=1e-3, atol=1e-6)


RULES = [  # the first two steps along a gradient of 2
    (dict(optimizer="sgd", momentum=0.9), (2, 2 * 1.9)),
    (dict(optimizer="adam", optimizer_epsilon=1e-12), (1, 1)),
    (dict(optimizer="rmsprop", decay=0.75, optimizer_epsilon=1e-12), (2, 1 / (1 - 0.75**2) ** 0.5)),
    (dict(optimizer="adam", beta1=0.0, beta2=0.0, optimizer_epsilon=6.0), (2 / (2 + 6),) * 2),
    (dict(optimizer="rmsprop", decay=0.0, optimizer_epsilon=6.0), (2 / (2 + 6),) * 2),
]


@pytest.mark.parametrize("config, steps", RULES)
def test_first_steps_by_hand(config, steps):
    each = trained(max_gradient_norm=None, **config)
    each.parameters.zero_()
    for step in steps:
        before = each.network.parameters.copy()
        each.parameters.grad.fill_(2)
        each.descend(0.1)
        np.testing.assert_allclose(before - each.network.parameters, 0.1 * step, rtol=1e-5)


@pytest.mark.parametrize("config", [dict(optimizer="sgd"), *(config for config, _ in RULES)])
def test_it_goes_on_from_its_state(config):
    whole, half = trained(**config), trained(**config)

    def step(each, i):
        each.backward(each(obs(i)).square().mean())
        each.descend(0.01)
        each.synchronize(0.3)

    for i in range(3):
        step(whole, i)
    state = whole.state_dict()
    kept = [state["target"].copy(), *(x.copy() for x in state["moments"].values())]
    half.network.parameters[...] = whole.network.parameters
    half.load_state_dict(state)
    for i in range(3, 6):
        step(whole, i)
        step(half, i)
    np.testing.assert_array_equal(whole.network.parameters, half.network.parameters)
    assert whole.target_parameters.equal(half.target_parameters)
    for old, new in zip(kept, (state["target"], *state["moments"].values()), strict=True):
        np.testing.assert_array_equal(old, new)  # a state is a copy, and so is what is loaded


def test_an_old_state_forgets_newer_moments():
    each = trained()
    first = each.state_dict()
    assert first["moments"] == {}
    start = each.network.parameters.copy()
    steps = []
    for _ in range(2):
        each.network.parameters[...] = start
        each.load_state_dict(first)
        for i in range(2):
            each.backward(each(obs(i)).square().mean())
            each.descend(0.01)
        steps.append(each.network.parameters.copy())
    np.testing.assert_array_equal(*steps)


# -- what all updaters have


def test_weighted_loss_by_hand():
    td, weights = [0.5, -0.5, 0.7, -3.0], [1, 0.5, 1, 0.25]
    squared = sum(w * e * e / 2 for w, e in zip(weights, td, strict=True)) / 4
    each = [0.125, 0.125, 0.7 * (0.7 - 0.35), 0.7 * (3 - 0.35)]
    huber = sum(w * e for w, e in zip(weights, each, strict=True)) / 4
    tensors = torch.tensor(td), torch.tensor(weights)
    for loss, wanted in (("squared", squared), ("mse", 2 * squared), ("huber", huber)):
        updater = make("dqn", loss=loss, huber_delta=0.7).updater
        assert updater.weighted_loss(*tensors).item() == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("spec, shape", [(DISCRETE, (32, 1)), (CONTINUOUS, (32, 2))])
def test_tensors(spec, shape):
    updater = make("dqn" if spec.discrete else "ddpg", spec).updater
    batch = make_batch(spec)
    tensors = updater.tensors(batch | {"indexes": None})
    assert set(tensors) == set(batch)
    action = tensors.pop("action")
    assert action.shape == shape and action.dtype == (
        torch.int64 if spec.discrete else torch.float32
    )
    np.testing.assert_array_equal(action.numpy().reshape(batch["action"].shape), batch["action"])
    for name, tensor in tensors.items():
        assert tensor.dtype == torch.float32 and tensor.numpy().tolist() == batch[name].tolist()


def test_images_and_records_are_tensors():
    """Pixels as numbers, flat; fields of records have gaps between them."""
    records = np.zeros(
        5, [("obs", np.uint8, (2, 3)), ("next_obs", np.uint8, (2, 3)), ("gap", "u1")]
    )
    records["obs"] = np.arange(30).reshape(5, 2, 3)
    batch = make_batch(rows=5) | {"obs": records["obs"], "next_obs": records["next_obs"][::-1]}
    tensors = make("dqn").updater.tensors(batch)
    assert tensors["obs"].tolist() == np.arange(30.0).reshape(5, 6).tolist()
    assert tensors["obs"].dtype == torch.float32 and tensors["next_obs"].shape == (5, 6)


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_bytes_travel_as_bytes(device):
    """To the network that makes numbers of them, on its device."""
    spec = replace(DISCRETE, shape=(2, 3, 1), dtype="uint8", exponent=-8)
    images = np.random.default_rng(0).integers(0, 256, (5, 2, 3, 1), np.uint8)
    batch = make_batch(rows=5) | {"obs": images, "next_obs": images[::-1]}
    tensors = Updater(make("dqn", spec).policy, device=device).tensors(batch)
    for name in ("obs", "next_obs"):
        assert tensors[name].dtype == torch.uint8
        assert tensors[name].tolist() == batch[name].reshape(5, 6).tolist()
    assert tensors["reward"].dtype == torch.float32


def test_normal_numbers_are_the_seeds():
    policy = make("dqn").policy
    one, same, other = (Updater(policy, seed=seed).normal((1000, 2)) for seed in (1, 1, 2))
    assert one.dtype == torch.float32 and one.equal(same) and not one.equal(other)
    assert abs(one.mean()) < 0.1 and one.std() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_finite(value):
    falling = dict(learning_rate=0.5, learning_rate_final=0.0, learning_rate_steps=100)
    updater, clock = make("dqn", **falling).updater, Clock(updates=9, steps=100)
    errors = torch.tensor([1.0, value, value])
    words = rf"^x must be finite, not {value} \(row 1 of batch 9; learning_rate 0.5 may be too high"
    with pytest.raises(ValueError, match=words):
        updater.check_finite("x", errors, clock)
    with pytest.raises(ValueError, match=rf"^loss must be finite, not {value} \(batch 9; learning"):
        updater.check_finite("loss", errors[1], clock)
    assert updater.check_finite("x", errors[:1], clock).tolist() == [1]
