"""Clocks of launches, and the limits of one that does not end."""

from hw.shell.memory_clocks import latencies
from sim.card.memory import MemoryConfig

__all__ = ["LIMIT_S", "launch_clocks", "memory_for"]

#: Seconds after which a launch that is measured raises CardTimeout: the simulated card may need
#: many minutes for an iteration of a large network.
LIMIT_S = 3600.0
#: The largest ``MemoryConfig.max_idle``.
_IDLE = 1 << 31


def memory_for(engine, clocks):
    """The MemoryConfig for an operation of ``clocks`` of a kernel with an EngineConfig: it answers
    as the formulas assume, which is the default except for a kernel with short queues, and a launch
    stands still only if it moves nothing for twice as many clocks. Large batches compute for so
    long between two transfers."""
    answers = {f"{way}_latency": clocks_of for way, clocks_of in latencies(engine).items()}
    idle = min(max(MemoryConfig().max_idle, 2 * round(clocks)), _IDLE)
    return MemoryConfig(**answers, max_idle=idle)


def launch_clocks(device, launch):
    """The clocks of all launches that ``launch()`` makes.

    ``device`` is what ``launch`` uses: an object of ``host.runtime`` that has ``device_cycles``.
    """
    before = device.device_cycles
    launch()
    return device.device_cycles - before
