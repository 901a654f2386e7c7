"""The layers of a learner as samples pass them, and how many samples may be under way.

That number decides the learner's pace, not its results: ``docs/flow_control.md``.
"""

from functools import lru_cache

from hw.learner.algorithms.algorithm import in_order
from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.backward import Backward
from hw.learner.block.forward import Forward
from hw.learner.network.loss import Loss

__all__ = ["banks_of", "layer_behind", "period_of", "scalars_ahead", "slots_of", "stages"]

#: Samples beyond those whose clocks are counted here, and clocks from a word of a layer to the unit
#: that takes it.
_SPARE, _PASSED = 2, 2


def stages(config):
    """Yields ``(shape, groups, backward, made_by)`` for every layer, in the order of the parameter
    image.

    shape : BlockShape
    groups : a weight source, "online" or "target", for each forward pass of a sample
    backward : how many of these groups, counted from the first, have a backward pass
    made_by : the activation of the layer whose outputs are inputs of this one, so that gradients of
        inputs are computed; None if experiences alone are
    """
    for name, layers in config.networks.items():
        network, join = config.graph[name], config.graph[name].join
        made_by = config.networks[join.source][-1].activation if join else None
        for shape in layers:
            yield shape, network.weight_sources, network.backward_groups, made_by
            made_by = shape.activation


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
    clocks = _latencies(config)[network][position][1]
    under_way = -(-clocks // config.interval) + 1
    return max(2, 1 << (under_way - 1).bit_length())


@lru_cache(maxsize=1024)
def _latencies(config):
    """``{network: [(forward, backward), ...]}``: clocks of a sample from the first word that a
    layer takes to the last that it gives, forward and backward."""
    every, result, shared = iter(stages(config)), {}, config.layer_config
    for name, layers in config.networks.items():
        result[name] = []
        for _ in layers:
            shape, groups, backward, made_by = next(every)
            forward = Forward.estimate(shared, shape, groups).last_latency
            gradients = dict(input_gradient=made_by is not None)
            back = Backward.estimate(
                shared, shape, backward, input_activation=made_by or "linear", **gradients
            )
            clocks = forward + ActivationBuffer.LATENCY, (back.last_latency or 0) + _PASSED
            result[name].append(clocks)
    return result


def slots_of(config):
    """``{network: tuple}`` with the slots of each layer: how many super-samples may be between the
    layer's inputs and the return of their errors, so that none waits. The first layer of a network
    takes numbers of experiences, which come as soon as a sample begins; so it has a slot for every
    sample that may be in any layer. Other layers have fewer, the last of all the fewest."""
    latencies, order = _latencies(config), in_order(config.graph)
    clocks = [both for name in order for both in latencies[name]]
    ahead, slots = 0, {}
    for name in order:
        count, own = len(latencies[name]), []
        for position in range(count):
            behind = clocks[ahead + position if position else 0 :]
            total = sum(map(sum, behind)) + Loss.estimate(config).latency
            own.append(-(-total // config.interval) + _SPARE)
        slots[name] = tuple(own)
        ahead += count
    return slots


def scalars_ahead(config):
    """How many super-samples may have begun whose scalars the loss has not taken."""
    layers = [forward for each in _latencies(config).values() for forward, _ in each]
    return -(-sum(layers) // config.interval) + 2 * _SPARE
