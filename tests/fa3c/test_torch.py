"""The twin against torch in float64: outputs, gradients of every layer, and whole updates.

The bound holds for any order of additions: n * 2**-24 times the sum of the magnitudes of all terms.
The same network on magnitudes computes this sum. n is the number of roundings on the longest path.
"""

import numpy as np
import pytest
import torch
from fa3c.modelled import opened
from fa3c.networks import NETWORKS, network
from fa3c.rounds import parameters_of, screens_of

from host.a3c.card_network import ActorCritic, Infer, Sync, Train
from host.a3c.parameter_image import from_image, observation_rows, padded, to_image
from hw.fa3c.rows import ROW
from sim.model.fa3c.layer import LayerTwin

CONFIGS = {
    "usual": NETWORKS["usual"],
    "four lanes": NETWORKS["four lanes"],
    "three layers": NETWORKS["three layers"],
    "several blocks": NETWORKS["several blocks"],
    "vectors": NETWORKS["vectors"],
    "no hidden layer": NETWORKS["sixteen lanes"],
    "larger": network(
        height=26,
        width=23,
        channels=4,
        convolutions=((16, 5, 3), (20, 3, 1)),
        hidden=(40, 24),
        outputs=7,
        lanes=4,
        steps=5,
    ),
}
each_network = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


class Network:
    """The same network in torch, in float64; ``parameters`` can be trained."""

    def __init__(self, config, parameters):
        self.config = config
        self.parameters = {
            name: torch.tensor(array.astype(np.float64), requires_grad=True)
            for name, array in parameters.items()
        }

    def inputs(self, observations):
        x = torch.tensor(observations, dtype=torch.float64)
        return x if self.config.binary32 else x * 2.0**self.config.input_exponent

    def __call__(self, inputs):
        x, last = inputs.permute(0, 3, 1, 2), len(self.config.layers) - 1
        for number, layer in enumerate(self.config.layers):
            weight, bias = (self.parameters[f"layer{number}.{kind}"] for kind in ("weight", "bias"))
            if layer.convolution:
                x = torch.nn.functional.conv2d(x, weight, bias, stride=layer.stride)
            else:
                x = torch.nn.functional.linear(x.flatten(1), weight, bias)
            if number < last:
                x = torch.relu(x)
        return x

    def magnitudes(self):
        """The network of all magnitudes."""
        numbers = {name: np.abs(own.detach().numpy()) for name, own in self.parameters.items()}
        return Network(self.config, numbers)

    def gradients(self, inputs, errors):
        """``(outputs, gradients)`` of the parameters where those of the outputs are ``errors``."""
        outputs = self(inputs)
        names = list(self.parameters)
        found = torch.autograd.grad(outputs, self.parameters.values(), torch.tensor(errors))
        return outputs.detach().numpy(), {
            name: gradient.numpy() for name, gradient in zip(names, found, strict=True)
        }


def roundings(config, samples):
    """Of an output, and of a gradient."""
    forward = sum(layer.depth + 2 for layer in config.layers)
    backward = sum(layer.out_channels * layer.kernel**2 + 1 for layer in config.layers)
    pixels = max(layer.out_height * layer.out_width for layer in config.layers)
    return forward, forward + backward + samples * pixels + 1


def passes(config, parameters, observations, errors):
    """``(outputs, gradients)`` of the twins, as ``Network.gradients``."""
    image = to_image(config, parameters).view(np.float32)
    twins = [LayerTwin(config, number) for number in range(len(config.layers))]
    weights = [
        image[base : base + layer.rows].reshape(layer.groups, layer.group_rows, ROW)
        for base, layer in zip(config.parameter_bases, config.layers, strict=True)
    ]
    maps = [twins[0].numbers(observation_rows(config, observations))]
    for twin, own in zip(twins, weights, strict=True):
        maps.append(twin.forward(own, maps[-1]))
    gradient, errors = np.zeros_like(image), padded(config, errors)
    for number in reversed(range(len(twins))):
        layer, base = config.layers[number], config.parameter_bases[number]
        rows = gradient[base : base + layer.rows].reshape(weights[number].shape)
        rows[:, : layer.depth + 1] = twins[number].gradient(maps[number], errors)
        if number:
            errors = twins[number].backward(weights[number], errors, maps[number])
    return maps[-1][:, : config.outputs], from_image(config, gradient)


@each_network
def test_outputs_and_gradients(config):
    rng, count = np.random.default_rng(1), config.steps
    parameters, observations = parameters_of(config, rng), screens_of(config, count, rng)
    errors = rng.standard_normal((count, config.outputs)).astype(np.float32)
    network = Network(config, parameters)
    inputs, wide = network.inputs(observations), errors.astype(np.float64)
    found = passes(config, parameters, observations, errors)
    wanted = network.gradients(inputs, wide)
    terms = network.magnitudes().gradients(inputs.abs(), np.abs(wide))
    forward, backward = roundings(config, count)
    difference = np.abs(found[0] - wanted[0])
    assert (difference <= forward * 2.0**-24 * terms[0]).all()
    for name in parameters:
        difference = np.abs(found[1][name] - wanted[1][name])
        assert (difference <= backward * 2.0**-24 * terms[1][name]).all(), name
        assert np.abs(wanted[1][name]).max() > 0


class Pair:
    """An ``ActorCritic`` on a kernel, and the same network in torch with RMSProp written out. The
    objective is half of the squared distance of the outputs from random targets."""

    VALUES = dict(rate=0.01, decay=0.9, epsilon=0.01)

    def __init__(self, kernel, config, rng):
        self.config, self.rng, self.card = config, rng, ActorCritic(kernel)
        self.before = parameters_of(config, rng)
        self.card.load(self.before)
        self.network = Network(config, self.before)
        self.moments = dict.fromkeys(self.before, 0.0)

    def theta(self):
        return {name: own.detach().numpy().copy() for name, own in self.network.parameters.items()}

    def begin(self, agent):
        """A rollout by theta as it is now."""
        config, outputs = self.config, []
        screens = screens_of(config, config.steps, self.rng)
        for step in range(config.steps):
            fields = dict(agents=[agent], observations=screens[step : step + 1], step=step)
            tasks = [] if step else [Sync(snapshot=agent)]
            *_, output = self.card.run([*tasks, Infer(unit=0, snapshot=agent, **fields)])
            outputs.append(output[0])
        return screens, np.array(outputs), Network(config, self.theta())

    def train(self, agent, screens, outputs, behind):
        """An update by a rollout of the network that was."""
        targets = self.rng.standard_normal(outputs.shape)
        task = Train(unit=1, snapshot=agent, agent=agent, errors=outputs - targets, **self.VALUES)
        self.card.run([task])
        inputs = behind.inputs(screens)
        wanted = behind(inputs).detach().numpy()
        _, gradients = behind.gradients(inputs, wanted - targets)
        rate, decay, epsilon = self.VALUES.values()
        with torch.no_grad():
            for name, own in self.network.parameters.items():
                d = torch.tensor(gradients[name])
                self.moments[name] = decay * self.moments[name] + (1 - decay) * d**2
                own -= rate * d / torch.sqrt(self.moments[name] + epsilon)


_LONG = pytest.mark.long


@pytest.mark.parametrize(
    "name",
    ["four lanes", pytest.param("three layers", marks=_LONG), "vectors"]
    + [pytest.param("larger", marks=_LONG)],
)
def test_twenty_updates(name):
    """Of two agents in turn on card ``model``, each by the theta before the other's last update:
    theta and g follow torch's to 1e-4 of their largest."""
    config = CONFIGS[name]
    with opened(config) as kernel:
        pair = Pair(kernel, config, np.random.default_rng(4))
        rollouts = {1: pair.begin(1)}
        for update in range(20):
            agent = update % 2
            rollouts[agent] = pair.begin(agent)
            pair.train(1 - agent, *rollouts[1 - agent])
        found, squares, moved = pair.card.parameters(), pair.card.squares(), 0.0
    for name, own in pair.theta().items():
        moment = pair.moments[name].numpy()
        assert np.abs(found[name] - own).max() <= 1e-4 * np.abs(own).max(), name
        assert np.abs(squares[name] - moment).max() <= 1e-4 * moment.max(), name
        moved = max(moved, np.abs(own - pair.before[name]).max() / np.abs(own).max())
    assert moved > 0.1
