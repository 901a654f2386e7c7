"""Bit-exact reference for ``hw.fixar.noise``: exploration noise on actions."""

import numpy as np

from sim.model.arith import float32

__all__ = ["gaussian", "with_noise"]

#: Twelve uniform numbers of 16 bits have this mean, and a deviation of 2^16 less 2^-17.
_MEAN = 12 * 65535 // 2
_NUMBERS = 3


def gaussian(seed, count):
    """``count`` numbers in units of 2^-16, int64, of the generator that starts from ``seed``; its
    first twelve words are dropped."""
    generator = np.random.SFC64(0)
    state = generator.state
    state["state"]["state"] = np.array([seed, seed, seed, 1], np.uint64)
    generator.state = state
    generator.random_raw(12)
    words = generator.random_raw(_NUMBERS * count).reshape(count, _NUMBERS)
    parts = words[:, :, None] >> np.arange(0, 64, 16, dtype=np.uint64) & np.uint64(0xFFFF)
    return parts.astype(np.int64).sum(axis=(1, 2)) - _MEAN


def with_noise(actions, noise, seed):
    """float32 ``actions`` [n, size] with noise of standard deviation ``noise``, clipped to
    -1..1."""
    steps = (gaussian(seed, actions.size) * 2.0**-16).astype(np.float32).reshape(actions.shape)
    noisy = float32.add(actions, float32.multiply(np.float32(noise), steps))
    return np.clip(noisy, np.float32(-1), np.float32(1))
