"""The configs of ``a3c`` among which a search chooses: units, their PEs, RMSProp (FA3C 5.6).

The layout of parameters stays as it is in the config: FA3C's alternatives are never faster. So
do the local masters: with four pairs of 64 PEs, four of them gain 1.7 %, and would double a search.
"""

from hw.fa3c.round_clocks import period_clocks
from hw.fa3c.schedule import Schedule
from hw.space import Space

__all__ = ["SPACE", "clocks"]

#: Units for all tasks, or pairs of one for inference and one for training: up to four of each.
_UNITS = (
    *(kind * count for count in (1, 2) for kind in (("any",), ("infer", "train"))),
    *(("any",) * 4, ("infer", "train") * 3, ("infer", "train") * 4),
)
_POWERS = (1, 2, 4, 8, 16)


def clocks(config):
    """``{operation: clocks}`` of a Fa3cConfig: of a period, in which each agent that works is
    inferred ``steps + 1`` times and trained once."""
    schedule = Schedule(config)
    name = f"period of {schedule.period} rounds with {schedule.active} agents"
    return {name: sum(period_clocks(config, schedule))}


def _clocks(config, batch):
    """In which each of ``batch`` agents takes ``steps`` steps and is trained once, on average."""
    schedule = Schedule(config, batch)
    return schedule.clocks_of_all(sum(period_clocks(config, schedule)))


def _prepare(config, batch):
    """A group of agents shares a snapshot, so there are as many as groups."""
    snapshots = max(config.snapshots, -(-batch // config.batch))
    return {"agents": batch, "snapshots": snapshots}


SPACE = Space(
    operation="period of rounds with {batch} agents",
    batch=lambda config: config.agents,
    fields=lambda config: {
        "lanes": _POWERS,
        "units": _UNITS,
        "rms_units": _POWERS,
        "drain_words": _POWERS,
        "global_masters": (1, 2),
    },
    clocks=_clocks,
    prepare=_prepare,
    axis="lanes",
    curve="units",
)
