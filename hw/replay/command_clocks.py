"""Clocks of SAMPLE, INSERT and UPDATE in a launch by formula, with the memory around the kernel.

With M, P, W, Q the latencies of the replay manager, the priority unit, the weight unit and an
engine's queue, of B experiences whose reads take r beats and whose batch takes n ::

    UPDATE   B + M + P + (read + Q) + 11
    INSERT   B + M + written(r) + (read + Q) + write + 16
    SAMPLE   M + written(n, in max(B, r, n)) + max(read, W - 3) + Q + write + 18

A launch fetches its program before, in read + Q + 5 clocks and one a beat. The counters of clocks
leave out the writing of the status. Tests compare all with the simulation, to the clock.

Memory moves a beat a clock, and queues of the engines hold what comes in its latency. Buffers begin
on a burst. The experiences of an INSERT do as well, and do not go on at place 0; elsewhere their
first burst is shorter, and an INSERT takes fewer clocks, by up to a burst of them.
"""

from hw.replay.config import GRANULE_WIDTH
from hw.replay.priority import PriorityUnit
from hw.replay.records import GRANULE_BYTES, HEADER
from hw.replay.tree.manager import ReplayManager
from hw.replay.weight import WeightUnit
from hw.shell.program import COMMAND_BYTES
from hw.stream.queue import Queue

__all__ = [
    "CARTPOLE_GRANULES",
    "READ",
    "WRITE",
    "beats_of",
    "clocks",
    "insert_clocks",
    "latencies",
    "launch_clocks",
    "sample_clocks",
    "stored_clocks",
    "update_clocks",
    "updated_clocks",
]

#: As the simulated card's memory: clocks from a request to its first beat, and from the last beat
#: of a write to its answer.
READ, WRITE = 64, 32
#: Clocks of states, and of registers between units: from two simulated kernels, the same in others.
_UPDATE, _INSERT, _SAMPLE, _LAUNCH = 11, 16, 18, 5
#: Clocks by which a weight is asked for before its experience.
_WEIGHT_FIRST = 3
#: Of an engine's queue, besides a burst: beats that a request under way may bring.
_UNDER_WAY = 4
#: What ``clocks`` gives: a batch of so many experiences, of the granules of Gymnasium's CartPole.
_COUNT, CARTPOLE_GRANULES = 64, 3


def clocks(config):
    """``{operation: clocks}`` of launches of one command each, of a ReplayKernelConfig.

    Memory is as the simulated card's. For a kernel with shorter queues it is one that answers
    within what they hold: such a kernel is for a part whose own block RAM is the memory.
    """
    count, memory = min(_COUNT, config.replay.capacity), latencies(config)
    commands = {
        "SAMPLE": sample_clocks(config, count, CARTPOLE_GRANULES, **memory),
        "INSERT": insert_clocks(config, count, CARTPOLE_GRANULES, **memory),
        "UPDATE": update_clocks(config, count, read=memory["read"]),
    }
    size = CARTPOLE_GRANULES * GRANULE_BYTES
    return {
        f"launch with {name} of {count} experiences of {size} bytes": launch_clocks(
            config, [each], read=memory["read"]
        )
        for name, each in commands.items()
    }


def latencies(config):
    """``{"read": clocks, "write": clocks}`` of the memory that ``clocks`` assumes for a config."""
    engine = config.engine
    most = engine.depth - engine.burst_beats - _UNDER_WAY
    return dict(read=max(1, min(READ, most)), write=max(1, min(WRITE, most)))


def launch_clocks(config, commands, *, read=READ):
    """Clocks of a launch of up to 16 commands, as its status counts them.

    commands : sequence of int
        Clocks of each.
    read : int
        Latency of memory.
    """
    program = beats_of(config, len(commands) * (COMMAND_BYTES // GRANULE_BYTES))
    return read + _queue(config) + _LAUNCH + program + sum(commands)


def update_clocks(config, count, *, read=READ):
    """Clocks of an UPDATE of ``count`` items; ``read`` as of ``launch_clocks``."""
    return read + _queue(config) + updated_clocks(config, count) + _UPDATE


def insert_clocks(config, count, granules, *, read=READ, write=WRITE):
    """Clocks of an INSERT of ``count`` experiences of ``granules``, at least one, that enter with
    one priority.

    read, write : int
        Latencies of memory.
    """
    return read + _queue(config) + stored_clocks(config, count, granules) + write + _INSERT


def sample_clocks(config, count, granules, *, read=READ, write=WRITE):
    """Clocks of a SAMPLE; arguments as of ``insert_clocks``."""
    beats = beats_of(config, count * (granules + HEADER.size // GRANULE_BYTES))
    longest = max(count, count * beats_of(config, granules), beats)
    wait = max(read, WeightUnit.LATENCY - _WEIGHT_FIRST) + _queue(config)
    manager = ReplayManager.latency_of(config.replay)
    return manager + _written(config, beats, longest) + wait + write + _SAMPLE


def updated_clocks(config, count):
    """Clocks in which ``count`` TD errors that are there become priorities of the tree."""
    return count + ReplayManager.latency_of(config.replay) + PriorityUnit.LATENCY


def stored_clocks(config, count, granules):
    """Clocks in which ``count`` experiences that come without a gap are written, and then enter the
    tree; memory is not counted."""
    beats = count * beats_of(config, granules)  # each experience begins on a beat
    return count + ReplayManager.latency_of(config.replay) + _written(config, beats, beats)


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


def _queue(config):
    return Queue.latency_of(config.engine.depth)
