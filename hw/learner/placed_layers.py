"""The layers of a learner in a sample's order: which stands before which, and on what data paths
samples pass them in each sweep."""

from functools import lru_cache
from typing import NamedTuple

from hw.learner.block.config import BlockShape
from hw.learner.block.layer_clocks import backward_stage
from hw.learner.network.merge import Merge
from hw.learner.network.smooth import Smooth

__all__ = ["PlacedLayer", "merge_latency", "merges", "placed", "smooth_latency"]


class PlacedLayer(NamedTuple):
    """A layer as samples pass it.

    network, position : its place in ``LearnerConfig.networks``
    shape : its BlockShape
    weights : for each sweep the weights of each data path: "online", "target", or None
    errors : for each sweep, through how many paths, counted from the first, errors go back
    made_by : the activation of the layer whose outputs are inputs of this one, which then computes
        gradients of its inputs; None if all inputs are experiences
    before : number of that layer in ``placed``, or None
    takers : numbers of the layers in ``placed`` that take its outputs, which are of equal shapes;
        () if the loss takes them
    period : clocks between words of errors. The loss sends a word in each clock, a layer one for
        each of its output words
    """

    network: str
    position: int
    shape: BlockShape
    weights: tuple
    errors: tuple
    made_by: str | None
    before: int | None
    takers: tuple
    period: int

    @property
    def groups(self):
        """Data paths forward."""
        return len(self.weights[0])

    @property
    def weight_sources(self):
        """For each data path forward whose weights it takes: "online", "target", or "either"."""
        found = [{*sweeps} - {None} for sweeps in zip(*self.weights, strict=True)]
        return tuple("either" if len(sources) > 1 else sources.pop() for sources in found)

    @property
    def backward_groups(self):
        """Data paths back."""
        return max(self.errors)

    @property
    def input_gradient(self):
        """Whether gradients of the inputs are computed."""
        return self.made_by is not None

    @property
    def backward_options(self):
        """Arguments of ``Backward`` by name, except the errors' own."""
        activation = self.made_by or "linear"
        return dict(input_gradient=self.input_gradient, input_activation=activation)

    def runs(self, sweep):
        """Whether samples pass it in a sweep."""
        return any(self.weights[sweep])

    def backward_stage(self, config):
        """``backward_stage`` of the layer in a LearnerConfig."""
        return backward_stage(config.layer_config, self.shape, **self.backward_options)


@lru_cache(maxsize=1024)
def placed(config):
    """Tuple of the PlacedLayer of each layer of a LearnerConfig, in a sample's order: a layer comes
    after the one whose outputs are its inputs."""
    plan, shapes = config.plan, config.networks
    places = [(name, n) for name in plan.order for n in range(len(shapes[name]))]
    number = {place: k for k, place in enumerate(places)}
    found = []
    for name, position in places:
        link, layers = plan.links[name], shapes[name]
        before, takers = None, [(taker, 0) for taker in plan.takers(name)]
        if position + 1 < len(layers):
            takers = [(name, position + 1)]
        if position:
            before = number[name, position - 1]
        elif link:
            before = number[link.source, len(shapes[link.source]) - 1]
        taking = [shapes[taker][at] for taker, at in takers]
        found.append(
            PlacedLayer(
                name,
                position,
                layers[position],
                plan.weights(name),
                plan.errors(name),
                made_by=None if before is None else found[before].shape.activation,
                before=before,
                takers=tuple(number[place] for place in takers),
                period=taking[0].output_words if taking else 1,
            )
        )
    return tuple(found)


def merges(config, name):
    """Whether errors of several networks that take the outputs of network ``name`` are added."""
    plan = config.plan
    back = [plan.returned(taker) for taker in plan.takers(name)]
    return any(sum(map(bool, sweep)) > 1 for sweep in zip(*back, strict=True))


def smooth_latency(config, layer):
    """Clocks from a word of a PlacedLayer's outputs to those that take it."""
    last = layer.position == len(config.networks[layer.network]) - 1
    if not last or not any(config.plan.smoothed(layer.network)):
        return 0
    return Smooth.latency_of(config.arithmetic)


def merge_latency(config, layer):
    """Clocks from a word of a PlacedLayer's dx to the layer before."""
    link = config.plan.links[layer.network]
    if layer.position or link is None or not merges(config, link.source):
        return 0
    return Merge.latency_of(config.arithmetic, len(config.plan.takers(link.source)))
