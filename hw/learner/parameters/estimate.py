"""What the parameters of a layer take."""

from dataclasses import dataclass

from hw.estimate import Estimate, times, together
from hw.learner.memory_ports import READ_LATENCY
from hw.learner.parameters.parameter_walk import ParameterWalk
from hw.learner.parameters.update_unit import UpdateUnit, merge_registers, merge_stages
from hw.nn.optimizers import optimizer_of
from hw.stream.queue import Queue

__all__ = ["ParametersEstimate", "resources"]


@dataclass(frozen=True, kw_only=True)
class ParametersEstimate(Estimate):
    """Resources of ``LayerParameters``, and clocks for which its ``busy`` is high.

    update : in an update.
    load, store : in a load or a store of one parameter set, if the stream of words never waits.
    """

    update: int
    load: int
    store: int


def resources(config, layer, members, shape, biases):
    """The Estimate of a layer's parameters.

    members : PEs of an update unit; shape, biases : of the memories of PEs, and of the biases.
    """
    firsts = range(0, layer.length, members)
    units, stages = len(firsts), merge_stages(members + 1)
    return together(
        [
            times(layer.length, shape.estimate),
            biases.estimate,
            times(units, UpdateUnit.estimate(config, shape, members + 1, stages)),
            times(4, ParameterWalk.estimate(layer)),
            _control(config, layer, firsts, members, shape, layer.length + biases.count),
        ]
    )


def _control(config, layer, firsts, members, shape, banks):
    """What writes ``banks`` memories and stores their words; ``firsts``: the first PE of each
    update unit."""
    units, image = len(firsts), 32 * layer.vector
    read = READ_LATENCY + merge_stages(members + 1)
    clocks = read + merge_stages(units)
    latency = optimizer_of(config.arithmetic).estimate(config.optimizer_config).latency
    written = sum(shape.width(name) for name in shape.sets)
    # PEs of a unit that have as many outputs share what makes their padding 0.
    masked = sum(
        len({layer.outputs_of(pe) for pe in range(first, min(first + members, layer.length))})
        for first in firsts
    )
    registers = (
        image * merge_registers(units, merge_stages(units)),
        banks * (4 + len(shape.sets)),  # which of them are read and written
        2 * (layer.length + (layer.depth - 1).bit_length()),  # where
        units.bit_length() + layer.vector.bit_length(),  # how many numbers were clipped
        read + latency + clocks + 9,  # when the four walks begin
    )
    # A word that is stored is one of the units'.
    logic = Estimate(
        lut=masked * written + image * -(-(units - 1) // 5) + 7 * banks + 30, ff=sum(registers)
    )
    return together([Queue.estimate(image, clocks + 2), logic])
