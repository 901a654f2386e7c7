"""Clocks of a launch with a SAMPLE."""

import numpy as np

from host.measure.launches import LIMIT_S, launch_clocks
from host.runtime.replay import PrioritizedReplayBuffer
from hw.replay.command_clocks import CARTPOLE_GRANULES
from hw.replay.records import GRANULE_BYTES

__all__ = ["sample_clocks"]

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
