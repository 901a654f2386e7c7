"""Resources of the whole kernel ``a3c``, and changes with which it would fit a smaller board.

Nothing is synthesized here. Multipliers and memory blocks are counted as the units use them; lookup
tables and registers are counted by kinds of parts, each fitted to what yosys maps for UltraScale+.
"""

from dataclasses import replace

from hw.arith.float32.format import WIDTH
from hw.estimate import Estimate, products, together
from hw.fa3c.commands import buffers_of, commands_of
from hw.fa3c.layouts import queued_task, updating_task
from hw.fa3c.masters import estimate as masters
from hw.fa3c.memory.gradient_queue import GradientQueue
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.memory.transposed_image import TransposedImage
from hw.fa3c.records import A3C_STATUS, TASK
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.fa3c.unit.array import PeArray
from hw.fa3c.unit.drain import Drain
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.parameter_buffer import ParameterBuffer
from hw.shell import estimate as shell
from hw.stream import estimate as stream_area
from hw.stream.ram import Ram, style_of
from hw.suggest import suggest as changes_that_fit

__all__ = ["compute_unit", "estimate", "suggest"]


def estimate(config):
    """Resources of the whole kernel of a Fa3cConfig."""
    units = [compute_unit(config, role) for role in config.units]
    queues = [GradientQueue.estimate(config)] * len(config.units_for("train"))
    image = [TransposedImage.estimate()] if config.transposed_rows else []
    return together(
        [*units, *queues, RowUpdate.estimate(config), *image, masters(config), *_rounds(config)]
    )


def compute_unit(config, role):
    """Resources of a compute unit of ``role``, without the queue of its gradients: of parts with an
    ``estimate``, then of lines, loops and movers."""
    parts = [each.estimate(config) for each in (PeArray, Drain, FeatureBuffer, ParameterBuffer)]
    if config.layout == "alt1":
        parts.append(PeArray.estimate_columns(config))
    # Each word from the line buffer to the array passes three registers; addresses in rollouts
    # are products, and so are the rows of a task's observations.
    rest = Estimate(lut=6700, ff=1850 + 96 * config.lanes, dsp=4 + _of_screens(config))
    if role == "infer":
        return together([*parts, rest])
    # The multiplexer between rows from the TLU and rows from memory.
    chosen = Estimate(lut=ROW_WIDTH)
    transposed = [stream_area.transpose(WIDTH, ROW), chosen] if config.layout == "tlu" else []
    return together([*parts, rest, *transposed])


def _of_screens(config):
    """DSP blocks of a task's count times the rows of a screen: one if the product has nine bits,
    zeros at its end left out; yosys makes a smaller one of lookup tables."""
    rows = config.map_rows[0]
    odd = rows // (rows & -rows)
    return products(rows) * (config.samples.bit_length() + odd.bit_length() >= 9)


def _rounds(config):
    """Registers, commands and engines; the blocks of the memories for lists of tasks and for the
    lengths of rollouts, and the logic of a round."""
    units = len(config.units)
    lists = [8 * TASK.size, updating_task(config).size, *[queued_task(config).size] * units]
    memories = [(width, config.tasks) for width in lists]
    memories.append((config.steps.bit_length(), config.agents))
    blocks = sum(Ram.estimate(*each, style_of(each[1])).bram36 for each in memories)
    # Of each unit, the place of a snapshot; and the bytes of a task's observations.
    dsp = units + _of_screens(config)
    return [
        *shell.parts(config, buffers_of(config), A3C_STATUS).values(),
        shell.dispatcher(commands_of(config.local_masters), config, products=0),
        Estimate(lut=3700 + 260 * units, ff=1870 + 390 * units, bram36=blocks, dsp=dsp),
    ]


def suggest(config, fits):
    """List of texts, each with a change of ``config`` that would make it fit. If no single change
    would, one text with several changes, or no text. ``fits(config)`` says whether a config fits.
    """

    def halves(value):
        return [value >> k for k in range(1, value.bit_length())]

    fewer = [units for units in (("infer", "train"), ("any",)) if len(units) < len(config.units)]
    smaller = {
        "lanes": halves(config.lanes),
        "units": fewer,
        "rms_units": halves(config.rms_units),
        "drain_words": halves(config.drain_words),
        "global_masters": [1] if config.global_masters > 1 else [],
        "local_masters": [n for n in halves(config.local_masters) if n >= 2],
        "agents": [n for n in halves(config.agents) if n >= config.batch],
        "hidden": [
            tuple(min(width, most) for width in config.hidden)
            for most in halves(max(config.hidden, default=0))
            if most >= 16
        ],
    }
    return changes_that_fit(smaller, lambda changes: fits(replace(config, **changes)))
