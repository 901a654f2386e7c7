"""How many super-samples may be between a layer's inputs and the return of their errors.

That number decides the learner's pace, not its results: ``docs/flow_control.md``.
"""

from functools import lru_cache

from hw.learner.algorithms.algorithm import in_order
from hw.learner.network.loss import Loss
from hw.learner.sample_walk import SampleWalk
from hw.learner.stages import SPARE, latencies, pace

__all__ = ["slots_of"]


@lru_cache(maxsize=1024)
def slots_of(config):
    """``{network: tuple}`` with the slots of each layer of a LearnerConfig: so many that no
    super-sample waits for one. They hold those that may be in this layer and all behind it, and two
    more; or as many as a super-sample that never waits has behind it before its slot is free, where
    these are more. That is so where the layer before, in which a slot is taken, has many clocks.

    The first layer of a network takes numbers of experiences, which come as soon as a sample
    begins; so it has a slot for every sample that may be in any layer. Other layers have fewer, the
    last of all the fewest."""
    every, order, needed = latencies(config), in_order(config.graph), _needed(config)
    clocks = [both for name in order for both in every[name]]
    ahead, slots, loss = 0, {}, Loss.stage(config).latency
    for name in order:
        own = []
        for position in range(len(every[name])):
            behind = clocks[ahead + position if position else 0 :]
            inside = -(-(sum(map(sum, behind)) + loss) // config.interval) + SPARE
            own.append(max(inside, needed[ahead + position]))
        slots[name] = tuple(own)
        ahead += len(own)
    return slots


def _needed(config):
    """For each layer, in the order in which a sample passes them, how many super-samples begin from
    the clock in which one takes a slot of the layer until it is free again: the clocks of the
    second of two that follow each other at the learner's pace, so that it waits for nothing."""
    clocks = pace(config)
    slots = {name: (2,) * len(layers) for name, layers in config.networks.items()}
    walk = SampleWalk(config, slots, interval=clocks)
    walk.go(2)
    needed, before = [], None
    for layer in walk.layers:
        taken = walk.clock if layer in walk.fed else before.started
        needed.append(-(-(layer.slots[-1] - taken) // clocks))
        before = layer
    return needed
