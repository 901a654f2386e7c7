"""The memory around a kernel, as formulas of clocks assume it, and the clocks of a launch."""

from hw.shell.program import COMMAND_BYTES
from hw.stream.queue import Queue

__all__ = ["READ", "WRITE", "latencies", "launch_clocks"]

#: As the simulated card's memory: clocks from a request to its first beat, and from the last beat
#: of a write to its answer.
READ, WRITE = 64, 32
#: Clocks of states, and of registers between units: from two simulated kernels, the same in others.
_LAUNCH = 5
#: Of an engine's queue, besides a burst: beats that a request under way may bring.
_UNDER_WAY = 4


def latencies(engine):
    """``{"read": clocks, "write": clocks}`` of the memory for a kernel with an EngineConfig.

    It is as the simulated card's. For a kernel with shorter queues it is one that answers within
    what they hold: such a kernel is for a part whose own block RAM is the memory.
    """
    most = engine.depth - engine.burst_beats - _UNDER_WAY
    return dict(read=max(1, min(READ, most)), write=max(1, min(WRITE, most)))


def launch_clocks(engine, commands, read=READ):
    """Clocks of a launch of up to 16 commands, as its status counts them: the program is fetched in
    ``read`` clocks, those of the queue, 5 and one a beat.

    engine : EngineConfig
        That of the host's master.
    commands : sequence of int
        Clocks of each.
    read : int
        Latency of memory.
    """
    program = -(-len(commands) * COMMAND_BYTES // engine.beat_bytes)
    return read + Queue.latency_of(engine.depth) + _LAUNCH + program + sum(commands)
