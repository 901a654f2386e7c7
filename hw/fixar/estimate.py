"""Resources of the whole kernel ``fixar``, and smaller configs to try if it does not fit.

Multipliers and memory blocks are counted as the units have them, not synthesized. Lookup tables and
registers are as yosys maps them to UltraScale+: large units have estimates of their own, the others
are counted by lanes. Clocks are in ``hw.fixar.pass_clocks``.
"""

from dataclasses import replace

from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.estimate import Estimate, products, times, together
from hw.fixar.aap.cells import CellMemory
from hw.fixar.array.accumulators import Accumulators
from hw.fixar.array.array import PeArray
from hw.fixar.array.column import OPERAND_WIDTH
from hw.fixar.commands import FIXAR, FIXAR_STATUS
from hw.fixar.config import CELL_WIDTH
from hw.fixar.layouts import Layouts
from hw.fixar.numbers.tanh_slope import TanhSlope
from hw.fixar.numbers.tanh_tail import TanhTail
from hw.fixar.parameters.parameters import Parameters
from hw.learner.estimate import batch_memories, td_errors
from hw.learner.records import action_granules, observation_granules, record_granules
from hw.nn.td_loss import TdLoss
from hw.replay.commands import BUFFERS
from hw.replay.estimate import core_parts
from hw.shell import estimate as shell
from hw.stream import estimate as stream_area
from hw.stream.ram import Ram, style_of
from hw.suggest import suggest as changes_that_fit

__all__ = ["estimate", "parts", "suggest"]

#: Lookup tables and registers of a lane of a core without array, accumulators and transposer, and
#: of the rest of a core.
_CORE_LANE, _CORE = dict(lut=980, ff=968), dict(lut=2186, ff=2008)
#: Of a lane of each further word of weights that a core gets in a clock.
_CORE_WORD = dict(lut=OPERAND_WIDTH, ff=OPERAND_WIDTH)
#: Of what cores share: a lane's of biases, a core's, and the sums of each of its lanes; a bit's of
#: beats; intake, TD errors, ACT, ranges, the walk.
_SHARED_LANE, _SHARED_CORE, _LANE_SUMS = dict(lut=182, ff=194), dict(ff=290), dict(ff=107)
_SHARED_BIT, _SHARED = dict(lut=10, ff=4), dict(lut=11_521, ff=8115)
#: Registers of the parameters' images, of each bit of a beat.
_IMAGE_BIT = dict(ff=2)
#: Of the kernel beside replay memory, commands and shell: a bit's of beats; and the rest, less the
#: registers of the replay memory that are within its DSP blocks.
_KERNEL_BIT, _KERNEL = dict(lut=11, ff=4), dict(lut=2700, ff=1330)
#: Lookup tables that join a block of a deep memory of parameters to the others.
_PARAMETERS_JOINT = dict(uram=35, bram36=22)
#: DSP blocks of reading commands.
_COMMANDS_DSP = 4


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a FixarKernelConfig.

    The units of all cores together, such as ``arrays``, ``accumulators`` and ``cells``; the units
    that cores share; the kernel around them.
    """
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
    acted = observation_granules(learner), action_granules(learner)
    parameters = Parameters.estimate(learner, ultra)
    joint = sum(int(each * getattr(parameters, name)) for name, each in _PARAMETERS_JOINT.items())
    return {
        "arrays": times(cores, PeArray.estimate(side, learner.port_words)),
        "accumulators": times(cores, Accumulators.estimate(side, depth=layouts.index.stop)),
        "cells": times(cores, *cells, _q_values(learner)),
        "cores": times(
            cores,
            stream_area.transpose(CELL_WIDTH, side),
            _each((side, _CORE_LANE), (1, _CORE), (side * (learner.port_words - 1), _CORE_WORD)),
            Estimate(dsp=TanhTail.DSP + TanhSlope.DSP, bram36=TanhTail.BLOCKS),
        ),
        "parameters": together([parameters, _each((width, _IMAGE_BIT)), Estimate(lut=joint)]),
        "shared": replace(
            _each(
                (side, _SHARED_LANE),
                (cores, _SHARED_CORE),
                (cores * side, _LANE_SUMS),
                (width, _SHARED_BIT),
                (1, _SHARED),
            ),
            bram36=batch_memories(learner, width).bram36
            + together(td_errors(width, learner.batch)).bram36,
            # TD errors; of the largest weight; ACT's noise.
            dsp=TdLoss.estimate(learner.arithmetic).dsp
            + Float32Reciprocal.DSP
            + Float32Multiply.DSP
            + _addresses(learner),
        ),
        "kernel": together(
            [
                *core_parts(config.replay_kernel).values(),
                shell.dispatcher(FIXAR, config, products=_COMMANDS_DSP + 2 * products(*acted)),
                *shell.parts(config, BUFFERS, FIXAR_STATUS).values(),
                _each((width, _KERNEL_BIT), (1, _KERNEL)),
            ]
        ),
    }


def _q_values(learner):
    """Memories of the Q values of a core's samples, now and next."""
    depth = learner.samples
    return times(2, Ram.estimate(2 * CELL_WIDTH, depth, style_of(depth)))


def _addresses(learner):
    """DSP blocks of products with a number that is not a power of two: granules of a batch, and the
    place of a word of cells in each core."""
    sizes = [1 + record_granules(learner), observation_granules(learner)]
    sizes += [learner.samples] * learner.cores
    return products(*sizes)


def _each(*terms):
    """The Estimate of ``count`` units with these resources each."""
    return together(
        [Estimate(**{name: count * each for name, each in per.items()}) for count, per in terms]
    )


def estimate(config):
    """Resources of the whole kernel of a FixarKernelConfig."""
    return together(parts(config).values())


def suggest(config, fits):
    """List of texts, each with a change of ``config`` that would make it fit. If no single change
    would, one text with several changes, or no text. ``fits(config)`` says whether a config fits.
    """
    learner = config.learner
    smaller = {
        "cores": list(range(learner.cores - 1, 0, -1)),
        "side": [side for side in (8, 4) if side < learner.side],
        "port_words": [words for words in (2, 1) if words < learner.port_words],
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
