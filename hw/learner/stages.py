"""The layers of a learner as samples pass them, and how many samples may be under way.

That number decides the learner's pace, not its results: ``docs/flow_control.md``.
"""

from hw.learner.algorithms.algorithm import in_order

__all__ = ["scalars_ahead", "slots_of", "stages"]

#: Samples beyond those that the layers ask for.
_SPARE = 3


def stages(config):
    """``(layer, groups, backward, activation of the inputs or None)`` of every layer.

    All groups have a forward pass, the first ``backward`` of them a backward pass. Gradients of
    inputs are computed if another layer made the inputs.
    """
    for name, layers in config.networks.items():
        network, join = config.graph[name], config.graph[name].join
        made_by = config.networks[join.source][-1].activation if join else None
        for layer in layers:
            yield layer, network.weight_sources, network.backward_groups, made_by
            made_by = layer.activation


def slots_of(config):
    """``{network: tuple}``, the slots of each layer: samples between its inputs and the return of
    their errors. A sample of experiences waits from the start, one of outputs from its layer."""
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
    """Samples whose scalars may wait for the loss."""
    return sum(map(len, config.networks.values())) + _SPARE
