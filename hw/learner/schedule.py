"""The schedule of a gradient step: the super-samples of each unit over time, as a picture.

Three super-samples on their way through a network of two layers::

    4 clocks a column |0        |40       |80       |120      |160      |200
    reader            0011222
    q 0 forward         0011222
    q 1 forward                  0011222
    loss                                   0 1 2
    q 1 backward                                  0011222222
    q 0 backward                                      0011222222
    q 1 update                                             ###############
"""

from hw.learner.placed_layers import placed
from hw.learner.step_clocks import (
    BETWEEN,
    SampleWalk,
    slots_of,
    step_clocks,
)
from hw.learner.update_spans import sweep_end, update_spans
from hw.timing import picture

__all__ = ["schedule", "step_units"]


def schedule(config, samples=6):
    """A picture of a gradient step of ``samples`` super-samples of a LearnerConfig, as Markdown."""
    step = step_clocks(config, samples * config.lanes).step
    each = "an experience" if config.lanes == 1 else f"{config.lanes} experiences"
    return picture(
        f"A gradient step of {samples} super-samples of {each} takes {step} clocks. A row is a "
        "unit, a digit the super-sample that it works on; # is the update of a layer.",
        step_units(config, samples),
    )


def step_units(config, samples):
    """``{unit: [(begin, end), ...]}`` of a gradient step of ``samples`` super-samples: when the
    unit begins each, and may begin the next. Of several sweeps, the units of a later one have its
    number in their names."""
    units, later = {}, 0
    for sweep in range(config.plan.sweeps):
        walk, found = SampleWalk(config, slots_of(config), sweep), {}
        for sample in range(samples):
            walk.step(sample)
            for name, span in walk.units().items():
                found.setdefault(name, []).append(span)
        left = [None] * len(placed(config))
        for number, layer in walk.layers.items():
            if layer.errors:
                left[number] = layer.left
        for number, span in update_spans(config, sweep, left).items():
            found[f"{walk.layers[number].name} update"] = [span]
        for name, spans in found.items():
            where = f"{name}, sweep {sweep}" if sweep else name
            units[where] = [(begin + later, end + later) for begin, end in spans]
        later += sweep_end(config, sweep, left) + BETWEEN
    return units
