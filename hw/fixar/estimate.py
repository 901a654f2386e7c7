"""Resources of the whole kernel ``fixar``, and what would fit where it does not.

Counted, not synthesized: multipliers and blocks of memory as the units have them; lookup tables as
yosys maps them to UltraScale+, of the large units by their own estimates, of the others by lanes.
Clocks are ``hw.fixar.pass_clocks``.
"""

from dataclasses import replace

from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.estimate import Estimate, together
from hw.fixar.aap.cells import CellMemory
from hw.fixar.array.array import Array
from hw.fixar.array.foot import Foot
from hw.fixar.config import CELL_WIDTH
from hw.fixar.layouts import Layouts
from hw.fixar.numbers.tanh_slope import TanhSlope
from hw.fixar.numbers.tanh_tail import TanhTail
from hw.fixar.parameters.parameters import Parameters
from hw.learner.records import action_granules, observation_granules, record_granules
from hw.learner.samples.batch_memory import BatchMemory
from hw.nn.td_loss import TdLoss
from hw.replay.core import ReplayCore
from hw.stream.ram import memory_blocks, style_of
from hw.stream.transpose import Transpose
from hw.suggest import suggest as changes_that_fit

__all__ = ["estimate", "parts", "suggest"]

_COUNTED = ("lut", "bram36", "uram", "dsp")
#: Lookup tables of a lane of a core, beside array, foot and transposer, and of the core's rest.
_CORE_LANE, _CORE = 964, 2160
#: Lookup tables that are shared: a lane's of biases; of intake, TD errors, ACT, ranges, the walk.
_SHARED_LANE, _SHARED = 182, 11_400
#: Of what moves beats, of each of their bits: in the learner, and in the kernel around it.
_SHARED_BIT, _KERNEL_BIT = 10, 26
#: Of replay memory, commands and engines; of a level of the tree.
_KERNEL, _LEVEL = 14_000, 4200
#: Of what joins the blocks of deep memories, as yosys does.
_JOINT = 35
#: DSP blocks of reading commands.
_COMMANDS_DSP = 4


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a FixarKernelConfig: of all cores' ``arrays``,
    ``feet``, ``cells`` and what else is in them; of what they share; of the kernel around."""
    learner, width = config.learner, config.engine.data_width
    cores, side, layouts = learner.cores, learner.side, Layouts(learner)
    ultra = config.replay.ultra_ram
    cells = [
        CellMemory.estimate(lanes, depth, ultra)
        for lanes, depth in (
            (side, layouts.x_depth),
            (side, layouts.e_depth),
            (layouts.action_lanes, layouts.action_depth),
        )
    ]
    q_values = 2 * memory_blocks(2 * CELL_WIDTH, learner.samples, style_of(learner.samples))
    replay = ReplayCore.estimate(config.replay_kernel)
    acted = observation_granules(learner), action_granules(learner)
    return {
        "arrays": _times(cores, Array.estimate(side)),
        "feet": _times(cores, Foot.estimate(side, depth=layouts.index.stop)),
        "cells": _times(cores, *cells, Estimate(bram36=q_values)),
        "cores": _times(
            cores,
            Transpose.estimate(CELL_WIDTH, side),
            Estimate(lut=_CORE_LANE * side + _CORE, dsp=TanhTail.DSP + TanhSlope.DSP),
        ),
        "parameters": Parameters.estimate(learner, ultra),
        "shared": Estimate(
            lut=_SHARED_LANE * side + _SHARED_BIT * width + _SHARED,
            bram36=BatchMemory.blocks(learner, width),
            # TD errors; of the largest weight; ACT's noise.
            dsp=TdLoss.DSP + Float32Reciprocal.DSP + Float32Multiply.DSP + _addresses(learner),
        ),
        "kernel": Estimate(
            lut=_KERNEL_BIT * width + _KERNEL + _LEVEL * config.replay.depth,
            bram36=replay.bram36,
            uram=replay.uram,
            dsp=replay.dsp + _COMMANDS_DSP + 2 * _odd(*acted),
        ),
    }


def _addresses(learner):
    """DSP blocks of products by a number that is no power of two: granules of a batch, and the
    place of a word of cells in each core."""
    sizes = [1 + record_granules(learner), observation_granules(learner)]
    sizes += [learner.samples] * learner.cores
    return _odd(*sizes)


def _odd(*sizes):
    """How many are no powers of two: what is multiplied by them takes DSP blocks."""
    return sum(size & (size - 1) != 0 for size in sizes)


def _times(count, *estimates):
    """Of ``count`` of each of them."""
    return together(count * estimates, _COUNTED)


def estimate(config):
    """Resources of the whole kernel of a FixarKernelConfig; None where unknown."""
    whole = together(parts(config).values(), _COUNTED)
    return replace(whole, lut=whole.lut + _JOINT * whole.uram)


def suggest(config, fits):
    """What would fit: texts, as ``hw.suggest.suggest``; ``fits(config)``: whether another does."""
    learner = config.learner
    smaller = {
        "cores": list(range(learner.cores - 1, 0, -1)),
        "side": [side for side in (8, 4) if side < learner.side],
        "batch": [learner.batch >> k for k in range(1, 7) if learner.batch >> k >= 8],
        "hidden": [
            tuple(min(width, most) for width in learner.hidden)
            for most in (max(learner.hidden) >> k for k in range(1, 9))
            if most >= 8
        ],
        "optimizer": ["sgd"] * (learner.optimizer != "sgd"),
    }
    return changes_that_fit(
        smaller, lambda changes: fits(replace(config, learner=replace(learner, **changes)))
    )
