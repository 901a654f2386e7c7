"""Clocks of a ROUND, computed: units work side by side, RMSProp follows them in the order of the
list.

Passes are exact where their rows are there (``unit/pass_clocks.py``), and rows come as memory moves
beats (``unit/row_clocks.py``). A round is right to half a percent. Tests compare it with the
simulated card.
"""

from functools import cache
from itertools import accumulate

from hw.fa3c.masters import AHEAD, PORT_WRITE
from hw.fa3c.memory.run_walk import RunWalk
from hw.fa3c.memory.update_clocks import update_clocks
from hw.fa3c.records import Task
from hw.fa3c.rows import ROW
from hw.fa3c.task_clocks import Work, task_clocks
from hw.fa3c.unit.row_clocks import beats_of_row, first_beat
from hw.shell.arbiter import Arbiter
from hw.shell.memory_clocks import latencies
from hw.timing import Stage

__all__ = ["Work", "round_clocks"]

#: Clocks of the checks of a task, besides one for each agent; of states before and after the tasks.
_CHECK, _STATES = 8, 24
#: Clocks from the end of one command of RMSProp to the taking of the next; those by which the last
#: answer to a SYNC is earlier, because its last burst is on its way while it is read.
_NEXT, _EARLY = 3, 10


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


def round_clocks(config, tasks):
    """Clocks of a ROUND from its start to its end.

    tasks : list of ``Work``, in the order of the ROUND's list
    """
    begin = _begin(config, tasks)
    units = {work.unit: Stage() for work in tasks}
    trained, synced, rms, rows = {}, {}, Stage(), 0
    rms.next = begin + _NEXT
    # Units begin at once, except with an INFER that waits for a snapshot; RMSProp takes its
    # commands in order.
    training = len({work.unit for work in tasks if work.kind == Task.TRAIN})
    for position, work in enumerate(tasks):
        if work.kind == Task.TRAIN:
            own = task_clocks(config, work, training)
            trained[position] = units[work.unit].begin(begin, own.end), own
            rows += own.rows
    for layer, position in _updates(config, tasks):
        if layer is None:
            rms.begin(0, _sync_clocks(config) + _NEXT)
            synced[position] = rms.next - _NEXT
        else:
            # Rows of the gradient that come late delay all that follow.
            (start, task), alone = trained[position], update_clocks(config, layer)
            rms.begin(start + _behind(task, layer, alone), alone.done + _NEXT)
    # Units load observations at the same time, except those that wait.
    inferring = [{w.unit for w in tasks if w.kind == Task.INFER and w.waits == x} for x in (0, 1)]
    for position, work in enumerate(tasks):
        if work.kind == Task.INFER:
            ready = begin
            if work.waits:  # for the SYNCs that stand before it
                ready = max([begin, *(end for at, end in synced.items() if at < position)])
            own = task_clocks(config, work, len(inferring[work.waits]))
            units[work.unit].begin(ready, own.end)
            rows += own.rows
    # All units together read at most a beat a clock from each local master.
    least = begin + rows * beats_of_row(config.engine) // config.local_masters
    return max([rms.next - _NEXT, least, *(unit.next for unit in units.values())])
