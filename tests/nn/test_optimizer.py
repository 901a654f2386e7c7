"""hw.nn.optimizer: the twin against its operations, and hardware against the twin."""

import json
from fractions import Fraction

import numpy as np
import pytest
from arith.float32_cases import bits, floats

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.chain.backward_pe import gradient_sum_shape
from hw.learner.config import LearnerConfig
from hw.learner.records import HYPERPARAMETERS
from hw.nn.optimizer import Optimizer
from hw.nn.optimizer_config import BLEND_FORMAT, COEFFICIENTS, OPTIMIZERS, timing
from sim.model.arith import float32
from sim.model.arith.to_float import to_float
from sim.model.nn.optimizer import coefficients, update

NAMES = list(COEFFICIENTS.members)
FIXED = Arithmetic(kind="fixed")
#: As torch's defaults, on the first step of Adam.
USUAL = dict(
    scale=1 / 64,
    first_decay=0.9,
    first_gain=0.1,
    second_decay=0.999,
    second_gain=0.001,
    rate=3e-4,
    floor=1e-8,
    blend=0.005,
    keep=0.995,
)


def values(**changes):
    return tuple(np.float32({**USUAL, **changes}[name]) for name in NAMES)


def normals(rng, count, low=-40, high=10):
    numbers = rng.standard_normal(count) * np.exp2(rng.integers(low, high, count))
    return numbers.astype(np.float32)


def patterns(rng, count):
    """Any bits: infinities, NaNs, subnormals and zeros among them."""
    words = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    special = np.array(
        [0, 1 << 31, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x00800000],
        dtype=np.uint32,
    )
    return floats(np.where(rng.random(count) < 0.15, rng.choice(special, count), words))


def by_operations(optimizer, c, gradient, weight, target, first, second):
    """As the docstring of ``hw.nn.optimizer`` has it, by the float32 units' own twins."""
    multiply, add = float32.multiply, float32.add
    c = dict(zip(NAMES, c, strict=True))
    g = multiply(c["scale"], gradient)
    u = g
    if optimizer != "rmsprop":
        u = first = add(multiply(c["first_decay"], first), multiply(c["first_gain"], g))
    if optimizer != "sgd":
        square = multiply(c["second_gain"], multiply(g, g))
        second = add(multiply(c["second_decay"], second), square)
        root = multiply(second, float32.rsqrt(second))
        root = np.where(second == 0, np.float32(0), root)
        u = multiply(u, float32.reciprocal(add(root, c["floor"])))
    step = multiply(c["rate"], u)
    weight = add(weight, -step)
    return weight, add(multiply(c["keep"], target), multiply(c["blend"], weight)), first, second


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("numbers", [normals, patterns])
def test_twin_is_its_operations(optimizer, numbers):
    rng = np.random.default_rng(1)
    config = LearnerConfig(optimizer=optimizer)
    for c in [values(), values(floor=0, blend=1, keep=0), *numbers(rng, 90).reshape(10, 9)]:
        operands = [numbers(rng, 2000) for _ in range(5)]
        got = update(config, tuple(c), *operands)
        expected = by_operations(optimizer, c, *operands)
        for name, a, b in zip(got._fields, got, expected, strict=False):
            if a is not None:
                np.testing.assert_array_equal(bits(a), bits(b), err_msg=name)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_twin_is_near_real_numbers(optimizer):
    """Every result within a few roundings of the formula in float64."""
    rng = np.random.default_rng(2)
    weight, target, first, gradient = (normals(rng, 5000, -8, 3) for _ in range(4))
    second = np.abs(normals(rng, 5000, -16, 3))
    c = {name: np.float64(value) for name, value in zip(NAMES, values(), strict=True)}
    got = update(
        LearnerConfig(optimizer=optimizer), values(), gradient, weight, target, first, second
    )

    g = c["scale"] * gradient
    u = g if optimizer == "rmsprop" else c["first_decay"] * first + c["first_gain"] * g
    v = c["second_decay"] * second + c["second_gain"] * g**2
    if optimizer != "sgd":
        np.testing.assert_allclose(got.second, v, rtol=4e-7)
    moved = c["rate"] * (u if optimizer == "sgd" else u / (np.sqrt(v) + c["floor"]))
    expected = weight - moved
    # The decayed and the gained part may cancel: errors are those of the parts.
    parts = np.abs(c["first_decay"] * first) + np.abs(c["first_gain"] * g)
    bound = 1e-6 * np.abs(moved) * np.maximum(1, parts / np.abs(u)) + 2e-7 * np.abs(expected)
    assert (np.abs(got.weight - expected) <= bound).all()
    mixed = c["keep"] * target + c["blend"] * got.weight
    np.testing.assert_allclose(got.target, mixed, rtol=2e-7, atol=2e-7 * np.abs(target).max())


def half_up(x):
    return (2 * x + 1).__floor__() // 2


def test_fixed_twin_is_exact_arithmetic():
    """Fractions, on the step that the float32 twin finds."""
    rng = np.random.default_rng(3)
    weight_format = SQ(2, 8)
    config = LearnerConfig(
        optimizer="sgd", arithmetic=Arithmetic(kind="fixed", weight=weight_format)
    )
    count = 400
    weight, target = rng.integers(weight_format.low, weight_format.high + 1, (2, count))
    # Halves of the resolution are frequent: they go up, also below zero.
    gradient = (rng.integers(-2048, 2049, count) / 512).astype(np.float32)
    gradient[:4] = np.nan, np.inf, -np.inf, 1e30
    for blend in (0, 0.005, 0.25, 1, 1.5, np.nan, -0.5):
        c = values(scale=1, first_decay=0, first_gain=1, rate=1, blend=blend)
        got = update(config, c, gradient, weight, target, np.zeros(count, np.float32))
        ratio = Fraction(0 if np.isnan(blend) else min(max(blend, 0), 1))
        raw = half_up(Fraction(np.float32(ratio).item()) * (1 << BLEND_FORMAT.fraction))
        saturations = 0
        for k in range(count):
            g = float(gradient[k])
            if np.isfinite(g):
                exact = half_up(Fraction(g) * 256)
            else:
                exact = 0 if np.isnan(g) else int(np.sign(g)) << 60
            step = min(max(exact, weight_format.low), weight_format.high)
            exact_weight = int(weight[k]) - step
            new = min(max(exact_weight, weight_format.low), weight_format.high)
            saturations += np.isnan(g) or step != exact or new != exact_weight
            assert got.weight[k] == new
            moved = half_up(Fraction(raw * (new - int(target[k])), 1 << BLEND_FORMAT.fraction))
            assert got.target[k] == int(target[k]) + moved
        assert got.saturations == saturations > 10
        if blend == 1:
            np.testing.assert_array_equal(got.target, got.weight)


def test_coefficients_of_a_network():
    step = np.zeros((), HYPERPARAMETERS.dtype)
    step["scale"], step["rate"], step["keep"] = 0.5, (1, 2), (3, 4)
    assert coefficients(step, 0) == (0.5, 0, 0, 0, 0, 1, 0, 0, 3)
    assert coefficients(step, 1) == (0.5, 0, 0, 0, 0, 2, 0, 0, 4)


def at_the_limits(config, c, gradient, weight, target, first, second):
    """``weight``, of which some land on a limit and some one beyond; how far beyond, or 2: any."""
    limits = config.arithmetic.weight
    step = -update(config, c, gradient, 0 * weight, target, first, second).weight
    beyond = np.arange(len(weight)) % 3
    start = step + np.where(step < 0, limits.high + beyond, limits.low - beyond)
    fits = (abs(step) < limits.high) & (step != 0) & (beyond < 2)
    fits &= (limits.low <= start) & (start <= limits.high)
    for at in (limits.low, limits.low - 1, limits.high, limits.high + 1):
        assert ((start - step == at) & fits).any(), f"no weight lands on {at}"
    return np.where(fits, start, weight), np.where(fits, beyond, 2)


def batch(config, c, rng, count, numbers):
    """Inputs and the twin's outputs of ``count`` parameters, by port; integers for JSON."""
    first, second = numbers(rng, count), numbers(rng, count)
    blend = 0
    if config.arithmetic.is_float:
        raw = gradient = numbers(rng, count)
        weight, target = numbers(rng, count), numbers(rng, count)
    else:
        limits = config.arithmetic.weight
        weight, target = rng.integers(limits.low, limits.high + 1, (2, count))
        width = gradient_sum_shape(config).width
        raw = rng.integers(-(1 << (width - 1)), 1 << (width - 1), count)
        raw >>= rng.integers(0, width, count)
        gradient = to_float(raw, config.arithmetic.fraction("activation", "gradient"))
        weight, beyond = at_the_limits(config, c, gradient, weight, target, first, second)
        one = 1 << BLEND_FORMAT.fraction
        blend = half_up(Fraction(float(c[NAMES.index("blend")])) * one)
    new = update(config, c, gradient, weight, target, first, second)

    def integers(array, width=32):
        if array.dtype == np.float32:
            return bits(array).tolist()
        return [int(x) & ((1 << width) - 1) for x in array]

    width = config.arithmetic.shape("weight").width
    ports = dict(
        step=f"{sum(int(word) << 32 * k for k, word in enumerate(bits(np.array(c)))):x}",
        blend=blend,
        gradient=integers(raw, gradient_sum_shape(config).width),
        first=integers(first),
        second=integers(second),
        weight=integers(weight, width),
        target=integers(target, width),
        new_weight=integers(new.weight, width),
        new_target=integers(new.target, width),
    )
    for name in ("first", "second"):
        if getattr(new, name) is not None:
            ports[f"new_{name}"] = integers(getattr(new, name))
    if not config.arithmetic.is_float:
        alone = zip(gradient, weight, target, first, second, strict=True)
        ports["saturated"] = [
            update(config, c, *(np.array([x]) for x in one)).saturations for one in alone
        ]
        # On the limit is not clipped.
        assert {(0, 0), (1, 1)} >= {
            (int(far), int(clipped))
            for far, clipped in zip(beyond, ports["saturated"], strict=True)
            if far < 2
        }
    return ports


@pytest.mark.parametrize("arithmetic", [Arithmetic(), FIXED], ids=lambda a: a.kind)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_hardware(simulate, tmp_path, optimizer, arithmetic):
    """A parameter every clock, latencies as ``timing`` says."""
    config = LearnerConfig(optimizer=optimizer, arithmetic=arithmetic, batch=16)
    rng = np.random.default_rng(4)
    hard = dict(scale=1, rate=2, floor=0, blend=1, keep=0)
    batches = [
        batch(config, values(), rng, 150, normals),
        batch(config, values(**hard), rng, 150, normals),
        batch(config, values(blend=0.5, keep=0.5), rng, 150, patterns),
    ]
    if arithmetic.is_float:
        batches.append(batch(config, tuple(normals(rng, 9)), rng, 50, patterns))
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(batches))
    at = timing(config)
    assert Optimizer.estimate(config).latency == at.latency
    outputs = {name: at.latency for name in ("new_weight", "new_target", "saturated")}
    outputs |= {name: at.moments for name in ("new_first", "new_second")}
    inputs = dict(gradient=0, first=0, second=0, weight=at.weights, target=at.weights)
    # Ports that this optimizer does not read are driven all the same.
    simulate(
        Optimizer(config, gradient_sum_shape(config)),
        "nn.optimizer_bench",
        vectors=str(file),
        inputs=inputs,
        outputs={name: clocks for name, clocks in outputs.items() if name in batches[0]},
    )
