"""Clocks of SAMPLE, INSERT and UPDATE in a launch by formula, with the memory around the kernel.

With M, P, W, Q the latencies of the replay manager, the priority unit, the weight unit and an
engine's queue, of B experiences whose reads take r beats and whose batch takes n ::

    UPDATE   B + M + P + (read + Q) + 11
    INSERT   B + M + written(r) + (read + Q) + write + 16
    SAMPLE   M + written(n, in max(B, r, n)) + max(read, W - 3) + Q + write + 18

A launch fetches its program before (``hw.shell.memory_clocks``). The counters of clocks leave out
the writing of the status. Tests compare all with the simulation, to the clock.

Memory moves a beat a clock, and queues of the engines hold what comes in its latency. Buffers begin
on a burst. The experiences of an INSERT do as well, and do not go on at place 0; elsewhere their
first burst is shorter, and an INSERT takes fewer clocks, by up to a burst of them.
"""

from hw.replay.config import GRANULE_WIDTH
from hw.replay.priority import PriorityUnit
from hw.replay.records import GRANULE_BYTES, HEADER
from hw.replay.weight import WeightUnit
from hw.shell.memory_clocks import READ, WRITE, latencies, launch_clocks
from hw.stream.queue import Queue

__all__ = [
    "CARTPOLE_GRANULES",
    "beats_of",
    "clocks",
    "gathered_clocks",
    "insert_clocks",
    "queue_clocks",
    "sample_clocks",
    "stored_clocks",
    "update_clocks",
    "updated_clocks",
]

#: Clocks of states, and of registers between units: from two simulated kernels, the same in others.
_UPDATE, _INSERT, _SAMPLE = 11, 16, 18
#: Clocks by which a weight is asked for before its experience.
_WEIGHT_FIRST = 3
#: What ``clocks`` gives: a batch of so many experiences, of the granules of Gymnasium's CartPole.
_COUNT, CARTPOLE_GRANULES = 64, 3


def clocks(config):
    """``{operation: clocks}`` of launches of one command each, of a ReplayKernelConfig.

    Memory answers as ``hw.shell.memory_clocks.latencies`` says.
    """
    count, memory = min(_COUNT, config.replay.capacity), latencies(config.engine)
    commands = {
        "SAMPLE": sample_clocks(config, count, CARTPOLE_GRANULES, **memory),
        "INSERT": insert_clocks(config, count, CARTPOLE_GRANULES, **memory),
        "UPDATE": update_clocks(config, count, read=memory["read"]),
    }
    size = CARTPOLE_GRANULES * GRANULE_BYTES
    return {
        f"launch with {name} of {count} experiences of {size} bytes": launch_clocks(
            config.engine, [each], memory["read"]
        )
        for name, each in commands.items()
    }


def update_clocks(config, count, *, read=READ):
    """Clocks of an UPDATE of ``count`` items; ``read``: latency of memory."""
    return read + queue_clocks(config) + updated_clocks(config, count) + _UPDATE


def insert_clocks(config, count, granules, *, read=READ, write=WRITE):
    """Clocks of an INSERT of ``count`` experiences of ``granules``, at least one, that enter with
    one priority.

    read, write : int
        Latencies of memory.
    """
    return read + queue_clocks(config) + stored_clocks(config, count, granules) + write + _INSERT


def sample_clocks(config, count, granules, *, read=READ, write=WRITE):
    """Clocks of a SAMPLE; arguments as of ``insert_clocks``."""
    beats = beats_of(config, count * (granules + HEADER.size // GRANULE_BYTES))
    longest = max(count, count * beats_of(config, granules), beats)
    manager, written = config.replay.latency, _written(config, beats, longest)
    return manager + written + gathered_clocks(config, read) + write + _SAMPLE


def gathered_clocks(config, read):
    """Clocks from the request of an experience until both its first beat and its weight are
    there; ``read``: latency of memory."""
    return max(read, WeightUnit.LATENCY - _WEIGHT_FIRST) + queue_clocks(config)


def updated_clocks(config, count):
    """Clocks to turn ``count`` waiting TD errors into priorities of the tree."""
    return count + config.replay.latency + PriorityUnit.LATENCY


def stored_clocks(config, count, granules):
    """Clocks to write ``count`` experiences that come without a gap and enter them in the tree,
    without memory's latency."""
    beats = count * beats_of(config, granules)  # each experience begins on a beat
    return count + config.replay.latency + _written(config, beats, beats)


def beats_of(config, granules):
    """Beats of memory that ``granules`` take, dense."""
    return -(-granules * GRANULE_WIDTH // config.engine.data_width)


def _written(config, beats, longest):
    """Clocks until the last of ``beats`` has left that come in ``longest`` clocks, spread evenly: a
    burst leaves when it is whole, a beat a clock."""
    burst = config.engine.burst_beats
    last = (beats - 1) % burst + 1
    late = longest + last
    if beats > burst:  # the burst before may still be on its way
        late = max(late, longest - last * longest // beats + burst + last)
    return late


def queue_clocks(config):
    """Clocks of a beat in the queue of an engine."""
    return Queue.latency_of(config.engine.depth)
