"""Resources of the whole kernel ``a3c``, and changes with which it would fit a smaller board.

Nothing is synthesized here. Multipliers and memory blocks are counted as the units use them; lookup
tables and registers are as yosys maps them for UltraScale+.
"""

from dataclasses import replace

from hw.area import area
from hw.arith.float32.format import WIDTH
from hw.estimate import products, selector, times, together
from hw.fa3c.commands import buffers_of, commands_of
from hw.fa3c.layouts import queued_task, updating_task
from hw.fa3c.masters import interconnects, stripes
from hw.fa3c.memory.gradient_queue import GradientQueue
from hw.fa3c.records import A3C_STATUS, TASK
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.shell import estimate as shell
from hw.shell.buffers import HOST
from hw.stream import estimate as stream
from hw.stream.ram import Ram, style_of
from hw.suggest import suggest as changes_that_fit

__all__ = ["compute_unit", "drain", "estimate", "masters", "parts", "pe_array", "row_memory"]
__all__ += ["suggest"]


def estimate(config):
    """Resources of the whole kernel of a Fa3cConfig."""
    return together(parts(config).values())


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a Fa3cConfig."""
    trainers, rms_units = len(config.units_for("train")), config.rms_units
    return {
        "units": together([compute_unit(config, role) for role in config.units]),
        "gradients": times(trainers, row_memory(GradientQueue.depth_of(config), config.ultra_ram)),
        # With its queues in ``Rms``, words in the RUs and words that wait for the rest of a row.
        "rms": together(
            [
                area("fa3c.memory.row_update", units=rms_units),
                times(rms_units, area("fa3c.memory.rms_unit")),
            ]
        ),
        "image": times(
            config.transposed_rows > 0,
            stream.transpose(WIDTH, ROW),
            area("fa3c.memory.transposed_image"),
        ),
        "masters": masters(config),
        "core": _core(config),
        "commands": shell.dispatcher(commands_of(config.local_masters), config, products=0),
        **shell.parts(config, buffers_of(config), A3C_STATUS),
    }


def row_memory(rows, ultra_ram):
    """A memory of ``rows`` rows, which is UltraRAM only if ``ultra_ram``."""
    return Ram.estimate(ROW_WIDTH, rows, style_of(rows, ultra_ram))


def compute_unit(config, role):
    """A compute unit of ``role``, without the queue of its gradients."""
    transposes = role != "infer" and config.layout == "tlu"
    own = area(
        "fa3c.unit.compute_unit",
        # A word from the line buffer to the array passes three registers.
        lanes=config.lanes,
        # Rows are from the TLU, or from memory.
        chosen=transposes * ROW_WIDTH,
        # Addresses in rollouts, and the rows of a task's observations.
        products=_of_screens(config),
    )
    return together(
        [
            pe_array(config),
            drain(config),
            row_memory(config.feature_rows, config.ultra_ram),
            row_memory(config.parameter_rows, config.ultra_ram),
            own,
            times(transposes, stream.transpose(WIDTH, ROW)),
        ]
    )


def pe_array(config):
    """A ``PeArray``. Where it loads columns, each bit of a PE's next word is one of the row's and
    the lane's, which is one of 16 / lanes words; all else is within the PEs."""
    choices = ROW_WIDTH + ROW + WIDTH * selector(ROW // config.lanes)
    chosen = config.lanes * choices if config.layout == "alt1" else 0
    pes = times(config.lanes * ROW, area("fa3c.unit.pe"))
    return together([pes, area("fa3c.unit.pe_array", chosen=chosen)])


def drain(config):
    """A ``Drain``: adders with the delays beside them; for each lane its places in the line and the
    multiplexers behind them."""
    lanes, words = config.lanes, config.drain_words
    adders = words * (lanes + config.partials - 1)
    return area("fa3c.unit.drain", adders=adders, lanes=lanes, words=words * lanes)


def _of_screens(config):
    """DSP blocks of a task's count times the rows of a screen: one if the product has nine bits,
    zeros at its end left out; yosys makes a smaller one of lookup tables."""
    rows = config.map_rows[0]
    odd = rows // (rows & -rows)
    return products(rows) * (config.samples.bit_length() + odd.bit_length() >= 9)


def masters(config):
    """Interconnects between the parts of ``a3c`` and the masters, width converters and stripes,
    without the engines of the masters."""
    infer, train = (len(config.units_for(work)) for work in ("infer", "train"))
    of = {"read": shell.read_interconnect, "write": shell.write_interconnect}
    convert = {"read": shell.upsizer, "write": shell.downsizer}
    found = [
        times(len(config.units) + train, shell.striped_read(stripes(config))),
        times(1 + infer, shell.striped_write(stripes(config))),
    ]
    for (master, direction), joint in interconnects(config).items():
        found.append(of[direction](joint))
        if joint.data_width != ROW_WIDTH:  # a command's own ports are of beats
            rows = joint.ports - (master == HOST)
            found.append(times(rows, convert[direction](ROW_WIDTH, joint.data_width)))
    return together(found)


def _core(config):
    """The blocks of the memories for lists of tasks and for the lengths of rollouts, and the logic
    of a round."""
    units = len(config.units)
    lists = [8 * TASK.size, updating_task(config).size, *[queued_task(config).size] * units]
    memories = [(width, config.tasks) for width in lists]
    memories.append((config.steps.bit_length(), config.agents))
    blocks = sum(Ram.estimate(*each, style_of(each[1])).bram36 for each in memories)
    # Of each unit, the place of a snapshot; and the bytes of a task's observations.
    own = area("fa3c.a3c_core", units=units, products=_of_screens(config))
    return replace(own, bram36=blocks)


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
