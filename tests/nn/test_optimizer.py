"""hw.nn.optimizer, binary32: the twin against its operations, and hardware against the twin."""

import json

import numpy as np
import pytest
from arith.float32_cases import bits
from nn.optimizer_cases import NAMES, normals, patterns, values

from hw.learner.config import LearnerConfig
from hw.learner.records import HYPERPARAMETERS
from hw.nn.optimizer import Optimizer
from hw.nn.optimizer_config import OPTIMIZERS
from sim.model.arith import float32
from sim.model.nn.optimizer import coefficients, update


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


def test_coefficients_of_a_network():
    step = np.zeros((), HYPERPARAMETERS.dtype)
    step["scale"], step["rate"], step["keep"] = 0.5, (1, 2), (3, 4)
    assert coefficients(step, 0) == (0.5, 0, 0, 0, 0, 1, 0, 0, 3)
    assert coefficients(step, 1) == (0.5, 0, 0, 0, 0, 2, 0, 0, 4)


def batch(config, c, rng, count, numbers):
    """Inputs and the twin's outputs of ``count`` parameters, by port; integers for JSON."""
    names = ("gradient", "weight", "target", "first", "second")
    operands = {name: numbers(rng, count) for name in names}
    new = update(config, c, *operands.values())
    ports = operands | {"new_weight": new.weight, "new_target": new.target}
    for name in ("first", "second"):
        if getattr(new, name) is not None:
            ports[f"new_{name}"] = getattr(new, name)
    ports = {name: bits(array).tolist() for name, array in ports.items()}
    step = sum(int(word) << 32 * k for k, word in enumerate(bits(np.array(c))))
    return ports | dict(step=f"{step:x}", saturated=[0] * count)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_hardware(simulate, tmp_path, optimizer):
    """A parameter every clock, latencies as ``timing`` says."""
    config = LearnerConfig(optimizer=optimizer, batch=16)
    rng = np.random.default_rng(4)
    hard = dict(scale=1, rate=2, floor=0, blend=1, keep=0)
    batches = [
        batch(config, values(), rng, 150, normals),
        batch(config, values(**hard), rng, 150, normals),
        batch(config, values(blend=0.5, keep=0.5), rng, 150, patterns),
        batch(config, tuple(normals(rng, 9)), rng, 50, patterns),
    ]
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(batches))
    at = Optimizer.timing(config)
    outputs = {name: at.latency for name in ("new_weight", "new_target", "saturated")}
    outputs |= {name: at.moments for name in ("new_first", "new_second")}
    inputs = dict(gradient=0, first=0, second=0, weight=at.weights, target=at.weights)
    # Ports that this optimizer does not read are driven all the same.
    simulate(
        Optimizer(config, config.arithmetic.gradient_sum_shape(config.batch)),
        "nn.optimizer_bench",
        vectors=str(file),
        inputs=inputs,
        outputs={name: clocks for name, clocks in outputs.items() if name in batches[0]},
    )
