"""Bit-exact reference for ``hw.arith.noise``: exploration noise on actions."""

import numpy as np

from sim.model.arith import float32

__all__ = ["gaussian", "with_noise"]

#: Twelve uniform numbers of 16 bits have this mean, and a deviation of 2^16 less 2^-17.
_MEAN = 12 * 65535 // 2
_NUMBERS = 3


def gaussian(seed, count):
    """``count`` random numbers with about a normal distribution of mean 0 and deviation 1, int64 in
    units of 2^-16. Each is the sum of twelve uniform 16-bit numbers, less their mean, from an SFC64
    generator with the state (seed, seed, seed, 1) whose first twelve words are dropped."""
    generator = np.random.SFC64(0)
    state = generator.state
    state["state"]["state"] = np.array([seed, seed, seed, 1], np.uint64)
    generator.state = state
    generator.random_raw(12)
    words = generator.random_raw(_NUMBERS * count).reshape(count, _NUMBERS)
    parts = words[:, :, None] >> np.arange(0, 64, 16, dtype=np.uint64) & np.uint64(0xFFFF)
    return parts.astype(np.int64).sum(axis=(1, 2)) - _MEAN


def with_noise(actions, noise, seed):
    """A copy of the float32 ``actions`` [n, size] with Gaussian noise of standard deviation
    ``noise`` added, clipped to -1..1. The same ``seed`` gives the same noise (``gaussian``)."""
    steps = (gaussian(seed, actions.size) * 2.0**-16).astype(np.float32).reshape(actions.shape)
    noisy = float32.add(actions, float32.multiply(np.float32(noise), steps))
    return np.clip(noisy, np.float32(-1), np.float32(1))
