"""What optimizers are tested with: coefficients, and numbers of all magnitudes."""

from typing import NamedTuple

import numpy as np
from arith.float32_cases import floats

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed_point import DualPrecision
from hw.nn.optimizer import Optimizer
from hw.nn.optimizer_config import COEFFICIENTS, OptimizerConfig
from hw.nn.optimizers import optimizer_of
from sim.model.nn.fixed_coefficients import fixed_coefficients

__all__ = [
    "DUAL",
    "FIXED",
    "NAMES",
    "Case",
    "given",
    "normals",
    "patterns",
    "raw_gradients",
    "values",
]

NAMES = list(COEFFICIENTS.members)
FIXED, DUAL = Arithmetic(kind="fixed"), DualPrecision()
#: As torch's defaults, on the first step of Adam.
USUAL = dict(
    scale=1 / 64,
    first_decay=0.9,
    first_gain=0.1,
    second_decay=0.999,
    second_gain=0.001,
    rate=3e-4,
    floor=1e-8,
    blend=0.005,
    keep=0.995,
)


class Case(NamedTuple):
    """An optimizer, its arithmetic and the largest batch: what its twin asks of a config."""

    optimizer: str = "adam"
    arithmetic: Arithmetic = FIXED
    batch: int = 64

    @property
    def config(self):
        return OptimizerConfig(optimizer=self.optimizer, arithmetic=self.arithmetic)

    @property
    def sum_shape(self):
        return self.arithmetic.gradient_sum_shape(self.batch)


def values(**changes):
    return tuple(np.float32({**USUAL, **changes}[name]) for name in NAMES)


def given(config, c):
    """``COEFFICIENTS`` as the optimizers of ``config`` take them, by name."""
    if optimizer_of(config.arithmetic) is Optimizer:
        return dict(zip(NAMES, c, strict=True))
    return fixed_coefficients(config, c)._asdict()


def normals(rng, count, low=-40, high=10):
    numbers = rng.standard_normal(count) * np.exp2(rng.integers(low, high, count))
    return numbers.astype(np.float32)


def patterns(rng, count):
    """Any bits: infinities, NaNs, subnormals and zeros among them."""
    words = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    special = np.array(
        [0, 1 << 31, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x00800000],
        dtype=np.uint32,
    )
    return floats(np.where(rng.random(count) < 0.15, rng.choice(special, count), words))


def raw_gradients(rng, count, width):
    """Sums of ``width`` bits of all magnitudes; zero and the limits among them."""
    numbers = rng.integers(-(1 << (width - 1)), 1 << (width - 1), count)
    numbers >>= rng.integers(0, width, count)
    top, middle = 1 << (width - 1), 1 << min(24, width - 2)
    corners = [0, 0, 1, -1, 2, -2, -top, top - 1, middle, -middle]
    return np.where(rng.random(count) < 0.1, rng.choice(corners, count), numbers)
