"""The layers of a learner as samples pass them: their order, their clocks and their errors."""

from functools import lru_cache
from typing import NamedTuple

from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.backward import Backward
from hw.learner.block.config import BlockShape
from hw.learner.block.forward import Forward
from hw.learner.network.loss import Loss
from hw.learner.samples.sample_reader import SampleReader

__all__ = [
    "SPARE",
    "PlacedLayer",
    "banks_of",
    "latencies",
    "layer_behind",
    "pace",
    "period_of",
    "scalars_ahead",
    "stages",
]

#: Samples beyond those whose clocks are counted.
SPARE = 2
#: Clocks from a word of a layer to the unit that takes it.
_PASSED = 2


class PlacedLayer(NamedTuple):
    """A layer as samples pass it.

    shape : its BlockShape
    groups : a weight source, "online" or "target", for each forward pass of a sample
    backward_groups : number of groups, counted from the first, that have a backward pass
    made_by : the activation of the layer whose outputs are inputs of this one, which then computes
        gradients of its inputs; None if all inputs are experiences
    """

    shape: BlockShape
    groups: tuple
    backward_groups: int
    made_by: str | None

    @property
    def input_gradient(self):
        """Whether gradients of the inputs are computed."""
        return self.made_by is not None

    @property
    def backward_options(self):
        """Arguments of ``Backward`` by name, except the errors' own."""
        activation = self.made_by or "linear"
        return dict(input_gradient=self.input_gradient, input_activation=activation)

    def backward_stage(self, shared):
        """``Backward.stage`` with the LayerConfig ``shared``."""
        return Backward.stage(shared, self.shape, **self.backward_options)

    def forward(self, shared):
        """``Forward.estimate`` with the LayerConfig ``shared``."""
        return _estimate(Forward, shared, self.shape, self.groups)

    def backward(self, shared):
        """``Backward.estimate`` with the LayerConfig ``shared``."""
        options = self.backward_options
        return _estimate(Backward, shared, self.shape, self.backward_groups, **options)


@lru_cache(maxsize=4096)
def _estimate(unit, *arguments, **options):
    """``unit.estimate``; many kernels of a search have the same layers."""
    return unit.estimate(*arguments, **options)


def stages(config):
    """``{network: tuple of PlacedLayer}`` of a LearnerConfig, in the parameter image's order."""
    result = {}
    for name, layers in config.networks.items():
        network, join = config.graph[name], config.graph[name].join
        makers = [config.networks[join.source][-1].activation if join else None]
        makers += [shape.activation for shape in layers]
        result[name] = tuple(
            PlacedLayer(shape, network.weight_sources, network.backward_groups, made_by)
            for shape, made_by in zip(layers, makers, strict=False)
        )
    return result


def pace(config):
    """Interval of super-samples in a gradient step: the slowest unit's."""
    units = [
        stage.backward_stage(config.layer_config).interval
        for layers in stages(config).values()
        for stage in layers
    ]
    return max(*units, Loss.stage(config).interval, SampleReader.interval_of(config))


def period_of(config, name, position):
    """Clocks between words of errors of the layer number ``position`` of the network ``name``:
    those in which the layer behind it makes one. The loss sends one a clock."""
    behind = layer_behind(config, name, position)
    return config.networks[behind[0]][behind[1]].output_words if behind else 1


def layer_behind(config, name, position):
    """``(network, position)`` of the layer that takes a layer's outputs; None if the loss does."""
    if position + 1 < len(config.networks[name]):
        return name, position + 1
    for taker, network in config.graph.items():
        if network.join and network.join.source == name:
            return taker, 0
    return None


def banks_of(config, name, position):
    """For how many samples a layer keeps errors, so that none waits: as many as are on their way
    from the layer behind it, one that is read, and one more; a power of two."""
    behind = layer_behind(config, name, position)
    if behind is None:
        return 2
    network, position = behind
    clocks = latencies(config)[network][position][1]
    under_way = -(-clocks // config.interval) + 1
    return max(2, 1 << (under_way - 1).bit_length())


@lru_cache(maxsize=1024)
def latencies(config):
    """``{network: [(forward, backward), ...]}``: clocks of a sample from the first word that a
    layer takes to the last that it gives, forward and backward."""
    result, shared = {}, config.layer_config
    for name, layers in stages(config).items():
        result[name] = []
        for stage in layers:
            shape, latency = stage.shape, Forward.stage(shared, stage.shape).latency
            forward = latency + shape.output_words - 1 + ActivationBuffer.LATENCY
            latency = stage.backward_stage(shared).latency
            back = 0 if latency is None else latency + shape.blocks - shape.output_words
            result[name].append((forward, back + _PASSED))
    return result


def scalars_ahead(config):
    """How many super-samples may have begun whose scalars the loss has not taken."""
    layers = [forward for each in latencies(config).values() for forward, _ in each]
    return -(-sum(layers) // config.interval) + 2 * SPARE
