"""The layers of a learner as samples pass them, and how many samples may be under way.

That number decides the learner's pace, not its results: ``docs/flow_control.md``.
"""

from hw.learner.algorithms.algorithm import in_order

__all__ = ["scalars_ahead", "slots_of", "stages"]

#: Samples beyond those that the layers ask for.
_SPARE = 3


def stages(config):
    """Yields ``(layer, groups, backward, made_by)`` for every layer, in the order of the parameter
    image.

    layer : LayerShape
    groups : a weight source, "online" or "target", for each forward pass of a sample
    backward : how many of these groups, counted from the first, have a backward pass
    made_by : the activation of the layer whose outputs are inputs of this one, so that gradients of
        inputs are computed; None if experiences alone are
    """
    for name, layers in config.networks.items():
        network, join = config.graph[name], config.graph[name].join
        made_by = config.networks[join.source][-1].activation if join else None
        for layer in layers:
            yield layer, network.weight_sources, network.backward_groups, made_by
            made_by = layer.activation


def slots_of(config):
    """``{network: tuple}`` with the slots of each layer: how many super-samples may be between the
    layer's inputs and the return of their errors. The first layer of a network takes numbers of
    experiences, which come as soon as a sample begins; so it has a slot for every sample that may
    be in any layer. Other layers have fewer, the last of all the fewest."""
    ahead = total = sum(map(len, config.networks.values()))
    slots = {}
    for name in in_order(config.graph):
        count = len(config.networks[name])
        slots[name] = tuple(
            2 * (ahead - position if position else total) + _SPARE for position in range(count)
        )
        ahead -= count
    return slots


def scalars_ahead(config):
    """How many super-samples may have begun whose scalars the loss has not taken."""
    return sum(map(len, config.networks.values())) + _SPARE
