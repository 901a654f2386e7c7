"""Clocks of the rounds of a schedule's period and of their tasks, by formula: units work side by
side, RMSProp follows them in the order of the list.

Passes that wait for no row are exact (``unit/pass_clocks.py``), and rows come as memory moves beats
(``unit/row_clocks.py``). A round is right to half a percent, but too short if local masters are
fewer than units and narrower than a row (``shared_reads.py``). Tests compare it with the simulated
card.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, islice
from typing import NamedTuple

from hw.fa3c.masters import AHEAD, PORT_WRITE
from hw.fa3c.memory.run_walk import RunWalk
from hw.fa3c.memory.update_clocks import update_clocks
from hw.fa3c.pass_types import Kind
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.records import Task
from hw.fa3c.rows import ROW
from hw.fa3c.shared_reads import PassReads, TaskReads, shared_times
from hw.fa3c.unit.pass_clocks import run_passes
from hw.fa3c.unit.row_clocks import ParameterRows, Reads, beats_of_row, first_beat
from hw.shell.arbiter import Arbiter
from hw.shell.memory_clocks import latencies, launch_clocks

__all__ = ["TaskClocks", "Work", "clocks_of_launch", "period_clocks", "period_works"]
__all__ += ["round_clocks", "round_units", "task_clocks", "works_of"]

#: Clocks of a ROUND before and after those that its status counts.
_COMMAND = 6
#: Clocks of the checks of a task, besides one for each agent; of states before and after the tasks.
_CHECK, _STATES = 8, 24
#: Clocks from the end of one command of RMSProp to the taking of the next; those by which the last
#: answer to a SYNC is earlier, because its last burst is on its way while it is read.
_NEXT, _EARLY = 3, 10
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
    waits : number, from 1 on, of the SYNC in the round that makes the snapshot of an INFER; 0: none
    """

    kind: Task
    unit: int = 0
    count: int = 0
    waits: int = 0


def period_clocks(config, schedule):
    """Clocks of the launch of each round of a period of ``schedule``, a RoundSchedule, once all of
    its groups have begun."""
    return [clocks_of_launch(config, works) for works in period_works(config, schedule)]


def period_works(config, schedule):
    """The tasks of each round, as tuples of ``Work``."""
    plans = islice(schedule.plans(), schedule.period, 2 * schedule.period)
    return [tuple(works_of(plan)) for plan in plans]


@lru_cache(maxsize=4096)
def clocks_of_launch(config, works, apart=False):
    """Clocks of the launch of a ROUND with ``works``; rounds of a schedule are alike. ``apart`` as
    of ``round_clocks``."""
    clocks = round_clocks(config, works, apart) + _COMMAND
    return launch_clocks(config.engine, [clocks], latencies(config.engine)["read"])


def works_of(plan):
    """The tasks of a RoundPlan as ``Work``, for ``round_clocks``."""
    made = {snapshot: number for number, snapshot in enumerate(plan.syncs, 1)}
    works = [Work(Task.SYNC)] * len(plan.syncs)
    works += [Work(Task.TRAIN, task.unit, task.samples) for task in plan.trainings]
    works += [
        Work(Task.INFER, task.unit, len(task.agents), made.get(plan.snapshots[task.group], 0))
        for task in plan.inferences
    ]
    return works + [Work(Task.SYNC)] * len(plan.renewed)


def round_clocks(config, tasks, apart=False):
    """Clocks of a ROUND from its start to its end.

    tasks : list of ``Work``, in the order of the ROUND's list
    apart : as if each compute unit had local masters of its own; found sooner, and never more
    """
    return _round(config, tasks, apart)[1]


def round_units(config, tasks):
    """``{unit: [(begin, end), ...]}`` of a ROUND: when a compute unit begins and ends each task,
    and RMSProp each update of a layer and each SYNC."""
    return _round(config, tasks)[0]


def _round(config, tasks, apart=False):
    """``round_units`` and the clocks of a ROUND."""
    begin, own = _begin(config, tasks), _own_clocks(config, tasks)
    # A unit executes its TRAINs first.
    queues = defaultdict(list)
    for kind in (Task.TRAIN, Task.INFER):
        for position, work in enumerate(tasks):
            if work.kind == kind:
                queues[work.unit].append(position)
    # One unit reads at most a row a clock, with how many masters ever.
    shared = len(queues) > config.local_masters and not apart
    times_of = _shared if shared else _apart
    times = times_of(config, queues, own, dict.fromkeys(own, begin))
    updates, synced = _rms(config, tasks, begin, own, times)
    waits = {each: synced[tasks[each].waits - 1] for each in own if tasks[each].waits}
    if waits:
        times = times_of(config, queues, own, dict.fromkeys(own, begin) | waits)
        if shared:
            updates, _ = _rms(config, tasks, begin, own, times)
    spans = {
        f"unit {unit}": [(start, start + ends[-1]) for start, ends in map(times.get, positions)]
        for unit, positions in queues.items()
    }
    if updates:
        spans["RMSProp"] = updates
    # All units together read at most a beat a clock from each local master.
    rows = sum(each.rows for each in own.values())
    least = begin + rows * beats_of_row(config.engine) // config.local_masters
    return spans, max([least, *(each[-1][1] for each in spans.values())])


def _apart(_config, queues, own, ready):
    """``{position: (begin, ends)}`` of the tasks in ``queues``, lists of positions by unit.
    ``ends`` of the passes are counted from ``begin``. A task begins when its unit has ended the
    task before it, and from ``ready[position]`` on."""
    times = {}
    for positions in queues.values():
        end = 0
        for position in positions:
            begin, ends = max(ready[position], end), own[position].ends
            times[position], end = (begin, ends), begin + ends[-1]
    return times


def _shared(config, queues, own, ready):
    """As ``_apart``, but the units share the beats of the local masters."""
    port = 1 / beats_of_row(config.engine)
    found = shared_times(
        [[TaskReads(ready[each], own[each].passes) for each in q] for q in queues.values()],
        ring=config.parameter_rows,
        port=port,
        capacity=port * config.local_masters,
    )
    return {
        position: each
        for positions, unit in zip(queues.values(), found, strict=True)
        for position, each in zip(positions, unit, strict=True)
    }


def _own_clocks(config, tasks):
    """``{position: TaskClocks}`` of each INFER and TRAIN by itself."""
    # Units load observations at the same time, if they wait for the same SYNC or for none.
    loading = defaultdict(set)
    for work in tasks:
        loading[work.kind, work.waits].add(work.unit)
    return {
        position: task_clocks(config, work, len(loading[work.kind, work.waits]))
        for position, work in enumerate(tasks)
        if work.kind != Task.SYNC
    }


def _rms(config, tasks, begin, own, times):
    """When RMSProp begins and ends each of its commands, which it takes in order, and when it ends
    each SYNC. ``own`` and ``times`` as of ``_own_clocks`` and ``_times``."""
    spans, synced, end = [], [], begin
    for layer, position in _updates(config, tasks):
        ready, clocks = begin, _sync_clocks(config)
        if layer is not None:
            # Rows of the gradient that come late delay all that follow.
            (start, ends), task = times[position], own[position]
            alone, number = update_clocks(config, layer), task.gradient_passes[layer]
            late = ends[number] - task.ends[number]
            ready, clocks = start + late + _behind(task, layer, alone), alone.done
        first = max(ready, end + _NEXT)
        end = first + clocks
        spans.append((first, end))
        if layer is None:
            synced.append(end)
    return spans, synced


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


def _sync_clocks(config):
    """Clocks of a SYNC of RMSProp."""
    engine, rows = config.engine, config.snapshot_rows
    wait = first_beat(engine, latencies(engine)["read"], AHEAD) + RunWalk.LATENCY
    beats, burst = beats_of_row(engine), engine.burst_beats
    block = beats * ROW
    # Where a queue has no more room than a burst, a further burst of a block waits for the one
    # before it.
    stalls = Arbiter.LATENCY * (block // burst - 1) if burst >= PORT_WRITE else 0
    end = 2 * min(burst, block) + latencies(engine)["write"]
    return wait + rows * beats + rows // ROW * max(0, stalls) + end - _EARLY


@cache
def _behind(task, layer, alone):
    """Largest delay of a row of the gradient of TaskClocks ``task``, relative to UpdateClocks
    ``alone``, if both begin in one clock."""
    clocks, counts = zip(*task.gradients[layer], strict=True)
    rows = accumulate(counts, initial=0)
    return max(
        clock - count + 1 - alone.taken[row]
        for clock, count, row in zip(clocks, counts, rows, strict=False)
    )


def _begin(config, tasks):
    """Clocks until the tasks begin: their list and the errors are read, and checked."""
    engine = config.engine
    beats, wait = beats_of_row(engine), first_beat(engine, latencies(engine)["read"])
    named = {Task.INFER: lambda work: work.count, Task.TRAIN: lambda _: 1, Task.SYNC: lambda _: 0}
    checks = sum(_CHECK + named[work.kind](work) for work in tasks)
    errors = sum(w.count * config.map_rows[-1] for w in tasks if w.kind == Task.TRAIN)
    return wait + len(tasks) * beats + checks + (wait + errors * beats if errors else 0) + _STATES


@dataclass(frozen=True, eq=False)
class TaskClocks:
    """Clocks of a task, counted from its beginning.

    ends : until each of ``passes`` is done; the last is the task's end
    gradients : ``{layer: [(clock, rows)]}`` of a TRAIN: the clock of the last row of each run of
        gradient rows
    rows : rows that it reads from local memory
    passes : PassReads of each pass, the last one up to the task's end
    gradient_passes : ``{layer: place of its gradient in passes}``
    """

    ends: tuple
    gradients: dict
    rows: int
    passes: tuple
    gradient_passes: dict

    @property
    def end(self):
        """Clocks until the task is done."""
        return self.ends[-1]


def task_clocks(config, work, sharing=1):
    """The ``TaskClocks`` of an INFER or TRAIN by itself.

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
    places = {p.layer: place for place, p in enumerate(passes) if p.kind == Kind.GC}
    gradients = {layer: found[place].gradient for layer, place in places.items()}
    ends = [each.end for each in found]
    if not train:
        # Outputs are written a beat a clock, and then acknowledged. A burst waits twice until it
        # is whole: for its port's turn, and in the engine.
        beats = count * config.map_rows[-1] * beats_of_row(engine)
        ends[-1] += beats + 2 * min(beats, engine.burst_beats) + latencies(engine)["write"] + _WRITE
    segments = [
        (p.segments.total, p.segments.resident) if p.segments else (0, False) for p in passes
    ]
    reads = tuple(
        PassReads(end - before, *each)
        for before, end, each in zip([0, *ends], ends, segments, strict=False)
    )
    moved = sum(each.rows for each in reads) + train * count * config.step_rows
    return TaskClocks(tuple(ends), gradients, moved, reads, places)


def _maps(config, count, reads, clock):
    """The clocks that complete the inputs of each layer, last layer first; rows of ``reads`` wait
    for the host's rows, which have come in ``clock``."""
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
