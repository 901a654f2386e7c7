"""Resources of a kernel with a learner, and smaller configs to try if it does not fit.

Each unit has an estimate of its own, in its file or in ``estimate.py`` of its folder: multipliers,
memory blocks and registers are counted as the unit has them. Lookup tables are as yosys maps them
to UltraScale+, module by module: they follow from the widths of what a unit adds, compares and
chooses.
"""

from dataclasses import replace
from functools import lru_cache

from hw.estimate import Estimate, products, times, together
from hw.learner.block.backward import Backward
from hw.learner.block.forward import Forward
from hw.learner.block.layer_config import KINDS
from hw.learner.commands import LEARNING
from hw.learner.control.td_error_queue import TdErrorQueue
from hw.learner.network.estimate import activation_buffer
from hw.learner.network.loss import Loss
from hw.learner.network.outputs import Outputs
from hw.learner.parameters.image_transfer import ImageTransfer
from hw.learner.parameters.layer_parameters import LayerParameters
from hw.learner.parameters.parameter_image import set_bytes
from hw.learner.records import LEARNER_STATUS, action_granules, observation_granules
from hw.learner.samples.batch_memory import BatchMemory
from hw.learner.samples.sample_reader import SampleReader, words_a_clock
from hw.learner.step_clocks import placed, scalars_ahead, slots_of
from hw.nn import estimate as nn_area
from hw.replay.commands import BUFFERS
from hw.replay.estimate import core_parts
from hw.replay.estimate import jobs as replay_jobs
from hw.shell import estimate as shell
from hw.suggest import suggest as changes_that_fit

__all__ = ["estimate", "parts", "suggest"]

#: Kernels that differ in their learner alone have the same parts around the core.
_shell_parts = lru_cache(maxsize=256)(shell.parts)


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a LearnerKernelConfig."""
    learner, width = config.learner, config.engine.data_width
    replay = {f"replay {name}": part for name, part in core_parts(config.replay_kernel).items()}
    jobs = replay_jobs(width)
    count = words_a_clock(learner)
    return {
        **_shell_parts(config.replay_kernel, BUFFERS, LEARNER_STATUS),
        **replay,
        "replay core": together([replay["replay core"], jobs]),
        "commands": shell.dispatcher(LEARNING, config, products=_products(learner)),
        **_layers(learner, count),
        "loss": Loss.estimate(learner),
        "samples": together(
            [
                BatchMemory.estimate(learner, width, count),
                SampleReader.estimate(learner, scalars_ahead(learner)),
            ]
        ),
        "results": together(
            [
                Outputs.estimate(learner, learner.networks[learner.acts][-1], width),
                TdErrorQueue.estimate(width, learner.batch),
            ]
        ),
        "image": ImageTransfer.estimate(learner, width),
        # A beat of a report or a list is written; the rest is addresses, counts and two records.
        "iteration": Estimate(lut=width + 1677, ff=2101),
        "core": _core(learner, width),
    }


def _products(learner):
    """DSP blocks of reading commands: bytes of an iteration, of all of them and of their lists;
    of observations and actions, by their granules; of sets, if the factor is not too short."""
    size = set_bytes(learner)
    image = size // (size & -size) >= 64
    return 3 + image + products(observation_granules(learner), action_granules(learner))


def _layers(learner, count):
    """Estimates of the units of all layers; ``count`` words of a sample come in a clock."""
    shared = learner.layer_config
    units = {name: [] for name in ("forward", "backward", "parameters", "buffers")}
    for own, slots in zip(placed(learner), slots_of(learner), strict=True):
        join = None if own.position else learner.graph[own.network].join
        groups, options = len(own.groups), own.backward_options
        units["forward"].append(_estimate(Forward, shared, own.shape, own.groups))
        units["backward"].append(
            _estimate(Backward, shared, own.shape, own.backward_groups, **options)
        )
        parameters = LayerParameters.estimate(shared, own.shape, input_gradient=own.input_gradient)
        units["parameters"].append(parameters)
        ring = activation_buffer(
            shared,
            own.shape,
            groups=groups,
            backward_groups=own.backward_groups,
            slots=slots,
            feed=0 if own.position else count,
            chain=len(join.groups) if join else groups if own.position else 0,
        )
        units["buffers"].append(ring)
    return {name: together(each) for name, each in units.items()}


@lru_cache(maxsize=4096)
def _estimate(unit, *arguments, **options):
    """``unit.estimate``; many kernels of a search have the same layers."""
    return unit.estimate(*arguments, **options)


def _core(learner, width):
    """Estimate of what wires the units, and of the coefficients of each network."""
    coefficients = nn_area.coefficients(learner.layer_config.optimizer_config)
    layers = sum(map(len, learner.networks.values()))
    # Beats are an image's or observations, or come from the host or the replay core.
    wires = Estimate(lut=3 * width + 490 + 65 * layers, ff=155 + 6 * layers)
    return together([times(len(learner.networks), coefficients), wires])


@lru_cache(maxsize=1024)
def estimate(config):
    """``Estimate`` of the whole kernel of a LearnerKernelConfig: all five resources."""
    return together(parts(config).values())


def suggest(config, fits):
    """Texts of changes to ``config`` with which it would fit, as ``hw.suggest.suggest`` gives them;
    none if no change helps. ``fits(config)`` says whether a config fits."""
    return changes_that_fit(
        _smaller(config.learner), lambda changes: fits(_changed(config, **changes))
    )


def _smaller(learner):
    """The fields that can be smaller, with their smaller values, largest first."""

    def halves(value):
        return [value >> k for k in range(1, value.bit_length())]

    return {
        "lanes": halves(learner.lanes),
        "multipliers": halves(learner.multipliers) if learner.words is None else [],
        "update_units": halves(learner.update_units),
        "batch": [b for b in halves(learner.batch) if b >= 8 and b % learner.lanes == 0],
        "hidden": [
            tuple(min(w, width) for w in learner.hidden)
            for width in halves(max(learner.hidden))
            if width >= 8
        ],
        "kind": KINDS[KINDS.index(learner.arithmetic.kind) + 1 :],
        "optimizer": ["sgd"] * (learner.optimizer != "sgd"),
    }


def _changed(config, kind=None, **changes):
    """The config with these changes. ValueError if no shape fits so few multipliers."""
    learner = config.learner
    if kind:
        changes["arithmetic"] = replace(learner.arithmetic, kind=kind)
    return replace(config, learner=replace(learner, **changes))
