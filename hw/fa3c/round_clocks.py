"""Clocks of a ROUND, computed: units work side by side, RMSProp follows them in the order of the
list.

Passes are exact (``unit/pass_clocks.py``). The rest is counted in whole waits for memory, so that a
round is right to half a percent. Tests compare it with the simulated card.
"""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

from hw.fa3c.memory.rms import Rms
from hw.fa3c.memory.rms_command import RmsKind
from hw.fa3c.pass_types import Kind
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.records import Task
from hw.fa3c.unit.pass_clocks import pass_clocks
from hw.shell.interconnect import InterconnectConfig
from hw.stream.ram import SHALLOW

__all__ = ["Work", "round_clocks", "task_clocks"]

#: Clocks that an engine and an interconnect add to the latency of memory.
_AROUND = 20
#: Clocks from the last gradient row of a layer, through the RUs, to the answer of memory.
_UPDATE_TAIL = 160


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


def _passes(config, train):
    return (training_passes if train else forward_passes)(config)


@cache
def _pass_clocks(config, train, count):
    """``(kind, layer, clocks)`` of each pass of a task, of a ``_compute_unit``."""
    passes = _passes(config, train)
    return [
        (p.kind, p.layer, clocks)
        for p, clocks in zip(passes, pass_clocks(config, passes, count), strict=True)
    ]


@cache
def _compute_unit(config):
    """``config`` with the least of all that no clock of a pass depends on."""
    return replace(config, units=("any",), agents=config.batch, snapshots=1, tasks=1, rms_units=1)


def _host_rows(rows, latency, sharing):
    """Clocks to read ``rows`` rows from the host's master while ``sharing`` units read from it; a
    port of it holds ``SHALLOW`` rows."""
    wait = latency + _AROUND
    return wait + round(rows * max(sharing, wait / SHALLOW))


def task_clocks(config, work, latency=64, sharing=1):
    """``(clocks, gradients)`` of an INFER or TRAIN alone: all its clocks, and for a TRAIN
    {layer: clocks until the gradient of the layer has left}.

    work : Work
    latency : clocks of memory from a request to its first beat
    sharing : units that load observations at the same time
    """
    train = work.kind == Task.TRAIN
    rows = work.count * config.map_rows[-1 if train else 0]
    clocks, gradients = _host_rows(rows, latency, 1 if train else sharing), {}
    if train:
        clocks += latency + _AROUND + work.count * config.map_rows[-2]
    for kind, layer, cycles in _pass_clocks(_compute_unit(config), train, work.count):
        clocks += cycles
        if kind == Kind.GC:
            gradients[layer] = clocks
    return clocks + (0 if train else latency), gradients


def _updates(config, tasks):
    """Commands of RMSProp in order, as ``(layer, position of the task)``; layer None is a SYNC."""
    wave, units = [], set()

    def layers():
        for layer in reversed(range(len(config.layers))):
            yield from ((layer, position) for position in wave)
        wave.clear()
        units.clear()

    for position, work in enumerate(tasks):
        if work.kind == Task.SYNC or (work.kind == Task.TRAIN and work.unit in units):
            yield from layers()
        if work.kind == Task.SYNC:
            yield None, position
        elif work.kind == Task.TRAIN:
            wave.append(position)
            units.add(work.unit)
    yield from layers()


def round_clocks(config, tasks, latency=64):
    """Clocks of a ROUND from its start to its end.

    tasks : list of ``Work``, in the order of the ROUND's list
    latency : clocks of memory from a request to its first beat
    """
    interconnect = InterconnectConfig(depth=SHALLOW)
    begin = 2 * (latency + _AROUND) + 4 * len(tasks)
    begin += (latency + _AROUND) * sum(work.kind == Task.TRAIN for work in tasks)
    free, gradients, synced = {}, {}, begin
    # Units begin at once, except with an INFER that waits for a snapshot; RMSProp takes its
    # commands in order.
    for position, work in enumerate(tasks):
        if work.kind == Task.TRAIN:
            start = free.get(work.unit, begin)
            clocks, layers = task_clocks(config, work, latency)
            free[work.unit] = start + clocks
            gradients[position] = {layer: start + clock for layer, clock in layers.items()}
    now = begin
    for layer, position in _updates(config, tasks):
        kind = RmsKind.SYNC if layer is None else RmsKind.UPDATE
        alone = Rms.estimate(
            config,
            kind,
            layer or 0,
            interconnect=interconnect,
            memory_latency=latency,
            snapshot_latency=latency,
        ).cycles
        now += alone
        if layer is None:
            synced = now
        else:
            now = max(now, gradients[position][layer] + _UPDATE_TAIL)
    # Units load observations at the same time, except those that wait.
    inferring = [{w.unit for w in tasks if w.kind == Task.INFER and w.waits == x} for x in (0, 1)]
    for work in tasks:
        if work.kind == Task.INFER:
            start = max(free.get(work.unit, begin), synced if work.waits else 0)
            free[work.unit] = (
                start + task_clocks(config, work, latency, len(inferring[work.waits]))[0]
            )
    return max([now, *free.values()])
