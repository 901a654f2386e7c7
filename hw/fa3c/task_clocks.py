"""Clocks of one task of a compute unit: rows to load, passes, rows to store."""

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from hw.fa3c.pass_types import Kind
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.records import Task
from hw.fa3c.unit.parameter_rows import ParameterRows
from hw.fa3c.unit.pass_clocks import run_passes
from hw.fa3c.unit.row_clocks import Reads, beats_of_row
from hw.shell.memory_clocks import latencies

__all__ = ["TaskClocks", "Work", "task_clocks", "written_clocks"]

#: Clocks from the beginning of a task to its first request for rows, from a row to ``moved``, and
#: of a request for a further map.
_BEGIN, _MOVED, _MAP = 2, 3, 3
#: Clocks of a write in the units between a port and memory, besides its beats.
_WRITE = 4


class Work(NamedTuple):
    """The parts of a task that its clocks depend on.

    kind : Task
    unit : its compute unit
    count : agents of an INFER, steps of a TRAIN
    waits : it is an INFER whose snapshot is made in the same round
    """

    kind: Task
    unit: int = 0
    count: int = 0
    waits: bool = False


@dataclass(frozen=True, eq=False)
class TaskClocks:
    """Clocks of a task, counted from its beginning.

    end : until it is done
    gradients : ``{layer: [(clock, rows)]}`` of a TRAIN: the clock of the last row of each run of
        gradient rows
    rows : rows that it reads from local memory
    """

    end: int
    gradients: dict
    rows: int


def written_clocks(engine, beats):
    """Clocks from the first of ``beats`` beats of a write, which come a beat a clock, to its
    answer. A burst waits twice until it is whole: for its port's turn, and in the engine."""
    burst = min(beats, engine.burst_beats)
    return beats + 2 * burst + latencies(engine)["write"] + _WRITE


def task_clocks(config, work, sharing=1):
    """The ``TaskClocks`` of an INFER or TRAIN alone.

    work : Work
    sharing : units that load observations, or errors and maps, at the same time
    """
    return _clocks(_compute_unit(config), work.kind == Task.TRAIN, work.count, sharing)


@cache
def _compute_unit(config):
    """``config`` with the least of all that no clock of a task depends on."""
    return replace(config, units=("any",), agents=config.batch, snapshots=1, tasks=1, rms_units=1)


@cache
def _clocks(config, train, count, sharing):
    engine, latency = config.engine, latencies(config.engine)["read"]
    passes = (training_passes if train else forward_passes)(config)
    rows = count * config.map_rows[-1 if train else 0]
    host = Reads(engine, latency, stripes=1, sharing=sharing)
    stripes = config.local_masters
    local, there = (
        Reads(engine, latency, stripes, sharing),
        [host.ask(_BEGIN, 0, rows)[-1] + _MOVED],
    )
    if train:
        there += _maps(config, count, local, there[0])
    needs = [0 if p.kind == Kind.FW else len(config.layers) - p.layer for p in passes]
    found = run_passes(
        config,
        passes,
        count,
        [there[number] for number in needs],
        ParameterRows(config, passes, Reads(engine, latency, stripes, before=local)),
    )
    gradients = {
        p.layer: each.gradient for p, each in zip(passes, found, strict=True) if p.kind == Kind.GC
    }
    end = found[-1].end
    if not train:
        end += written_clocks(engine, count * config.map_rows[-1] * beats_of_row(engine))
    moved = sum(p.segments.total for p in passes if p.segments is not None)
    return TaskClocks(end, gradients, moved + train * count * config.step_rows)


def _maps(config, count, reads, clock):
    """The clocks in which the inputs of each layer are there, of the last layer first; rows of
    ``reads`` wait until those of the host have come, in ``clock``."""
    found, asked, row = [], _BEGIN, 0
    reads.turn = clock - _MOVED
    for layer in reversed(range(len(config.layers))):
        place = sum(config.map_rows[:layer])
        for step in range(count):
            asked += _MAP
            row = config.rollout_row(0, step) + place
            last = reads.ask(asked, row, config.map_rows[layer])[-1]
        found.append(last + _MOVED)
    return found
