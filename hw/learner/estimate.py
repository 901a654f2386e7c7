"""Resources of a kernel with a learner, and smaller configs to try if it does not fit.

Multipliers, adders and memory blocks are counted as the units have them, not synthesized. Lookup
tables are counted only for binary32 adders, multipliers and roots, or for the optimizers in fixed
arithmetic, each as yosys maps it to UltraScale+. A whole kernel needs more.
"""

from dataclasses import replace
from itertools import chain

from amaranth import Shape

from hw.estimate import Estimate
from hw.learner.chain.backward import Backward
from hw.learner.chain.config import KINDS
from hw.learner.chain.forward import Forward
from hw.learner.network.activation_buffer import ActivationBuffer
from hw.learner.network.loss import Loss
from hw.learner.network.outputs import Outputs
from hw.learner.parameters.layer_parameters import LayerParameters
from hw.learner.samples.batch_memory import BatchMemory
from hw.learner.samples.sample_reader import words_a_clock
from hw.learner.stages import slots_of, stages
from hw.nn.optimizers import optimizer_of
from hw.replay.core import ReplayCore
from hw.stream.ram import memory_blocks, style_of
from hw.suggest import suggest as changes_that_fit

__all__ = ["estimate", "suggest"]


def _adders(config, layer, groups, backward, made_by):
    """Adders of a layer's chains."""
    lanes = config.lanes
    window = (layer.interleave - 1).bit_length()
    forward = len(groups) * lanes * (layer.multipliers + window + 1)
    gradients = layer.multipliers * lanes + lanes
    if made_by is None:
        return forward + gradients
    window = (layer.rows - 1).bit_length()
    return forward + gradients + backward * lanes * layer.vector * (layer.length - 1 + window)


def _memory_blocks(config, data_width):
    """RAMB36 blocks of parameters, activations, errors and the batch."""
    arithmetic, lanes = config.arithmetic, config.lanes
    activation, gradient = (
        lanes * Shape.cast(arithmetic.shape(kind)).width for kind in ("activation", "gradient")
    )

    def deep(width, depth):
        return memory_blocks(width, depth, style_of(depth))

    blocks = BatchMemory.blocks(config, data_width) + Outputs.blocks(config, config.action)
    first = [layers[0] for layers in config.networks.values()]
    slots = chain.from_iterable(slots_of(config)[name] for name in config.networks)
    for (layer, groups, backward, made_by), own in zip(stages(config), slots, strict=True):
        wanted = made_by is not None
        blocks += LayerParameters.estimate(config.layer_config, layer, input_gradient=wanted).bram36
        feed = words_a_clock(config) if any(layer is each for each in first) else 0
        banks, rows = ActivationBuffer.banks_of(layer, feed)
        blocks += (len(groups) + backward) * banks * deep(activation, own * rows)
        if made_by is not None:
            blocks += deep(backward * gradient * layer.vector, 2 * layer.words)
    return blocks


def _learner(config, data_width):
    """DSP blocks, lookup tables and RAMB36 blocks of a LearnerConfig."""
    multipliers, adders, optimizers = 0, 0, 0
    dsp, shared = Loss.estimate(config).dsp, config.layer_config
    for layer, groups, backward, made_by in stages(config):
        chains = (
            Forward.estimate(shared, layer, groups),
            Backward.estimate(shared, layer, backward, 1, made_by is not None, made_by or "linear"),
        )
        dsp += LayerParameters.estimate(shared, layer).dsp
        multipliers += sum(chain.multipliers for chain in chains)
        dsp += sum(chain.dsp for chain in chains)
        adders += _adders(config, layer, groups, backward, made_by)
        optimizers += shared.units(layer) * layer.vector
    arithmetic = config.arithmetic
    optimizer = optimizer_of(arithmetic).estimate(shared.optimizer_config)
    lut = adders * arithmetic.add_lut + multipliers * arithmetic.product_lut
    lut += optimizers * optimizer.lut
    return Estimate(dsp=dsp, lut=lut, bram36=_memory_blocks(config, data_width))


def estimate(config):
    """``Estimate`` of the whole kernel of a LearnerKernelConfig: ``lut``, ``dsp``, ``bram36`` and
    ``uram``. All other fields are None, which means unknown."""
    replay, learner = (
        ReplayCore.estimate(config.replay_kernel),
        _learner(config.learner, config.engine.data_width),
    )
    return Estimate(
        uram=replay.uram,
        bram36=replay.bram36 + learner.bram36,
        dsp=replay.dsp + learner.dsp,
        lut=learner.lut,
    )


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
        "multipliers": halves(learner.multipliers),
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
