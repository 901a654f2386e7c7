"""The optimizers of fixed arithmetic against real numbers and torch, within a derived bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nn.exact_optimizer import ExactOptimizer, Near, moment, step
from nn.optimizer_cases import DUAL, FIXED, NAMES, Case, raw_gradients, values

from hw.nn.optimizer_config import BLEND_FORMAT, OPTIMIZERS
from sim.model.nn.optimizer import update

UNIT = 2.0**-FIXED.gradient_sum_fraction
RESOLUTION = FIXED.weight.resolution
WIDTH = Case().sum_shape.width
STEPS = 3000


def named(c):
    return {name: np.float64(value) for name, value in zip(NAMES, c, strict=True)}


def within(got, near):
    return (np.abs(np.float64(got) - near.value) <= near.error).all()


def moved_from_zero(config, c, gradient, first, second):
    """What the twin's weights, all 0 at first, move by; and its new moments."""
    zero = np.zeros(len(gradient), np.int64)
    new = update(config, c, gradient, zero, zero, first, second)
    return -config.arithmetic.weight.to_float(new.weight), new


def check_step(optimizer, c, gradient, first, second, arithmetic=FIXED):
    config, weight = Case(optimizer, arithmetic), arithmetic.weight
    got, new = moved_from_zero(config, c, gradient, first, second)
    c, none = named(c), np.zeros(len(gradient))
    g = c["scale"] * 2.0**-arithmetic.gradient_sum_fraction * gradient
    near = Near(g, 2.0**-16 * np.abs(g))
    if optimizer != "rmsprop":
        old = Near(first.astype(np.float64), none)
        near = moment("first", old, c["first_decay"], c["first_gain"] * g)
        assert within(new.first, near)
    divided = None
    if optimizer != "sgd":
        old = Near(second.astype(np.float64), none)
        divided = moment("second", old, c["second_decay"], c["second_gain"] * g**2)
        assert within(new.second, divided)
    expected = step(near, divided, c["rate"], c["floor"])
    limit = weight.high * weight.resolution
    inside = np.abs(expected.value) + expected.error < limit
    error = expected.error + weight.resolution / 2
    assert (np.abs(got - expected.value) <= error)[inside].all()
    assert (np.abs(got) >= limit)[np.abs(expected.value) - expected.error > 2 * limit].all()
    return np.abs(got - expected.value)[inside] / error[inside]


@pytest.mark.parametrize("arithmetic", [FIXED, DUAL], ids=lambda a: a.kind)
@pytest.mark.parametrize("blend", [2.0**-17, 0.005, 0.5, 1.0])
def test_targets_are_rounded_half_up(arithmetic, blend):
    """In integers, by the formula: hardware and twin might round otherwise alike."""
    rng, limits, one = np.random.default_rng(1), arithmetic.weight, 1 << BLEND_FORMAT.fraction
    weight, target = rng.integers(limits.low, limits.high + 1, (2, 1000))
    near = target[:500] + rng.integers(-300, 300, 500)  # halves are among them
    weight[:500] = np.clip(near, limits.low, limits.high)
    none = np.zeros(len(weight), np.float32)
    c = values(blend=blend)
    got = update(Case("sgd", arithmetic), c, np.zeros(1000, np.int64), weight, target, none, none)
    assert (got.weight == weight).all()
    part = int(np.float64(np.float32(blend)) * one + 0.5)
    moved = [2 * part * (int(w) - int(t)) + one for w, t in zip(weight, target, strict=True)]
    assert (got.target == target + np.array([each // (2 * one) for each in moved])).all()


MAGNITUDES = st.tuples(
    st.integers(-(1 << (WIDTH - 1)), (1 << (WIDTH - 1)) - 1),
    st.integers(0, WIDTH - 1),
    st.floats(-1, 1, width=32),
    st.integers(-60, 20),
    st.floats(0, 1, width=32),
    st.integers(-100, 20),
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@settings(max_examples=100, database=None, deadline=None)
@given(
    numbers=st.lists(MAGNITUDES, min_size=1, max_size=20),
    decays=st.tuples(st.floats(0, 1, width=32), st.floats(0.5, 1, width=32)),
    scale=st.integers(-14, 4),
    floor=st.integers(-60, 0),
)
def test_one_step(optimizer, numbers, decays, scale, floor):
    raw, drop, first, far, second, deep = map(np.array, zip(*numbers, strict=True))
    first = (first * np.exp2(far)).astype(np.float32)
    second = (second * np.exp2(deep)).astype(np.float32)
    c = values(
        first_decay=decays[0],
        first_gain=1 - np.float64(decays[0]),
        second_decay=decays[1],
        second_gain=1 - np.float64(decays[1]),
        scale=2.0**scale,
        floor=2.0**floor,
    )
    check_step(optimizer, c, raw >> drop, first, second)


@pytest.mark.parametrize("arithmetic", [FIXED, DUAL], ids=lambda a: a.kind)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_bound_is_not_loose(optimizer, arithmetic):
    """Of a hundred thousand random steps, the worst comes to an eighth of the bound, or further."""
    rng, count = np.random.default_rng(1), 100_000
    gradient = raw_gradients(rng, count, arithmetic.gradient_sum_shape(64).width)
    first = (rng.standard_normal(count) * np.exp2(rng.integers(-24, 6, count))).astype(np.float32)
    second = np.exp2(rng.uniform(-50, 10, count)).astype(np.float32)
    c = values(rate=0.3, scale=0.3, floor=3e-3)
    worst = check_step(optimizer, c, gradient, first, second, arithmetic).max()
    assert 1 / 8 < worst <= 1, worst


def runs(rng):
    """Raw gradients [steps, parameters]: constant, vanishing, with a jump by 2^20, noise."""
    size = np.exp2(rng.uniform(0, 30, 16))
    constant = np.broadcast_to(size.astype(np.int64), (STEPS, 16))
    vanishing = (np.exp2(rng.uniform(20, 36, 16)) * 0.97 ** np.arange(STEPS)[:, None]).astype(int)
    jump = (constant >> 12).copy()
    jump[STEPS // 2] <<= 20
    noise = (rng.standard_normal((STEPS, 16)) * np.exp2(rng.uniform(4, 34, 16))).astype(np.int64)
    return np.concatenate([constant, vanishing, jump, noise], axis=1)


@pytest.mark.parametrize("decays", [(0.9, 0.999), (0.99, 0.9999)], ids=str)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_runs(optimizer, decays):
    """Moments and weights of thousands of steps do not drift beyond the sum of their errors."""
    config = Case(optimizer)
    gains = [1 - np.float64(np.float32(decay)) for decay in decays]
    gradients = runs(np.random.default_rng(2))
    count = gradients.shape[1]
    exact = ExactOptimizer(optimizer, np.zeros(count), RESOLUTION)
    weight = np.zeros(count, np.int64)
    first = second = np.zeros(count, np.float32)
    for number, gradient in enumerate(gradients, 1):
        # As Adam has it: the bias corrections in rate and floor.
        short, long = (1 - np.float64(np.float32(decay)) ** number for decay in decays)
        c = values(
            first_decay=decays[0],
            first_gain=gains[0],
            second_decay=decays[1],
            second_gain=gains[1],
            rate=1e-4 * np.sqrt(long) / short if optimizer != "sgd" else 1e-4,
            floor=1e-8 * np.sqrt(long),
        )
        new = update(config, c, gradient, weight, weight, first, second)
        weight, first, second = new.weight, new.first, new.second
        exact.update(named(c), gradient * UNIT)
    inside = np.abs(exact.weight.value) < 7
    got = FIXED.weight.to_float(weight)
    assert (np.abs(got - exact.weight.value) <= exact.weight.error)[inside].all()
    assert first is None or within(first, exact.first)
    if second is not None:
        assert within(second, exact.second)
        # No bias of rounding adds up: what is left of 2^-24 a step, over 1 / (1 - decay).
        large = exact.second.value > 2.0**-100
        off = np.abs(second[large] / exact.second.value[large] - 1)
        assert off.max() <= 2.0**-15 + 2.0**-25 / gains[1]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_against_torch(optimizer):
    """200 steps of torch's own optimizers in float64."""
    torch = pytest.importorskip("torch")
    config = Case(optimizer)
    decays = [float(np.float32(decay)) for decay in (0.9, 0.999)]
    rng, count, rate, scale = np.random.default_rng(3), 50, 1e-3, 1 / 64
    own = torch.zeros(count, dtype=torch.float64, requires_grad=True)
    optimizers = {
        "adam": lambda: torch.optim.Adam([own], rate, betas=decays, eps=1e-6),
        "rmsprop": lambda: torch.optim.RMSprop([own], rate, alpha=decays[1], eps=1e-2),
        "sgd": lambda: torch.optim.SGD([own], rate, momentum=decays[0]),
    }
    rule = optimizers[optimizer]()
    exact = ExactOptimizer(optimizer, np.zeros(count), RESOLUTION)
    weight = np.zeros(count, np.int64)
    first = second = np.zeros(count, np.float32)
    size = np.exp2(rng.uniform(10, 28, count))
    for number in range(1, 201):
        gradient = (rng.standard_normal(count) * size).astype(np.int64)
        own.grad = torch.tensor(gradient * UNIT * scale)
        rule.step()
        long = np.sqrt(1 - decays[1] ** number)
        c = values(
            first_gain=1 if optimizer == "sgd" else 1 - decays[0],
            second_gain=1 - decays[1],
            rate=rate * long / (1 - decays[0] ** number) if optimizer == "adam" else rate,
            floor={"adam": 1e-6 * long, "rmsprop": 1e-2, "sgd": 0}[optimizer],
        )
        new = update(config, c, gradient, weight, weight, first, second)
        weight, first, second = new.weight, new.first, new.second
        exact.update(named(c), gradient * UNIT)
    got, expected = FIXED.weight.to_float(weight), own.detach().numpy()
    # Rate and floor are binary32, and torch's are not.
    slack = 2.0**-22 * 200 * rate * (4 if optimizer != "sgd" else 1000)
    assert (np.abs(got - expected) <= exact.weight.error + slack).all()
    assert np.abs(expected).max() > 0.01
