"""Resources of the whole kernel ``fixar``, and smaller configs to try if it does not fit.

Multipliers and memory blocks are counted as the units have them, not synthesized. Lookup tables and
registers are as yosys maps them to UltraScale+. Clocks are in ``hw.fixar.pass_clocks``.
"""

from dataclasses import replace

from hw.area import area
from hw.estimate import Estimate, products, times, together
from hw.fixar.array.column import OPERAND_WIDTH
from hw.fixar.commands import FIXAR, FIXAR_STATUS
from hw.fixar.config import CELL_WIDTH, CODE_WIDTH
from hw.fixar.layouts import Layouts
from hw.fixar.parameters.gradient_sum import GradientSum
from hw.fixar.parameters.memories import Memories
from hw.fixar.parameters.tile_loader import transposed_blocks
from hw.learner.estimate import batch_memories, td_errors
from hw.learner.records import action_granules, observation_granules, record_granules
from hw.nn import estimate as nn
from hw.replay.commands import BUFFERS
from hw.replay.estimate import core_parts
from hw.shell import estimate as shell
from hw.stream import estimate as stream
from hw.stream.ram import Ram, memory_blocks, memory_joint, style_of
from hw.suggest import suggest as changes_that_fit

__all__ = ["accumulators", "estimate", "parameters", "parts", "pe_array", "suggest"]


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a FixarKernelConfig.

    The units of all cores together, such as ``arrays``, ``accumulators`` and ``cells``; the units
    that cores share; the kernel around them.
    """
    learner, width = config.learner, config.engine.data_width
    cores, side, layouts = learner.cores, learner.side, Layouts(learner)
    memories = [
        (side, layouts.x_depth),
        (side, layouts.e_depth),
        (layouts.action_lanes, layouts.action_depth),
    ]
    cells = [_cell_memory(*sizes, config.replay.ultra_ram) for sizes in memories]
    # Of the Q values of a core's samples, now and next.
    q_values = 2 * [Ram.estimate(2 * CELL_WIDTH, layouts.samples, style_of(layouts.samples))]
    around = together([batch_memories(learner, width), *td_errors(width, learner.batch)])
    # Words of samples and their places in cells, of which a core each.
    sizes = [1 + record_granules(learner), observation_granules(learner)]
    shared = area(
        "fixar.fixar_learner",
        lanes=side,
        cores=cores,
        sums=cores * side,
        width=width,
        products=products(*sizes, *cores * [learner.samples]),
    )
    acted = products(observation_granules(learner), action_granules(learner))
    return {
        "arrays": times(cores, pe_array(side, learner.port_words)),
        "accumulators": times(cores, accumulators(side, layouts.index.stop)),
        "cells": times(cores, *cells, *q_values),
        "cores": times(
            cores,
            stream.transpose(CELL_WIDTH, side),
            area("fixar.aap.aap_core", lanes=side, words=side * (learner.port_words - 1)),
        ),
        "parameters": parameters(learner, width, config.replay.ultra_ram),
        "shared": replace(shared, bram36=around.bram36),
        "kernel": together(
            [
                *core_parts(config.replay_kernel).values(),
                shell.dispatcher(FIXAR, config, products=4 + 2 * acted),
                *shell.parts(config, BUFFERS, FIXAR_STATUS).values(),
                # Without the registers of the replay memory that are within its DSP blocks.
                area("fixar.fixar_core", width=width),
            ]
        ),
    }


def pe_array(side, band=1):
    """A ``PeArray`` with these arguments."""
    return together(
        [
            # The vendor's tools can put following operands into a register of a DSP block.
            times(side, area("fixar.array.column", side=side)),
            # Words that wait for three clocks or more do so in shift registers.
            area("fixar.array.pe_array", side=side, waiting=max(0, side - 3)),
            # Bands on their way down.
            times(side // band - 1, stream.delay(OPERAND_WIDTH * side * band, band - 1)),
        ]
    )


def accumulators(side, depth, width=53):
    """An ``Accumulators`` with these arguments."""
    # A bit of psum is an adder and what chooses its operands; then the first adder.
    column = area("fixar.array.column_accumulator", width=width)
    return together([times(side, column), Ram.estimate(2 * width * side, depth, style_of(depth))])


def _cell_memory(side, depth, ultra_ram):
    """A ``CellMemory`` with these arguments, without the tables of a small one."""
    width, style = side * CODE_WIDTH, style_of(depth, ultra_ram)
    own = area("fixar.aap.cell_memory", width=width, joint=memory_joint(width, depth, style))
    return together([own, times(2, _blocks(width, depth, style))])


def _blocks(width, depth, style):
    """The memory blocks of a ``Ram``; of UltraRAM without folding, which only yosys does."""
    if style == "ultra":
        return Estimate(uram=memory_blocks(width, depth, style))
    ram = Ram.estimate(width, depth, style)
    return Estimate(bram36=ram.bram36, ecp5_least=(0, 0, ram.ecp5[2], 0, 0))


def parameters(config, data_width, ultra_ram=True):
    """The ``Parameters``, with images of beats of ``data_width`` bits."""
    side, words, kind = config.side, config.port_words, config.optimizer_config
    memories, sums = Memories(config, ultra_ram), side * (config.cores - 1)
    blocks = together(
        times(banks, _blocks(CELL_WIDTH * side, depth, memories.style(name)))
        for name in memories.sets
        for banks, depth in [memories.shape(name)]
    )
    return together(
        [
            blocks,
            # What joins the blocks of a deep memory.
            area("fixar.parameters.memories", ultra=blocks.uram, halves=int(2 * blocks.bram36)),
            # Of a port of several words, one is chosen in each lane.
            area(
                "fixar.parameters.tile_loader",
                chosen=side * (words > 1),
                words=side * (words - 1),
            ),
            stream.transpose(*transposed_blocks(config)),
            area(
                f"fixar.parameters.weight_update.{config.optimizer}",
                lanes=side,
                added=sums,
                sums=sums * GradientSum.width_of(config, 128),
            ),
            times(side, nn.optimizer(kind)),
            nn.coefficients(kind),
            area("fixar.parameters.image", width=data_width),
        ]
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
