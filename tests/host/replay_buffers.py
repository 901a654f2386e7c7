"""Buffers of recognizable experiences for the tests of ``host.runtime.replay``."""

import numpy as np
import pytest
from replay.kernels import WIDE

from host.runtime.replay import PrioritizedReplayBuffer

FIELDS = {"observation": (np.float32, (3,)), "action": (np.int64, ()), "done": (np.bool_, ())}
CARDS = pytest.mark.parametrize("card", ["model", "sim"])
ONE = 1 << WIDE.replay.priority_fraction
CAPACITY = 100


def make(kernel, **options):
    """A buffer that takes the kernel over from the one before it."""
    return PrioritizedReplayBuffer(
        kernel, FIELDS, **{"capacity": CAPACITY, "takeover": True, **options}
    )


def experiences(count, first=0):
    """Recognizable: experience k holds k in every field."""
    k = np.arange(first, first + count)
    return {
        "observation": np.stack([k, k + 0.5, -k], axis=1).astype(np.float32),
        "action": k,
        "done": k % 3 == 0,
    }


def filled(kernel, count=60, **options):
    """A buffer with ``count`` experiences of different priorities."""
    buffer = make(kernel, **options)
    buffer.add(**experiences(count))
    fill = len(buffer)
    buffer.update_priorities(np.arange(fill), np.linspace(-2, 3, fill))
    return buffer


def equal(a, b):
    """Two states or batches hold the same names and values."""
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
