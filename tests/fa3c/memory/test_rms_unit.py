"""rms_unit: the twin against its operations, reals and torch, and hardware against the twin."""

import numpy as np
import pytest
from arith.float32_cases import assert_same, bits, floats
from clocks import Clocks
from fa3c.memory.numbers import HARD, USUAL, normals, patterns, updated

from boards.area import synthesize
from hw.area import area
from hw.fa3c.memory.rms_unit import RmsUnit
from hw.verilog import to_verilog
from sim.model.arith import float32
from sim.model.fa3c.memory.rms import Coefficients, update
from system.tools import BUILD_DIRECTORY

#: Half of the distance from 1 to the next number: what one rounding costs.
ROUNDING = 2.0**-24


def exponents(rng, count):
    """Every exponent in turn, with any fraction and sign."""
    order = rng.permutation(np.arange(count) % 256).astype(np.uint32)
    other = rng.integers(0, 1 << 24, count, dtype=np.uint32)
    return floats(order << 23 | other & 0x7FFFFF | other >> 23 << 31)


NUMBERS = [normals, patterns, exponents]


def by_operations(c, gradient, squares, theta):
    """As the docstring of ``rms_unit`` has it, by the float32 units' own twins."""
    multiply, add = float32.multiply, float32.add
    square = multiply(gradient, gradient)
    squares = add(multiply(c.decay, squares), multiply(c.gain, square))
    step = multiply(c.rate, multiply(gradient, float32.rsqrt(add(squares, c.epsilon))))
    return squares, add(theta, -step)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_twin_is_its_operations(numbers):
    rng = np.random.default_rng(1)
    random = [Coefficients(*values) for values in numbers(rng, 80).reshape(20, 4)]
    for c in [USUAL, HARD, *random]:
        operands = [numbers(rng, 4096) for _ in range(3)]
        for got, expected in zip(updated(c, *operands), by_operations(c, *operands), strict=True):
            assert_same(bits(got), bits(expected), *map(bits, operands))


@pytest.mark.parametrize("c", [USUAL, HARD._replace(epsilon=1e-20)], ids=["usual", "hard"])
def test_twin_is_near_real_numbers(c):
    """Roundings: 3 in squares, 8 in the step (the root halves 3 of them), 1 in theta."""
    rng = np.random.default_rng(2)
    gradient, theta = normals(rng, 20_000, -20, 10), normals(rng, 20_000, -8, 3)
    squares = np.abs(normals(rng, 20_000, -16, 10))
    new_squares, new_theta = updated(c, gradient, squares, theta)
    exact = Coefficients(*(np.float64(np.float32(value)) for value in c))
    g_exact = exact.decay * squares + exact.gain * np.square(gradient, dtype=np.float64)
    assert (np.abs(new_squares - g_exact) <= 3.001 * ROUNDING * g_exact).all()
    step = exact.rate * gradient / np.sqrt(g_exact + exact.epsilon)
    bound = (4 / 2 + 3) * 1.001 * ROUNDING * np.abs(step) + ROUNDING * np.abs(theta - step)
    assert (np.abs(new_theta - (theta - step)) <= bound * 1.001).all()


def test_many_steps_of_rmsprop():
    """As ``torch.optim.RMSprop`` goes, with the floor inside the root and in float64: a hundred
    steps down a bowl end where it ends."""
    rng = np.random.default_rng(3)
    theta = normals(rng, 1000, 0, 1)
    scale, squares = np.exp2(rng.uniform(-3, 3, 1000)), np.ones(1000, np.float32)
    weight, square_avg = theta.astype(np.float64), squares.astype(np.float64)
    lr, alpha = 0.01, 0.9
    c = Coefficients(rate=lr, decay=alpha, gain=1 - alpha, epsilon=0.1)
    for _ in range(100):
        update(c, (scale * theta).astype(np.float32), squares, theta)
        grad = scale * weight
        square_avg = alpha * square_avg + (1 - alpha) * grad * grad
        weight = weight - lr * grad / np.sqrt(square_avg + 0.1)
    np.testing.assert_allclose(squares, square_avg, rtol=2e-5)
    np.testing.assert_allclose(theta, weight, atol=1e-6)


@pytest.mark.long
def test_twin_against_torch():
    """Without a floor the two are the same algorithm; torch has it outside of the root."""
    try:
        import torch
    except ImportError as error:
        pytest.fail(f"torch must be installed for this test (pip install -e '.[torch]'): {error}")
    rng = np.random.default_rng(4)
    theta, squares = normals(rng, 1000, -3, 1), np.zeros(1000, np.float32)
    weight = torch.nn.Parameter(torch.tensor(theta, dtype=torch.float64))
    peer = torch.optim.RMSprop([weight], lr=7e-4, alpha=0.99, eps=0)
    for _ in range(20):
        gradient = normals(rng, 1000, -10, 2)
        update(USUAL._replace(epsilon=0), gradient, squares, theta)
        weight.grad = torch.tensor(gradient, dtype=torch.float64)
        peer.step()
    np.testing.assert_allclose(squares, peer.state[weight]["square_avg"], rtol=1e-5)
    np.testing.assert_allclose(theta, weight.detach(), atol=1e-6)


def test_twin_takes_arrays_in_order():
    square = np.zeros((4, 4), np.float32)
    for name in ("squares", "theta"):
        arrays = {"gradient": square, "squares": square, "theta": square, name: square[:, ::2]}
        with pytest.raises(ValueError, match=rf"{name} must be in C order, not of strides \(16, 8"):
            update(USUAL, **arrays)


def test_hardware(simulate, tmp_path):
    """A parameter every clock, results when they are declared; other coefficients now and then."""
    clocks, rng = Clocks(), np.random.default_rng(5)
    cases = [(USUAL, numbers) for numbers in NUMBERS] + [(HARD, normals), (HARD, patterns)]
    cases += [(Coefficients(*patterns(rng, 4)), normals) for _ in range(3)]
    for c, numbers in cases:
        c = Coefficients(*map(np.float32, c))
        operands = [numbers(rng, 260) for _ in range(3)]
        squares, theta = updated(c, *operands)
        begin = len(clocks.inputs)
        for k in range(len(squares) + RmsUnit.LATENCY):
            # Behind the last one come any numbers.
            words = (
                operands if k < len(squares) else [patterns(rng, len(squares)) for _ in range(3)]
            )
            words = (array[k % len(squares)] for array in words)
            clocks.add(
                coefficients=c._asdict(),
                **dict(zip(("gradient", "squares", "theta"), words, strict=True)),
            )
        for k in range(len(squares)):
            clocks.expect(begin + k + RmsUnit.SQUARES_LATENCY, new_squares=squares[k])
            clocks.expect(begin + k + RmsUnit.LATENCY, new_theta=theta[k])
    clocks.run(simulate, RmsUnit(), tmp_path)


@pytest.mark.long
def test_estimate():
    """DSP blocks as yosys maps them."""
    found = synthesize(to_verilog(RmsUnit(), name="unit"), "unit", work=BUILD_DIRECTORY / "area")
    assert area("fa3c.memory.rms_unit").dsp == found["dsp"]
