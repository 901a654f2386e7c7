"""Clocks of a gradient step and of acting: a walk of all samples, then the updates."""

from functools import lru_cache
from operator import add
from typing import NamedTuple

from hw.config import with_values
from hw.learner.algorithms.algorithm import in_order
from hw.learner.network.loss import Loss
from hw.learner.network.outputs import Outputs
from hw.learner.parameters.layer_parameters import LayerParameters
from hw.learner.sample_walk import SampleWalk
from hw.learner.slots import slots_of
from hw.learner.stages import stages
from hw.timing import drawn

__all__ = ["StepClocks", "acting_clocks", "schedule", "step_clocks", "step_units"]

#: Clocks from a layer's last gradient to its update, which is ``done``, and from the end of the
#: update to the end of the step.
_DONE, _SETTLED = 1, 1


class StepClocks(NamedTuple):
    """Clocks of a gradient step, counted from ``train``.

    td : to the TD error of the first lane of the last super-sample.
    step : until the update of all parameters has ended; REPORT has this number as the clocks of the
        gradient step.
    """

    td: int
    step: int


def step_clocks(config, batch):
    """``StepClocks`` of a LearnerConfig and a batch of ``batch`` samples."""
    # No walk depends on the updates, which come behind it: kernels that differ in them share it.
    td, left, later = _walked(with_values(config, {"update_units": 1}), batch)
    ends = map(add, left, _updates(config))
    return StepClocks(td + later, max(ends) + _DONE + _SETTLED + later)


def _updates(config):
    """Clocks of each layer's update, in the order in which a sample passes the layers."""
    shared, every = config.layer_config, stages(config)
    return [
        LayerParameters.update_clocks(shared, stage.shape)
        for name in in_order(config.graph)
        for stage in every[name]
    ]


@lru_cache(maxsize=4096)
def _walked(config, batch):
    """``(td, gradients, skipped)`` of a gradient step: the clock of the last TD error, a tuple of
    the clock of the last gradient of each layer, and skipped clocks, to be added to all."""
    walk = SampleWalk(config, slots_of(config))
    walk.go(-(-batch // config.lanes))
    td = walk.end + Loss.td_latency_of(config)
    return td, tuple(layer.left for layer in walk.layers), walk.skipped


def schedule(config, samples=6):
    """A picture of a gradient step of ``samples`` super-samples of a LearnerConfig, as Markdown."""
    step = step_clocks(config, samples * config.lanes).step
    each = "an experience" if config.lanes == 1 else f"{config.lanes} experiences"
    return "\n".join(
        [
            f"A gradient step of {samples} super-samples of {each} takes {step} clocks. A row is a "
            "unit, a digit the super-sample that it works on; # is the update of a layer.\n",
            "```",
            *drawn(step_units(config, samples)),
            "```\n",
        ]
    )


def step_units(config, samples):
    """``{unit: [(begin, end), ...]}`` of a gradient step of ``samples`` super-samples: when the
    unit begins each, and may begin the next."""
    walk, units = SampleWalk(config, slots_of(config)), {}
    for sample in range(samples):
        walk.step(sample)
        for name, span in walk.units().items():
            units.setdefault(name, []).append(span)
    for name, layer, update in zip(walk.names, walk.layers, _updates(config), strict=True):
        begin = layer.left + _DONE
        units[f"{name} update"] = [(begin, begin + update)]
    return units


def acting_clocks(config, count):
    """Clocks from ``act`` to the last beat of the actions for ``count`` observations."""
    walk = SampleWalk(config, slots_of(config), acting=True)
    walk.go(-(-count // config.lanes))
    unused = -count % config.lanes  # lanes of the last sample
    latency = Outputs.latency_of(config, config.action)
    return walk.end + walk.skipped + latency - unused * Outputs.numbers_of(config.action)
