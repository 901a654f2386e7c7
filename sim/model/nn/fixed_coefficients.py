"""Bit-exact reference for ``hw.nn.fixed_coefficients``."""

from typing import NamedTuple

import numpy as np

from hw.nn.fixed_coefficients import FLOOR_WIDTH, LARGEST_EXPONENT, origins
from hw.nn.optimizer_config import BLEND_FORMAT
from sim.compiled import compiled
from sim.model.arith.float32_steps import flush, product

__all__ = ["FixedCoefficients", "fixed_coefficients"]

_BLEND_SHIFT = BLEND_FORMAT.fraction


class FixedCoefficients(NamedTuple):
    """The fields of ``hw.nn.fixed_coefficients.FIXED_COEFFICIENTS`` as integers: mantissas,
    origins, losses (1 - decay), whether a moment is kept, and blend. For a moment that the
    optimizer lacks, loss, kept and the second gain are 0."""

    first_gain: int
    first_origin: int
    first_loss: int
    first_kept: int
    second_gain: int
    second_origin: int
    second_loss: int
    second_kept: int
    rate: int
    rate_origin: int
    floor: int
    floor_exponent: int
    blend: int


def fixed_coefficients(config, values):
    """``FixedCoefficients`` from ``values``, a tuple of np.float32 in the order of
    ``COEFFICIENTS``. ``config`` has optimizer, arithmetic and batch."""
    added = origins(config, config.arithmetic.gradient_sum_shape(config.batch))
    first, second = config.optimizer != "rmsprop", config.optimizer != "sgd"
    numbers = _coefficients(
        np.array(values, np.float32), first, second,
        added["first_gain"], added["second_gain"], added["rate"],
    )  # fmt: skip
    return FixedCoefficients(*numbers)


@compiled
def _mantissa(value, width):
    """Mantissa and exponent, rounded half up; of a zero both are 0."""
    drop = 24 - width
    bits = np.int64(np.array([value], np.float32).view(np.uint32)[0])
    word = ((bits & 0x7FFFFFFF) + (1 << (drop - 1))) >> drop
    exponent = word >> (width - 1)
    fraction = word & ((1 << (width - 1)) - 1)
    return (fraction | 1 << (width - 1) if exponent else 0), exponent


@compiled
def _decay(value, least):
    """1 - decay, and whether decay is not 0."""
    one = 1 << 24
    raw = np.int64(min(np.floor(np.float64(value) * one + 0.5), np.float64(one)))
    return (one - raw) & (one - 1), np.int64(raw >= least and raw > 0)


@compiled
def _coefficients(c, has_first, has_second, first_added, second_added, rate_added):
    scale, first_decay, first_gain, second_decay, second_gain, rate, floor, blend = c[:8]
    scale = word = flush(scale)
    loss = kept = second = second_exponent = second_loss = second_kept = 0
    if has_first:
        word = product(word, flush(first_gain))
        loss, kept = _decay(first_decay, 0)
    if has_second:
        square = product(scale, scale)
        second, exponent = _mantissa(product(square, flush(second_gain)), 17)
        second_exponent = min(exponent, LARGEST_EXPONENT - second_added) + second_added
        second_loss, second_kept = _decay(second_decay, 1 << 23)
    first, exponent = _mantissa(word, 17)
    first_exponent = min(exponent, LARGEST_EXPONENT - first_added) + first_added
    rate, rate_exponent = _mantissa(rate, 17)
    floor, floor_exponent = _mantissa(floor, FLOOR_WIDTH)
    if floor_exponent == 0:
        floor, floor_exponent = 1 << (FLOOR_WIDTH - 1), 1
    one = 1 << _BLEND_SHIFT
    blend = np.int64(min(np.floor(np.float64(blend) * one + 0.5), np.float64(one)))
    return (
        first, first_exponent, loss, kept, second, second_exponent, second_loss, second_kept,
        rate, rate_exponent + rate_added, floor, floor_exponent, blend,
    )  # fmt: skip
