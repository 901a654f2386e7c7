"""Resources of the whole kernel ``a3c``, and what would fit where it does not.

Counted, not synthesized: multipliers and blocks of memory as the units have them. Lookup tables are
those of PEs, RMSProp and adder trees alone, each as yosys maps it to UltraScale+: a whole kernel
needs more.
"""

from dataclasses import replace

from hw.estimate import Estimate
from hw.fa3c.layouts import queued_task, updating_task
from hw.fa3c.masters import AHEAD, MASTERS
from hw.fa3c.memory.gradient_queue import GradientQueue
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.records import TASK
from hw.fa3c.unit.array import Array
from hw.fa3c.unit.drain import Drain
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.parameter_buffer import ParameterBuffer
from hw.shell.axi import engine_of
from hw.stream.ram import memory_blocks, style_of

__all__ = ["estimate", "suggest"]

_LUT = {"add": 424, "multiply": 148, "rsqrt": 487}


def _units(config, role):
    """Estimates of the parts of a compute unit that are more than lookup tables."""
    parts = [each.estimate(config) for each in (Array, Drain, FeatureBuffer, ParameterBuffer)]
    if role != "infer":
        parts.append(GradientQueue.estimate(config))
    return parts


def _luts(config):
    """Of arithmetic: PEs, the adders behind them (a tree over lanes, one for partial sums, one for
    the bias), and the RUs, with five multipliers and three adders each."""
    trees = config.drain_words * (config.lanes + 1) * _LUT["add"]
    units = len(config.units) * (Array.estimate(config).lut + trees)
    update = 5 * _LUT["multiply"] + 3 * _LUT["add"] + _LUT["rsqrt"]
    return units + config.rms_units * update


def _queues(config):
    """Blocks of the engines' queues, of those of the interconnects, and of lists of tasks."""
    blocks = 0
    for master in MASTERS:
        engine = engine_of(config, master)
        blocks += 2 * memory_blocks(engine.data_width, engine.depth, style_of(engine.depth))
    width = engine_of(config, "global").data_width + 1
    blocks += memory_blocks(width, AHEAD, style_of(AHEAD))
    lists = [8 * TASK.size, updating_task(config).size]
    lists += [queued_task(config).size] * len(config.units)
    style = style_of(config.tasks)
    return blocks + sum(memory_blocks(width, config.tasks, style) for width in lists)


def estimate(config):
    """Resources of the whole kernel of a Fa3cConfig; None where unknown."""
    parts = [part for role in config.units for part in _units(config, role)]
    parts.append(RowUpdate.estimate(config))

    def count(name):
        return sum(getattr(part, name) or 0 for part in parts)

    return Estimate(
        lut=_luts(config),
        bram36=count("bram36") + _queues(config),
        uram=count("uram"),
        dsp=count("dsp"),
    )


def suggest(config, fits):
    """What would fit: texts, each a change by itself.

    ``fits(config)`` : whether another config does.
    """
    changes = {
        "lanes": [config.lanes >> k for k in range(1, config.lanes.bit_length())],
        "units": [("infer", "train")] * (len(config.units) > 2),
        "rms_units": [config.rms_units >> k for k in range(1, config.rms_units.bit_length())],
    }
    found = []
    for name, values in changes.items():
        value = next((v for v in values if _holds(config, fits, {name: v})), None)
        if value is not None:
            found.append(f"{name} {' '.join(value) if isinstance(value, tuple) else value}")
    return found


def _holds(config, fits, changes):
    try:
        return fits(replace(config, **changes))
    except ValueError:  # lanes that such a network cannot have
        return False
