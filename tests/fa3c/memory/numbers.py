"""Numbers for tests of RMSProp, and what the twin makes of them."""

import numpy as np
from arith.float32_cases import CORNERS, floats

from hw.fa3c.rows import ROW
from sim.model.fa3c.memory.rms import Coefficients, update

__all__ = ["HARD", "USUAL", "as_rows", "normals", "packed_coefficients", "patterns", "updated"]

#: Of A3C as FA3C trains it; decay and gain without a common sum, no floor, a step of 1.
USUAL = Coefficients(rate=7e-4, decay=0.99, gain=0.01, epsilon=0.1)
HARD = Coefficients(rate=1, decay=0.5, gain=2, epsilon=0)


def normals(rng, count, low=-40, high=10):
    numbers = rng.standard_normal(count) * np.exp2(rng.integers(low, high, count))
    return numbers.astype(np.float32)


def patterns(rng, count):
    """Any bits, corners among them."""
    words = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    return floats(np.where(rng.random(count) < 0.3, rng.choice(CORNERS, count), words))


def updated(coefficients, gradient, squares, theta):
    """New squares and theta."""
    squares, theta = squares.copy(), theta.copy()
    update(coefficients, gradient, squares, theta)
    return squares, theta


def as_rows(numbers):
    """Rows of 16 as integers, the first number lowest."""
    rows = np.ascontiguousarray(numbers, np.float32).reshape(-1, ROW)
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def packed_coefficients(c):
    """``RMS_COEFFICIENTS`` as an integer."""
    return int.from_bytes(np.array(c, np.float32).tobytes(), "little")
