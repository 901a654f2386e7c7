"""Clocks of launches, and the limits of one that does not end."""

import numpy as np

from host.advantages.estimator import AdvantageEstimator
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.replay.command_clocks import CARTPOLE_GRANULES
from hw.replay.records import GRANULE_BYTES
from hw.shell.memory_clocks import latencies
from sim.card.memory import MemoryConfig

__all__ = ["LIMIT_S", "estimate_clocks", "launch_clocks", "memory_for", "sample_clocks"]

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

    ``device`` is what ``launch`` uses: an object of ``host.programs`` that has ``device_cycles``.
    """
    before = device.device_cycles
    launch()
    return device.device_cycles - before


def estimate_clocks(kernel, config, batch):
    """Clocks of the launches, with their transfers, for ``batch`` random trajectories that fill the
    stack and are not finished, as many at a time as the kernel has rows."""
    estimator = AdvantageEstimator(kernel, timeout_s=LIMIT_S)
    rng, rows = np.random.default_rng(0), config.gae.rows

    def launch():
        for begin in range(0, batch, rows):
            shape = config.gae.depth, min(rows, batch - begin)
            rewards, values, bootstraps = rng.normal(size=(3, *shape))
            going_on = np.zeros(shape, bool)
            estimator.estimate(rewards, values, going_on, going_on, bootstraps)

    return launch_clocks(estimator, launch)


#: Bytes of an experience; places that are filled, if there are so many.
_SIZE, _PLACES = CARTPOLE_GRANULES * GRANULE_BYTES, 1024


def sample_clocks(kernel, config, batch):
    """Clocks of a launch with a SAMPLE of ``batch`` experiences of 48 bytes, from a buffer whose
    experiences and priorities are random."""
    capacity, rng = min(config.replay.capacity, _PLACES), np.random.default_rng(0)
    fields = {"experience": (np.uint8, (_SIZE,))}
    buffer = PrioritizedReplayBuffer(kernel, fields, capacity=capacity, timeout_s=LIMIT_S)
    buffer.add(experience=rng.integers(0, 256, (capacity, _SIZE), np.uint8))
    buffer.update_priorities(np.arange(capacity), rng.normal(size=capacity))
    return launch_clocks(buffer, lambda: buffer.step(sample=(batch, 0.5)))
