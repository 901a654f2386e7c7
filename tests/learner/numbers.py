"""Random numbers of an arithmetic, corners among them."""

import numpy as np
from nn.exact_activation import EXACT

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from sim.model.arith import float32

__all__ = ["NARROW", "activations", "numbers"]

#: Fixed point so narrow that limits are met.
NARROW = Arithmetic(kind="fixed", weight=SQ(2, 10), activation=SQ(3, 5), gradient=SQ(2, 8))


def numbers(arithmetic, kind, shape, rng):
    """Most of moderate size, some zero, some that saturate or overflow with others."""
    if not arithmetic.saturates:
        corners = np.array([0, -0.0, 1e-39, 1.2e-38, -3e19, 1e25], np.float32)
        usual = rng.standard_normal(shape).astype(np.float32)
        return np.where(rng.random(shape) < 0.1, rng.choice(corners, shape), usual)
    high = getattr(arithmetic, kind).high
    usual = rng.integers(-high // 6, high // 6, shape)
    return np.where(rng.random(shape) < 0.1, rng.choice([0, high, -high - 1], shape), usual)


def activations(arithmetic, activation, shape, rng):
    x = numbers(arithmetic, "activation", shape, rng)
    if activation in (None, "linear"):
        return x
    limit = EXACT[activation].limit
    if not arithmetic.saturates:
        # What a function's unit gives is never subnormal.
        return float32.flush(x if limit is None else np.clip(x, -limit, limit))
    if limit is None:
        return x
    one = limit << arithmetic.activation.fraction
    return rng.choice([-one, one, 0, *rng.integers(-one, one, 20)], shape)
