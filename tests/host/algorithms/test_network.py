"""host.algorithms.network, loss and optimizer against finite differences and published formulas."""

import numpy as np
import pytest

from host.algorithms.loss import weighted_loss
from host.algorithms.network import MLP
from host.algorithms.optimizer import SGD, Adam, RMSProp

SHAPES = [(4, 2, (64, 64)), (3, 5, (7,)), (1, 1, (1,)), (6, 3, (5, 9, 4))]


def reference_q(network, flat, x):
    """The network once more, from its definition, one row and one layer at a time."""
    at, layers = 0, []
    for weight in network.weights:
        fan_in, fan_out = weight.shape
        w = flat[at : at + fan_in * fan_out].reshape(fan_in, fan_out)
        at += fan_in * fan_out
        layers.append((w, flat[at : at + fan_out]))
        at += fan_out
    assert at == len(flat)
    rows = []
    for h in x:
        *hidden, last = layers
        if network.dueling:
            *hidden, value = hidden
        for w, b in hidden:
            z = h @ w + b
            h = np.tanh(z) if network.activation == "tanh" else np.where(z > 0, z, 0)
        if network.dueling:
            half = len(h) // 2
            v = h[:half] @ value[0] + value[1]
            a = h[half:] @ last[0] + last[1]
            rows.append(v + a - a.sum() / len(a))
        else:
            rows.append(h @ last[0] + last[1])
    return np.array(rows)


def make(inputs, outputs, hidden, **options):
    network = MLP(inputs, outputs, hidden, rng=np.random.default_rng(3), **options)
    # Biases start at zero, where a missing term would not show.
    network.parameters += np.random.default_rng(4).normal(0, 0.1, len(network.parameters))
    return network


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("shape", SHAPES)
def test_forward_is_its_definition(shape, activation, dueling):
    network = make(*shape, activation=activation, dueling=dueling, dtype=np.float64)
    for rows in (1, 2, 9):
        x = np.random.default_rng(rows).normal(size=(rows, shape[0]))
        expected = reference_q(network, network.parameters, x)
        np.testing.assert_allclose(network.forward(x), expected, rtol=1e-12, atol=1e-12)


def test_no_hidden_layer_is_linear():
    network = make(3, 2, (), dtype=np.float64)
    x = np.eye(3)
    expected = network.weights[0] + network.biases[0]
    np.testing.assert_allclose(network.forward(x), expected, rtol=1e-15)
    network.backward(np.ones((3, 2)))
    np.testing.assert_allclose(network.gradient, [1] * 6 + [3, 3])


def huber(e, delta):
    return 0.5 * e**2 if abs(e) <= delta else delta * (abs(e) - 0.5 * delta)


@pytest.mark.parametrize("loss", ["huber", "squared"])
@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(8,), (6, 5, 4)])
def test_gradient_is_the_central_difference(hidden, activation, dueling, loss):
    rng = np.random.default_rng(5)
    network = make(3, 4, hidden, activation=activation, dueling=dueling, dtype=np.float64)
    rows, delta = 7, 0.7
    x, action = rng.normal(size=(rows, 3)), rng.integers(4, size=rows)
    target, weights = rng.normal(0, 2, rows), rng.uniform(0.1, 1, rows)

    def objective(flat):
        q = reference_q(network, flat, x)
        errors = [target[i] - q[i, action[i]] for i in range(rows)]
        each = [huber(e, delta) if loss == "huber" else 0.5 * e**2 for e in errors]
        return sum(w * e for w, e in zip(weights, each, strict=True)) / rows

    q = network.forward(x)
    td = target - q[np.arange(rows), action]
    assert (abs(td) > delta).any() and (abs(td) < delta).any()
    value, derivative = weighted_loss(loss, td, weights, delta=delta)
    assert value == pytest.approx(objective(network.parameters), rel=1e-12)
    dq = np.zeros_like(q)
    dq[np.arange(rows), action] = -derivative
    network.backward(dq)

    step, numeric = 1e-6, np.empty(len(network.parameters))
    for i in range(len(numeric)):
        moved = np.zeros(len(numeric))
        moved[i] = step
        high, low = objective(network.parameters + moved), objective(network.parameters - moved)
        numeric[i] = (high - low) / (2 * step)
    np.testing.assert_allclose(network.gradient, numeric, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("output", ["linear", "relu", "tanh"])
def test_gradients_through_the_output_and_by_the_inputs(output):
    rng = np.random.default_rng(8)
    network = make(3, 2, (6, 5), output_activation=output, dtype=np.float64)
    x, dq = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))

    def central(array):
        """Central difference of ``sum dq q`` by the elements of ``array``, in place."""
        numeric, flat = np.empty(array.size), array.reshape(-1)
        for i in range(array.size):
            values = []
            for moved in (1e-6, -2e-6):
                flat[i] += moved
                values.append(float((network.forward(x) * dq).sum()))
            flat[i] += 1e-6
            numeric[i] = (values[0] - values[1]) / 2e-6
        return numeric.reshape(array.shape)

    by_parameters, by_inputs = central(network.parameters), central(x)
    given = dq.copy()
    network.forward(x)
    network.backward(dq)
    np.testing.assert_allclose(network.gradient, by_parameters, rtol=1e-6, atol=1e-8)
    network.gradient[...] = 7
    np.testing.assert_allclose(network.input_gradient(dq), by_inputs, rtol=1e-6, atol=1e-8)
    assert (network.gradient == 7).all() and (dq == given).all()


def test_output_gain_scales_the_last_layer_alone():
    one, small = (MLP(3, 2, (4,), output_gain=g, rng=np.random.default_rng(3)) for g in (1, 0.01))
    np.testing.assert_array_equal(one.weights[0], small.weights[0])
    np.testing.assert_allclose(one.weights[1] * 0.01, small.weights[1], rtol=1e-6)


def test_dueling_has_neither():
    with pytest.raises(ValueError, match="^output_activation must be linear when dueling, not"):
        make(3, 2, (4,), dueling=True, output_activation="tanh")
    network = make(3, 2, (4,), dueling=True)
    network.forward(np.ones((1, 3), np.float32))
    with pytest.raises(ValueError, match="^dueling must be False for the gradient by the inputs"):
        network.input_gradient(np.ones((1, 2), np.float32))


@pytest.mark.parametrize("dueling", [False, True])
def test_float32_follows_float64(dueling):
    small = make(4, 2, (64, 64), dueling=dueling)
    large = make(4, 2, (64, 64), dueling=dueling, dtype=np.float64)
    large.parameters[...] = small.parameters
    x = np.random.default_rng(6).normal(size=(64, 4)).astype(np.float32)
    q = small.forward(x)
    assert q.dtype == small.gradient.dtype == np.float32
    np.testing.assert_allclose(q, large.forward(x.astype(np.float64)), rtol=1e-4, atol=1e-5)
    dq = np.random.default_rng(7).normal(size=(64, 2))
    small.backward(dq.astype(np.float32))
    large.backward(dq)
    np.testing.assert_allclose(small.gradient, large.gradient, rtol=1e-3, atol=1e-3)


def test_backward_belongs_to_the_last_forward():
    network = make(3, 2, (5,), dtype=np.float64)
    rng = np.random.default_rng(8)
    x, other, dq = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    network.forward(x)
    network.backward(dq)
    expected = network.gradient.copy()
    for first in (other, other[:2]):
        network.forward(first)
        network.forward(x)
        network.backward(dq)
        np.testing.assert_array_equal(network.gradient, expected)


@pytest.mark.parametrize("activation, gain", [("relu", 2**0.5), ("tanh", 5 / 3)])
def test_weights_start_kaiming_uniform(activation, gain):
    network = MLP(50, 40, (400,), activation=activation, rng=np.random.default_rng(9))
    for weight, bias, g in zip(network.weights, network.biases, (gain, 1.0), strict=True):
        bound = g * (3 / weight.shape[0]) ** 0.5
        assert abs(weight).max() <= bound and abs(weight).max() > 0.99 * bound
        assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.02)
        assert not bias.any()


def test_optimizers_first_steps_by_hand():
    gradient = np.array([0.5, -2.0, 0.0])
    for make_optimizer, directions in [
        (lambda p: SGD(p, momentum=0.9), [gradient, 1.9 * gradient]),
        (lambda p: Adam(p, epsilon=0), [np.sign(gradient)] * 2),
        (
            lambda p: RMSProp(p, decay=0.75, epsilon=0),
            [2 * np.sign(gradient), np.sign(gradient) / (1 - 0.75**2) ** 0.5],
        ),
    ]:
        parameters = np.zeros(3)
        optimizer, expected = make_optimizer(parameters), np.zeros(3)
        with np.errstate(invalid="ignore"):
            for direction in directions:
                optimizer.step(gradient, 0.1)
                expected = expected - 0.1 * direction
        # 0 / 0 without an epsilon: the third only shows that a zero gradient stays defined by it.
        np.testing.assert_allclose(parameters[:2], expected[:2], rtol=1e-12)
        assert optimizer.updates == 2 and (gradient == [0.5, -2.0, 0.0]).all()


@pytest.mark.parametrize("kind", [SGD, RMSProp, Adam])
def test_optimizer_resumes(kind):
    rng = np.random.default_rng(10)
    gradients = rng.normal(size=(6, 20))
    whole, first, second = np.ones(20), np.ones(20), np.ones(20)
    straight, before, after = kind(whole), kind(first), kind(second)
    for g in gradients:
        straight.step(g, 0.01)
    for g in gradients[:3]:
        before.step(g, 0.01)
    second[...] = first
    after.load_state_dict(before.state_dict())
    for g in gradients[3:]:
        after.step(g, 0.01)
    np.testing.assert_array_equal(second, whole)


def test_rejects():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"^activation must be one of relu, tanh, not 'gelu'$"):
        MLP(1, 1, (4,), activation="gelu", rng=rng)
    with pytest.raises(ValueError, match=r"^hidden must have a layer when dueling, not \(\)$"):
        MLP(1, 1, (), dueling=True, rng=rng)
    with pytest.raises(ValueError, match=r"^output_activation must be one of linear, relu, tanh"):
        make(3, 2, (4,), output_activation="gelu")
