"""Random binary32 numbers with the float units' corners, and rows of them as integers."""

import numpy as np
from arith.float32_cases import CORNERS

__all__ = ["as_int", "numbers"]


def numbers(shape, rng, corners=0.1):
    """Most of moderate size; so many are corners: zeros, subnormals, NaNs, infinities."""
    usual = rng.standard_normal(shape).astype(np.float32)
    odd = rng.choice(CORNERS, shape).view(np.float32)
    return np.where(rng.random(shape) < corners, odd, usual)


def as_int(words):
    """float32 numbers side by side as one integer, the first lowest."""
    return int.from_bytes(np.ascontiguousarray(words, dtype="<f4").tobytes(), "little")
