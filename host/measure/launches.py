"""Clocks of launches, and the limits of one that does not end."""

from sim.card.memory import MemoryConfig

__all__ = ["LIMIT_S", "launch_clocks", "memory_for"]

#: Seconds after which a launch that is measured raises CardTimeout: the simulated card may need
#: many minutes for an iteration of a large network.
LIMIT_S = 3600.0
#: The largest ``MemoryConfig.max_idle``.
_IDLE = 1 << 31


def memory_for(clocks):
    """The MemoryConfig for an operation of ``clocks``: the default, but a launch stands still only
    if it moves nothing for twice as many clocks. Large batches compute for so long between two
    transfers."""
    return MemoryConfig(max_idle=min(max(MemoryConfig().max_idle, 2 * round(clocks)), _IDLE))


def launch_clocks(device, launch):
    """The clocks of all launches that ``launch()`` makes.

    ``device`` is what ``launch`` uses: an object of ``host.runtime`` that has ``device_cycles``.
    """
    before = device.device_cycles
    launch()
    return device.device_cycles - before
