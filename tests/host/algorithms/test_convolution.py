"""host.algorithms.convolution against torch.nn, and against the twin of kernel ``a3c``."""

import re

import numpy as np
import pytest
import torch
from fa3c.networks import NETWORKS, random_networks
from fa3c.reference import Reference
from torch import nn

import boards
from host.a3c.parameter_image import observation_rows, parameter_shapes, to_image
from host.algorithms.autodiff import TrainingNetwork
from host.algorithms.convolution import CONVOLUTIONS, ConvNet, default_convolutions
from host.algorithms.dqn import DQNConfig
from host.algorithms.network import MLP
from host.environments.spec import Spec
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.design import DESIGN


def spec_of(shape, dtype="uint8", exponent=-8, actions=5):
    return Spec(shape, dtype, True, actions, exponent if dtype == "uint8" else 0)


#: Strides and kernels that leave pixels over and that do not; odd sizes; one pixel; no layer.
CASES = {
    "screens": (spec_of((44, 36, 4)), ((6, 8, 4), (5, 4, 2)), (20,)),
    "planes": (spec_of((10, 10, 4), exponent=0), ((16, 3, 1),), (12, 7)),
    "odd": (spec_of((9, 14, 3)), ((5, 3, 2), (4, 2, 1), (3, 2, 2)), (6,)),
    "one pixel": (spec_of((6, 4, 2)), ((3, 4, 3),), ()),
    "kernel of one": (spec_of((3, 2, 5)), ((4, 1, 1),), (6,)),
    "numbers": (spec_of((7, 6, 2), "float32"), ((4, 3, 2),), (6,)),
    "no convolution": (spec_of((5, 4, 3)), (), (6,)),
}
each_case = pytest.mark.parametrize("spec, convolutions, hidden", CASES.values(), ids=CASES)


def make(spec, convolutions, hidden, **options):
    rng = np.random.default_rng(3)
    options = dict(convolutions=convolutions, hidden=hidden, rng=rng) | options
    network = ConvNet(spec, spec.action_count, **options)
    # Biases start at zero, where a missing term would not show.
    noise = np.random.default_rng(4).normal(0, 0.1, len(network.parameters))
    network.parameters += noise.astype(np.float32)
    return network


def observations(spec, rows):
    rng, shape = np.random.default_rng(rows), (rows, *spec.shape)
    if spec.dtype == "float32":
        return rng.standard_normal(shape, np.float32)
    return rng.integers(0, 256 if spec.exponent else 2, shape, np.uint8)


def peer(spec, network, convolutions):
    """torch.nn's network with the weights of ``network.layers``."""
    modules, channels = [], spec.shape[2]
    layers = list(network.layers)
    for filters, kernel, stride in convolutions:
        modules += [nn.Conv2d(channels, filters, kernel, stride), nn.ReLU()]
        channels = filters
    modules.append(nn.Flatten())
    for weight, _ in layers[len(convolutions) :]:
        modules += [nn.Linear(*reversed(weight.shape)), nn.ReLU()]
    made = nn.Sequential(*modules[:-1])
    with torch.no_grad():
        learned = [module for module in made if hasattr(module, "weight")]
        for module, (weight, bias) in zip(learned, layers, strict=True):
            module.weight.copy_(torch.tensor(weight))
            module.bias.copy_(torch.tensor(bias))
    return made


def inputs(spec, x):
    return torch.tensor(x, dtype=torch.float32).permute(0, 3, 1, 2) * 2.0**spec.exponent


@each_case
def test_forward_is_torchs(spec, convolutions, hidden):
    network = make(spec, convolutions, hidden)
    other = peer(spec, network, convolutions)
    for rows in (1, 2, 9):
        x = observations(spec, rows)
        expected = other(inputs(spec, x)).detach().numpy()
        for given in (x, x.reshape(rows, -1), x.astype(np.float32)):
            q = network.forward(given)
            assert q.dtype == np.float32 and q.shape == (rows, 5)
            np.testing.assert_allclose(q, expected, rtol=1e-5, atol=1e-5)
    assert network.forward(x[:0]).shape == (0, 5)


@each_case
def test_gradients_are_torchs(spec, convolutions, hidden):
    """Of bytes as they are, flat; of the target too, whose weights are others."""
    network = make(spec, convolutions, hidden)
    trained, other = TrainingNetwork(network, DQNConfig()), peer(spec, network, convolutions)
    x = observations(spec, 6)
    wanted = torch.from_numpy(np.random.default_rng(8).standard_normal((6, 5), np.float32))
    outputs, expected = trained(torch.from_numpy(x.reshape(6, -1))), other(inputs(spec, x))
    torch.testing.assert_close(outputs, expected, rtol=1e-5, atol=1e-5)
    trained.backward((outputs - wanted).square().sum())
    (expected - wanted).square().sum().backward()
    learned = [module for module in other if hasattr(module, "weight")]
    gradients = trained.parameters.grad.clone().numpy()
    network.move(gradients)  # its views of them, by layer
    for (weight, bias), module in zip(network.layers, learned, strict=True):
        for own, theirs in ((weight, module.weight.grad), (bias, module.bias.grad)):
            atol = 1e-5 * float(theirs.abs().max())
            assert atol > 0
            np.testing.assert_allclose(own, theirs.numpy(), rtol=1e-4, atol=atol)
    trained.target_parameters.mul_(0.5)
    assert not torch.equal(trained.target(torch.from_numpy(x)), outputs)


def test_vectors_are_an_mlps():
    """With and without dueling; what is not an image enters as it lies."""
    for spec in (spec_of((6,), "float32"), spec_of((2, 3), "float32"), spec_of((3, 2))):
        x = observations(spec, 4)
        for options in (dict(dueling=True), dict(activation="tanh", output_gain=0.1)):
            network = make(spec, (), (7,), **options)
            plain = MLP(6, 5, (7,), rng=np.random.default_rng(3), **options)
            plain.parameters[...] = network.parameters
            expected = plain.forward(x.reshape(4, 6) * np.float32(2.0**spec.exponent))
            np.testing.assert_array_equal(network.forward(x), expected)
    first = ConvNet(spec, 5, convolutions=(), hidden=(7,), rng=np.random.default_rng(3))
    plain = MLP(6, 5, (7,), rng=np.random.default_rng(3))
    np.testing.assert_array_equal(first.parameters, plain.parameters)


def test_dueling_behind_convolutions():
    """The advantages of a row are 0 on average (Wang et al., 2016, eq. 9)."""
    spec, convolutions, hidden = CASES["planes"]
    network = make(spec, convolutions, hidden, dueling=True)
    x = observations(spec, 3)
    value_weight, value_bias = network.arrays[-4:-2]
    value_weight[...] = 0
    np.testing.assert_allclose(
        network.forward(x).mean(1), np.full(3, value_bias[0]), rtol=1e-4, atol=1e-5
    )


# -- kernel a3c


def minatar():
    """FA3C on a board that is not large: MinAtar's network."""
    config = DESIGN.default(boards.get("zcu106").numbers)
    assert (config.height, config.channels) == (10, 4)
    return config


def of_kernel(config, **options):
    """``(spec, ConvNet)`` as a kernel's config says."""
    shape, dtype = (config.height, config.width, config.channels), "uint8"
    dtype = "float32" if config.binary32 else dtype
    spec = spec_of(shape, dtype, config.input_exponent, config.outputs)
    return spec, make(spec, config.convolutions, config.hidden, **options)


def parameters_of(network):
    return {
        f"layer{number}.{name}": array
        for number, layer in enumerate(network.layers)
        for name, array in zip(("weight", "bias"), layer, strict=True)
    }


@pytest.mark.parametrize("config", [Fa3cConfig(), minatar(), *NETWORKS.values()])
def test_layers_are_the_kernels(config):
    spec, network = of_kernel(config)
    shapes = {name: array.shape for name, array in parameters_of(network).items()}
    assert shapes == parameter_shapes(config)
    assert all(np.shares_memory(a, network.parameters) for a in parameters_of(network).values())
    assert sum(map(np.prod, shapes.values())) == len(network.parameters)


def test_the_kernels_networks_are_the_defaults():
    for config in (Fa3cConfig(), minatar()):
        assert default_convolutions(of_kernel(config)[0]) == config.convolutions


@pytest.mark.parametrize("config", [*NETWORKS.values(), *random_networks(12, seed=5)])
def test_outputs_are_the_kernels(config):
    """The card's numbers from these weights, where its first layer is in torch's order."""
    spec, network = of_kernel(config)
    x = observations(spec, 3)
    theta = to_image(config, parameters_of(network)).view(np.float32)
    rows = Reference(config, theta).infer(observation_rows(config, x))[-1]
    outputs = rows.view(np.float32).reshape(3, -1)[:, : config.outputs]
    np.testing.assert_allclose(network.forward(x), outputs, rtol=1e-4, atol=1e-4)
    assert abs(outputs).max() > 0.1


# -- one vector


def test_arrays_are_views_of_the_vector():
    network = make(*CASES["odd"])
    shapes = [(5, 3, 3, 3), (5,), (4, 5, 2, 2), (4,), (3, 4, 2, 2), (3,), (6, 6), (6,), (6, 5)]
    assert [array.shape for array in network.arrays] == [*shapes, (5,)]
    network.parameters[...] = np.arange(len(network.parameters))
    flat = np.concatenate([array.ravel() for array in network.arrays])
    np.testing.assert_array_equal(flat, np.arange(len(network.parameters)))
    network.layers[-1][0][4, 5] = 77  # the last output's last input
    assert network.parameters[-6] == 77


def test_move():
    """Into a part of a larger vector: the numbers there are its own, and no others."""
    network = make(*CASES["planes"])
    x, count = observations(CASES["planes"][0], 5), len(network.parameters)
    before, larger = network.forward(x), np.full(count + 5, 9, np.float32)
    larger[2 : 2 + count] = network.parameters
    network.move(larger[2 : 2 + count])
    np.testing.assert_array_equal(network.forward(x), before)
    network.parameters[...] = 0
    assert larger.tolist() == [9, 9, *[0] * count, 9, 9, 9]
    assert not network.forward(x).any()


def test_first_weights():
    """Kaiming-uniform by the inputs of a pixel, as torch's with ReLU's gain; the MLP's as ever."""
    spec = spec_of((12, 12, 4))
    rng = np.random.default_rng(9)
    network = ConvNet(spec, 3, convolutions=((64, 5, 1), (48, 3, 2)), hidden=(50,), rng=rng)
    for number, (weight, bias) in enumerate(network.layers):
        gain, fan_in = 1 if number == 3 else 2**0.5, np.prod(weight.shape[1:])
        bound = gain * (3 / fan_in) ** 0.5
        assert 0.97 * bound < abs(weight).max() <= bound
        assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.06)
        assert weight.dtype == np.float32 and not bias.any()
    small = ConvNet(spec, 3, convolutions=(), hidden=(), output_gain=0.01, rng=rng)
    assert 0 < abs(small.parameters).max() <= 0.01 * (3 / 576) ** 0.5


# -- what it refuses, and what it takes by default

BAD = [
    (((4, 5, 1),), "layer 0 must have an output, not a kernel larger than its input (5 x 5 on 4 x"),
    (((4, 3, 1), (4, 3, 1)), "layer 1 must have an output, not a kernel larger than its input"),
    (
        ((4, 3),),
        "convolutions must be tuples (filters, kernel, stride), as a text 16:8:4,32:4:2, not (4, ",
    ),
    (((0, 3, 1),), "filters must be an integer in 1..4096, not 0"),
    (((4, 0, 1),), "kernel must be an integer in 1..256, not 0"),
    (((4, 2.0, 1),), "kernel must be an integer in 1..256, not 2.0"),
    (((4, 3, 4),), "stride must be an integer in 1..3 (the kernel), not 4"),
    (((4, 3, 0),), "stride must be an integer in 1..3 (the kernel), not 0"),
]


@pytest.mark.parametrize("convolutions, words", BAD)
def test_refuses(convolutions, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        make(spec_of((4, 5, 2)), convolutions, (3,))
    if len(convolutions[0]) == 3 and convolutions[0][1] == 5:
        with pytest.raises(ValueError, match="a kernel larger than its input .5 x 5 on 5 x 4.$"):
            make(spec_of((5, 4, 2)), convolutions, (3,))


def test_refuses_what_is_no_image():
    words = (
        "convolutions must be empty unless observations are [height, width, channels] "
        "(here [7]), not ((4, 3, 1),)"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        make(spec_of((7,), "float32"), ((4, 3, 1),), (3,))
    with pytest.raises(ValueError, match=r"^convolutions must be a tuple, not \[\]$"):
        CONVOLUTIONS.check("convolutions", [])


@pytest.mark.parametrize(
    "shape, dtype, expected",
    [
        ((84, 84, 4), "uint8", ((16, 8, 4), (32, 4, 2))),
        ((36, 40, 1), "uint8", ((16, 8, 4), (32, 4, 2))),
        ((35, 90, 3), "uint8", ((16, 3, 1),)),
        ((90, 35, 3), "uint8", ((16, 3, 1),)),
        ((10, 10, 4), "uint8", ((16, 3, 1),)),
        ((3, 3, 1), "uint8", ((16, 3, 1),)),
        ((2, 30, 1), "uint8", ()),
        ((84, 84), "uint8", ()),
        ((10, 10, 4), "float32", ()),
        ((4,), "float32", ()),
    ],
)
def test_defaults(shape, dtype, expected):
    spec = spec_of(shape, dtype)
    assert default_convolutions(spec) == expected
    make(spec, expected, (3,))
