"""host.algorithms.network against torch.nn and its definition; first weights; one vector."""

import numpy as np
import pytest
import torch
from nn.exact_activation import EXACT

from host.algorithms.activation import ACTIVATIONS
from host.algorithms.network import MLP
from tests.host.agent_parts import Peer

NAMES = ", ".join(ACTIVATIONS)
SHAPES = [(4, 2, (64, 64)), (3, 5, (7,)), (1, 1, (1,)), (6, 3, (5, 9, 4))]


def make(inputs, outputs, hidden, **options):
    network = MLP(inputs, outputs, hidden, rng=np.random.default_rng(3), **options)
    # Biases start at zero, where a missing term would not show.
    noise = np.random.default_rng(4).normal(0, 0.1, len(network.parameters))
    network.parameters += noise.astype(np.float32)
    return network


def observations(rows, size):
    return np.random.default_rng(rows).normal(size=(rows, size)).astype(np.float32)


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_forward_is_torchs(shape, activation, dueling):
    network = make(*shape, activation=activation, dueling=dueling)
    peer = Peer(network)
    np.testing.assert_array_equal(peer.flat, network.parameters)
    for rows in (1, 2, 9):
        x = observations(rows, shape[0])
        q = network.forward(x)
        assert q.dtype == np.float32 and q.shape == (rows, shape[1])
        expected = peer(torch.from_numpy(x)).detach().numpy()
        np.testing.assert_allclose(q, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", ["linear", *ACTIVATIONS])
def test_output_activation_is_torchs(activation, output):
    network = make(3, 2, (6, 5), activation=activation, output_activation=output)
    x = observations(40, 3)
    expected = Peer(network)(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(network.forward(x), expected, rtol=1e-5, atol=1e-6)
    assert output == "linear" or abs(network.forward(x) - make(3, 2, (6, 5)).forward(x)).max() > 0.1


def test_dueling_by_hand():
    """(Wang et al., 2016, eq. 9): the advantages of a row are 0 on average."""
    network = MLP(1, 3, (1,), dueling=True, rng=np.random.default_rng(0))
    # Hidden value and advantage 2x and 3x; v = 5 h_v + 1, a = (1, 2, 6) h_a + (0, 0, 3).
    network.parameters[...] = [2, 3, 0, 0, 5, 1, 1, 2, 6, 0, 0, 3]
    v, a = 5 * 2 + 1, np.array([3, 6, 18 + 3])
    np.testing.assert_allclose(network.forward(np.float32([[1]])), [v + a - 10], rtol=1e-6)


def test_no_hidden_layer_is_linear():
    network = make(3, 2, ())
    expected = network.weights[0] + network.biases[0]
    np.testing.assert_allclose(network.forward(np.eye(3, dtype=np.float32)), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "dueling, shapes",
    [
        (False, [(3, 4), (4,), (4, 6), (6,), (6, 2), (2,)]),
        (True, [(3, 4), (4,), (4, 12), (12,), (6, 1), (1,), (6, 2), (2,)]),
    ],
)
def test_arrays_are_views_of_the_vector(dueling, shapes):
    network = make(3, 2, (4, 6), dueling=dueling)
    assert [array.shape for array in network.arrays] == shapes
    assert network.weights == network.arrays[::2] and network.biases == network.arrays[1::2]
    network.parameters[...] = np.arange(len(network.parameters))
    flat = np.concatenate([array.ravel() for array in network.arrays])
    np.testing.assert_array_equal(flat, np.arange(len(network.parameters)))
    network.arrays[-1][-1] = 77
    assert network.parameters[-1] == 77


@pytest.mark.parametrize("dueling", [False, True])
def test_move(dueling):
    """Into a part of a larger vector: the numbers there are its own, and no others."""
    network, x = make(3, 2, (4,), dueling=dueling), observations(5, 3)
    before, old, count = network.forward(x), network.parameters, len(network.parameters)
    larger = np.full(count + 5, 9, np.float32)
    larger[2 : 2 + count] = old
    network.move(larger[2 : 2 + count])
    np.testing.assert_array_equal(network.forward(x), before)
    larger[2 : 2 + count] *= 2
    assert not np.array_equal(network.forward(x), before)
    network.parameters[...] = 0
    assert larger.tolist() == [9, 9, *[0] * count, 9, 9, 9] and old.any()
    assert not network.forward(x).any()


# -- first weights


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_weights_start_kaiming_uniform(activation):
    network = MLP(50, 40, (400,), activation=activation, rng=np.random.default_rng(9))
    gain = EXACT[activation].gain(torch.nn.init)
    for weight, bias, g in zip(network.weights, network.biases, (gain, 1.0), strict=True):
        bound = g * (3 / weight.shape[0]) ** 0.5
        assert abs(weight).max() <= bound and abs(weight).max() > 0.99 * bound
        assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.02)
        assert not bias.any()


@pytest.mark.parametrize("inputs, outputs", [(3, 2), (20, 30), (8, 8)])
def test_weights_start_orthogonal(inputs, outputs):
    """Gain sqrt(2), and output_gain in the last layer; whichever of rows and columns are fewer."""
    options = dict(orthogonal=True, output_gain=0.5, activation="tanh")
    network = MLP(inputs, outputs, (16, 9), rng=np.random.default_rng(1), **options)
    for weight, square in zip(network.weights, (2, 2, 0.25), strict=True):
        small = weight if weight.shape[0] <= weight.shape[1] else weight.T
        np.testing.assert_allclose(small @ small.T, square * np.eye(len(small)), atol=1e-5)
    assert not any(bias.any() for bias in network.biases)


def test_orthogonal_weights_have_no_direction():
    """As Haar's measure: each sign of each element is as likely, without which QR's are not."""
    networks = [MLP(2, 2, (), orthogonal=True, rng=np.random.default_rng(s)) for s in range(400)]
    positive = np.mean([network.weights[0] > 0 for network in networks], axis=0)
    np.testing.assert_allclose(positive, 0.5, atol=0.1)  # 4 deviations


@pytest.mark.parametrize("orthogonal", [False, True])
def test_output_gain_scales_the_last_layer_alone(orthogonal):
    one, small = (
        MLP(3, 2, (4,), output_gain=g, orthogonal=orthogonal, rng=np.random.default_rng(3))
        for g in (1, 0.01)
    )
    np.testing.assert_array_equal(one.weights[0], small.weights[0])
    np.testing.assert_allclose(one.weights[1] * 0.01, small.weights[1], rtol=1e-6)


def test_rejects():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=f"^activation must be one of {NAMES}, not 'gelu'$"):
        MLP(1, 1, (4,), activation="gelu", rng=rng)
    with pytest.raises(ValueError, match=r"^hidden must have a layer when dueling, not \(\)$"):
        MLP(1, 1, (), dueling=True, rng=rng)
    with pytest.raises(ValueError, match=f"^output_activation must be one of linear, {NAMES}, "):
        make(3, 2, (4,), output_activation="gelu")
    with pytest.raises(ValueError, match="^output_activation must be linear when dueling, not"):
        make(3, 2, (4,), dueling=True, output_activation="tanh")
