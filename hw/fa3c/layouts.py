"""Layouts of the streams between the parts of ``a3c``."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from hw.fa3c.records import AGENTS, TASK

__all__ = ["listed_task", "queued_task", "unit_task", "update", "updating_task"]


def unit_task(config):
    """What a compute unit gets: an INFER of the agents 0..count-1, or a TRAIN of agent 0 of them.
    ``snapshot_row``: row of local memory; ``operands``, ``results``: addresses."""
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
    """A task of a list and its place there."""
    return data.StructLayout(
        {"task": TASK.shape, "position": range(max(2, config.tasks)), "last": 1}
    )


def queued_task(config):
    """An INFER or a TRAIN that waits for its unit: offsets instead of addresses. ``waits``: for the
    SYNC of its snapshot."""
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
    """A TRAIN or a SYNC that waits for RMSProp."""
    fields = dict(update(config))
    del fields["layer"]
    return data.StructLayout({name: field.shape for name, field in fields.items()})


def update(config):
    """What RMSProp does next: a SYNC of ``snapshot``, or an UPDATE of ``layer`` by the gradient of
    ``unit``, with four binary32 constants."""
    return data.StructLayout(
        {
            "sync": 1,
            "unit": range(max(2, len(config.units))),
            "layer": range(max(2, len(config.layers))),
            "snapshot": range(max(2, config.snapshots)),
            **dict.fromkeys(("rate", "decay", "gain", "epsilon"), unsigned(32)),
        }
    )
