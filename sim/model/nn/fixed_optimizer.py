"""Bit-exact reference for ``hw.nn.fixed_optimizer`` and ``hw.nn.fixed_coefficients``: integers.

A compiled loop over the parameters. Moments are float32 arrays, whose bits are the words.
"""

from math import frexp
from typing import NamedTuple

import numpy as np
from numba import njit

from hw.arith.fixed import SQ
from hw.learner.chain.backward_pe import gradient_sum_shape
from hw.nn.fixed_coefficients import FLOOR_WIDTH, LARGEST_EXPONENT, origins
from hw.nn.fixed_divisor import reciprocal_table, root_table
from hw.nn.optimizer_config import BLEND_FORMAT, COEFFICIENTS
from sim.model.arith import float32
from sim.model.arith.quantize import quantize

__all__ = ["FixedCoefficients", "fixed_coefficients", "fixed_update"]

_BLEND_SHIFT = BLEND_FORMAT.fraction
_HALF_BLEND = 1 << (_BLEND_SHIFT - 1)

_compiled = njit(cache=True, error_model="numpy")


class FixedCoefficients(NamedTuple):
    """``hw.nn.fixed_coefficients.FIXED_COEFFICIENTS`` as integers; 0 where there is none."""

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
    """``FixedCoefficients`` of float32 ``COEFFICIENTS``."""
    c = dict(zip(COEFFICIENTS.members, map(np.float32, values), strict=True))
    added = origins(config, gradient_sum_shape(config))
    result = dict.fromkeys(FixedCoefficients._fields, 0)

    def mantissa(value, width):
        drop = 24 - width
        word = (int(np.float32(value).view(np.uint32)) & 0x7FFFFFFF) + (1 << (drop - 1)) >> drop
        exponent = word >> (width - 1)
        fraction = word & ((1 << (width - 1)) - 1)
        return fraction | (exponent > 0) << (width - 1), exponent

    def decay(name, least):
        raw = int(quantize(c[f"{name}_decay"], SQ(2, 24))[0])
        result[f"{name}_loss"] = ((1 << 24) - min(raw, 1 << 24)) & 0xFFFFFF
        result[f"{name}_kept"] = int(raw >= least and raw > 0)

    words = {"rate": c["rate"]}
    if config.optimizer == "rmsprop":
        words["first_gain"] = c["scale"]
    else:
        words["first_gain"] = float32.multiply(c["scale"], c["first_gain"])
        decay("first", 0)
    if config.optimizer != "sgd":
        square = float32.multiply(c["scale"], c["scale"])
        words["second_gain"] = float32.multiply(square, c["second_gain"])
        decay("second", 1 << 23)
    for name, word in words.items():
        result[name], exponent = mantissa(word, 17)
        if name != "rate":
            exponent = min(exponent, LARGEST_EXPONENT - added[name])
        result[f"{name.removesuffix('_gain')}_origin"] = exponent + added[name]
    value, exponent = mantissa(c["floor"], FLOOR_WIDTH)
    result["floor"] = value if exponent else 1 << (FLOOR_WIDTH - 1)
    result["floor_exponent"] = exponent or 1
    one = 1 << BLEND_FORMAT.fraction
    result["blend"] = min(int(quantize(c["blend"], SQ(2, BLEND_FORMAT.fraction))[0]), one)
    return FixedCoefficients(**result)


def fixed_update(config, values, gradient, weight, target, first, second):
    """``(weight, target, first, second, saturations)``; formulas in ``hw.nn.fixed_optimizer``.

    gradient : int array, raw sums over the batch.
    weight, target : int64 raw, of the same size.
    first, second : float32 arrays, not read where the optimizer has none.
    values : ``COEFFICIENTS`` as float32.
    """
    sum_shape = gradient_sum_shape(config)
    c = fixed_coefficients(config, values)
    largest = sum_shape.width - 1
    limits = config.arithmetic.weight
    has_first, has_second = config.optimizer != "rmsprop", config.optimizer != "sgd"

    def words(moments, has):
        return np.ravel(moments).view(np.uint32) if has else np.zeros(0, np.uint32)

    first, second, raw, target, saturations = _update(
        c, largest, np.ravel(gradient), np.ravel(weight), np.ravel(target),
        words(first, has_first), words(second, has_second),
        has_first, has_second, limits.low, limits.high,
        root_table().base, root_table().slope, reciprocal_table().base, reciprocal_table().slope,
        root_table().remainder_width, reciprocal_table().remainder_width,
        root_table().drop, reciprocal_table().drop,
    )  # fmt: skip
    shape = np.shape(gradient)
    return (
        raw.reshape(shape),
        target.reshape(shape),
        first.view(np.float32).reshape(shape) if has_first else None,
        second.view(np.float32).reshape(shape) if has_second else None,
        saturations,
    )


@_compiled
def _length(x):
    """Bits of ``x``, from 0 to 2^53."""
    return frexp(float(x))[1]


@_compiled
def _kept(word, kept, loss):
    """Mantissa of 28 bits less its loss, exponent."""
    exponent = (word >> 23) & 255
    if exponent == 0 or not kept:
        return 0, exponent if kept else 0
    a = word & 0x7FFFFF | 0x800000
    return (a << 4) - ((loss * (a >> 8 << 1 | 1)) >> 13), exponent


@_compiled
def _aligned(kept, kept_exponent, gained, distance, nothing):
    """Sum, and the greater of the exponents, whose difference is ``distance``."""
    if distance >= 0 or nothing:
        small = 0 if distance >= 32 else gained >> max(distance, 0)
        return kept + small, kept_exponent
    small = 0 if distance < -32 else kept >> -distance
    return gained + small, kept_exponent - distance


@_compiled
def _first(word, kept, loss, negative, gained, exponent, nothing):
    """Sign, new word without it."""
    old, old_exponent = _kept(word, kept, loss)
    sign = bool(word >> 31)
    if sign != negative and not nothing:
        gained = ~gained
    total, exponent = _aligned(old, old_exponent, gained, old_exponent - exponent, nothing)
    below = total < 0
    # The complement is a magnitude with ones behind it.
    y = ~total if below else total
    shift = 29 - _length(y)
    y = (y << shift) | ((1 << shift) - 1 if below else 0)
    if exponent + 1 - (shift & ~1) < 2 or not y >> 28:
        return False, 0
    return sign != below, ((exponent + 1 - shift) << 23) + (y >> 5 & 0x7FFFFF) + (y >> 4 & 1)


@_compiled
def _second(word, kept, loss, gained, exponent, nothing):
    old, old_exponent = _kept(word, kept, loss)
    total, exponent = _aligned(old, old_exponent, gained, old_exponent - exponent, nothing)
    if exponent + 1 < 4 or total < 1 << 25:
        return 0
    shift = 29 - _length(total)
    y = total << shift
    return ((exponent + 1 - shift) << 23) + (y >> 5 & 0x7FFFFF) + (y >> 4 & 1)


@_compiled
def _divisor(word, floor, floor_exponent, base, slope, width, drop):
    """``sqrt + floor`` as 20 bits and exponent."""
    biased = word >> 23
    x = ((~biased & 1) << 23) | (word & 0x7FFFFF)
    index = x >> width
    root = (
        (base[index] << width) + slope[index] * (x & ((1 << width) - 1)) + (1 << drop - 1)
    ) >> drop
    exponent = ((biased + 1) >> 1) + 63
    distance = exponent - floor_exponent
    if biased == 0:
        total, exponent = floor, floor_exponent
    elif distance >= 0:
        total = root + (0 if distance >= 32 else floor >> distance)
    else:
        total, exponent = floor + (0 if distance < -32 else root >> -distance), floor_exponent
    carry = total >> 20
    return total >> carry, exponent + carry


@_compiled
def _update(
    c, largest, gradient, weights, targets, firsts, seconds, has_first, has_second, low, high,
    root_base, root_slope, inverse_base, inverse_slope,
    root_width, inverse_width, root_drop, inverse_drop,
):  # fmt: skip
    new_first, new_second = np.empty_like(firsts), np.empty_like(seconds)
    new_weights, new_targets = np.empty_like(weights), np.empty_like(targets)
    saturations = 0
    for k in range(gradient.size):
        # The gradient: mantissa of 24 bits, how far it was shifted.
        raw = np.int64(gradient[k])
        sign = raw < 0
        magnitude = ~raw if sign else raw
        length = _length(magnitude)
        if length >= 24:
            g = magnitude >> (length - 24)
        else:
            g = (magnitude << (24 - length)) | ((1 << (24 - length)) - 1 if sign else 0)
        shift = largest - length

        product = g * c.first_gain
        exponent = c.first_origin - shift
        if has_first:
            nothing = g == 0 or c.first_gain == 0
            sign, word = _first(
                np.int64(firsts[k]), c.first_kept, c.first_loss,
                sign, product >> 13, exponent, nothing,
            )  # fmt: skip
            new_first[k] = word | sign << 31
            exponent = word >> 23
            product = (word & 0x7FFFFF | 0x800000) * c.rate if word else 0
        else:
            product = (product >> 15) * c.rate
        if has_second:
            nothing = g == 0 or c.second_gain == 0
            square = ((g * (g >> 7)) >> 15) * c.second_gain
            word = _second(
                np.int64(seconds[k]), c.second_kept, c.second_loss,
                square >> 15, c.second_origin - 2 * shift, nothing,
            )  # fmt: skip
            new_second[k] = word
            divisor, divisor_exponent = _divisor(
                word, c.floor, c.floor_exponent, root_base, root_slope, root_width, root_drop
            )
            x = ~divisor & 0x7FFFF
            index, rest = x >> inverse_width, x & ((1 << inverse_width) - 1)
            inverse = (inverse_base[index] << inverse_width) + inverse_slope[index] * rest
            inverse = (inverse + (1 << inverse_drop - 1)) >> inverse_drop
            step = ((product >> (15 if has_first else 17)) * inverse) >> 13
            right = divisor_exponent - exponent - c.rate_origin
        else:
            step = product >> 11
            right = -exponent - c.rate_origin

        if right < 0:
            step = ((1 << 30) - 1) << 1 if step else 0
        else:
            step = 0 if right >= 32 else (step << 1) >> right
        step = (step >> 1) + (step & 1)
        moved = np.int64(weights[k]) + (step if sign else -step)
        weight = min(max(moved, low), high)
        saturations += weight != moved
        new_weights[k] = weight
        old = np.int64(targets[k])
        new_targets[k] = old + ((c.blend * (weight - old) + _HALF_BLEND) >> _BLEND_SHIFT)
    return new_first, new_second, new_weights, new_targets, saturations
