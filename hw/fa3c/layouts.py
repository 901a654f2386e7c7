"""Layouts of the streams between the parts of ``a3c``."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from hw.fa3c.records import AGENTS, TASK

__all__ = ["listed_task", "queued_task", "unit_task", "update", "updating_task"]


def unit_task(config):
    """A task for a compute unit: an INFER of the first ``count`` entries of ``agents``, or a TRAIN
    of agent ``agents[0]``.

    train : 1 for a TRAIN
    count : agents of an INFER, steps of a TRAIN
    step : INFER: the step, from 0, that is added to the rollouts; ``config.steps``: none is added
    agents : numbers of the agents
    snapshot_row : first row of the snapshot in local memory
    operands, results : byte addresses of the task's data
    """
    return data.StructLayout(
        {
            "train": 1,
            "count": range(config.samples + 1),
            "step": range(config.steps + 1),
            "agents": data.ArrayLayout(8, AGENTS),
            "snapshot_row": range(config.local_rows + 1),
            "operands": 64,
            "results": 64,
        }
    )


def listed_task(config):
    """A task of the list of a ROUND: ``task``, as the list has it; ``position`` in the list, from
    0; ``last``, 1 for the last task."""
    return data.StructLayout(
        {"task": TASK.shape, "position": range(max(2, config.tasks)), "last": 1}
    )


def queued_task(config):
    """An INFER or a TRAIN that waits for its unit. It has the fields of ``unit_task``, but
    ``snapshot`` is the number of the snapshot instead of its row, and ``operands`` and ``results``
    are byte offsets in their buffers. ``waits``: 1 if the task may begin only when the SYNC of
    its snapshot in the same list is done."""
    unit = unit_task(config)
    return data.StructLayout(
        {
            "waits": 1,
            **{name: unit[name].shape for name in ("train", "count", "step", "agents")},
            "snapshot": range(max(2, config.snapshots)),
            "operands": 32,
            "results": 32,
        }
    )


def updating_task(config):
    """A TRAIN or a SYNC of a list that waits for RMSProp. It has all fields of ``update`` except
    ``layer``: a TRAIN becomes an UPDATE of each layer."""
    fields = dict(update(config))
    del fields["layer"]
    return data.StructLayout({name: field.shape for name, field in fields.items()})


def update(config):
    """The next work of RMSProp: if ``sync``, a SYNC of ``snapshot``, else an UPDATE of ``layer`` by
    the gradient of compute unit ``unit``, with four binary32 constants."""
    return data.StructLayout(
        {
            "sync": 1,
            "unit": range(max(2, len(config.units))),
            "layer": range(max(2, len(config.layers))),
            "snapshot": range(max(2, config.snapshots)),
            **dict.fromkeys(("rate", "decay", "gain", "epsilon"), unsigned(32)),
        }
    )
