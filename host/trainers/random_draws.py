"""Random numbers that a trainer's code draws from the generators that a process has in common."""

import random
from contextlib import contextmanager

import numpy as np

from host.algorithms.autodiff import torch

__all__ = ["seeded"]


@contextmanager
def seeded(rng, device="cpu"):
    """A context manager, in which draws of ``torch``, on the CPU and on ``device``, of ``random``
    and of ``np.random`` follow from the NumPy generator ``rng``, which draws one integer. At the
    end these generators are as they were before, so that draws elsewhere are the same."""
    device, seed = torch.device(device), int(rng.integers(1 << 63))
    elsewhere = [] if device.type == "cpu" else [device]
    own, numpys = random.getstate(), np.random.get_state(legacy=False)
    try:
        with torch.random.fork_rng(elsewhere, device_type=device.type):
            torch.default_generator.manual_seed(seed)
            if elsewhere:
                getattr(torch, device.type).manual_seed(seed)
            random.seed(seed)
            # Another key than that of ``random``, whose numbers would be the same.
            np.random.seed([seed & 0xFFFFFFFF, seed >> 32, 1])
            yield
    finally:
        random.setstate(own)
        np.random.set_state(numpys)
