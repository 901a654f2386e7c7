"""Sums to numbers, numbers to cells, in FIXAR's formats: integers in float64, which are exact here.

A sum of products is below 2^53: 27-bit operands, 16-bit codes or halves of a number, up to 1024
terms. Compiled loops; arrays are [features, batch].
"""

from typing import NamedTuple

import numpy as np

from hw.fixar.config import CODE_WIDTH
from hw.fixar.precision import code_limits
from sim.compiled import compiled

__all__ = ["Cells", "Finished", "encode", "finish", "gradients", "operands", "value_of"]

_HALF_OF_CELL = 2.0**CODE_WIDTH
_NONE = np.empty((0, 0))


class Cells(NamedTuple):
    """The words that stream through the array: codes [features, batch] with their ``shift``. In
    full precision (``half`` false) upper and lower 16 bits side by side, [features, 2 * batch]."""

    words: np.ndarray
    shift: int
    half: bool


class Finished(NamedTuple):
    """``values`` and the ``cells`` made of them; the lowest and the highest value; how many were
    clipped."""

    values: np.ndarray
    cells: Cells
    low: float
    high: float
    saturations: int


def operands(arithmetic, weights):
    """Weights as operands of the array: rounded half up to the operand's format."""
    drop = arithmetic.weight.fraction - arithmetic.operand.fraction
    return _operands(weights, drop, arithmetic.operand.high)


@compiled
def _operands(weights, drop, high):
    result = np.empty(weights.shape)
    flat, out, half = weights.ravel(), result.ravel(), (1 << drop) >> 1
    for k in range(flat.size):
        out[k] = min((flat[k] + half) >> drop, high)
    return result


def encode(values, half, shift, signed):
    """``(Cells, saturations)`` of numbers of full precision."""
    words = np.empty((values.shape[0], values.shape[1] * (1 if half else 2)))
    saturations = _encode(values, words, half, shift, *code_limits(signed))
    return Cells(words, shift if half else 0, half), saturations


@compiled
def _encode(values, words, half, shift, low, high):
    saturations, batch = 0, values.shape[1]
    unit = 0.5**shift
    for i in range(values.shape[0]):
        for b in range(batch):
            if half:
                code = np.floor(values[i, b] * unit + 0.5)
                inside = min(max(code, low), high)
                saturations += inside != code
                words[i, b] = inside
            else:
                upper = np.floor(values[i, b] / 65536.0)
                words[i, b] = upper
                words[i, batch + b] = values[i, b] - upper * 65536.0
    return saturations


def value_of(cells):
    """Numbers of full precision that cells stand for."""
    if cells.half:
        return cells.words * 2.0**cells.shift
    batch = cells.words.shape[1] // 2
    return cells.words[:, :batch] * _HALF_OF_CELL + cells.words[:, batch:]


def finish(sums, begin, source, drop, limits, *, mask=None, relu=False, target=None):
    """``Finished``: sums of products with ``source`` cells as numbers, then as cells.

    sums : [features, columns of source.words]
    begin : [features], what the sums start with, in units of the operands' fraction and of full
    precision; or None.
    drop : fraction bits that a number has less than a sum of full precision.
    limits : lowest and highest number.
    mask : [features, batch], 0 where a number is cleared; or None.
    target : ``(half, shift, signed)`` of the cells, or None if no cells are made.
    """
    batch = sums.shape[1] if source.half else sums.shape[1] // 2
    values = np.empty((sums.shape[0], batch))
    low, high, saturations = _finish(
        sums,
        np.zeros(sums.shape[0]) if begin is None else begin,
        source.half,
        source.shift,
        drop,
        limits,
        _NONE if mask is None else mask,
        relu,
        values,
    )
    cells = None
    if target is not None:
        cells, clipped = encode(values, *target)
        saturations += clipped
    return Finished(values, cells, low, high, saturations)


@compiled
def _finish(sums, begin, half, shift, drop, limits, mask, relu, values):
    least, most, saturations = np.inf, -np.inf, 0
    rows, batch = values.shape
    bound_low, bound_high = limits
    scale, rounding = 0.5 ** (drop - shift), 2.0 ** (drop - shift - 1)
    upper_scale, masked = 0.5 ** (drop - 16), mask.size > 0
    for i in range(rows):
        for b in range(batch):
            if half:
                value = np.floor((sums[i, b] + begin[i] * 0.5**shift + rounding) * scale)
            else:
                carry = np.floor((sums[i, batch + b] + rounding) / 65536.0)
                upper = sums[i, b] + begin[i] / 65536.0
                value = np.floor((upper + carry) * upper_scale)
            inside = min(max(value, bound_low), bound_high)
            saturations += inside != value
            if relu:
                inside = max(inside, 0.0)
            if masked:
                inside = inside if mask[i, b] > 0 else 0.0
            least, most = min(least, inside), max(most, inside)
            values[i, b] = inside
    return least, most, saturations


def gradients(sums, shift, drop, limits, low=None):
    """``(numbers int64, saturations)``: ``clip(floor(sums * 2^(shift - drop) + 1/2))``.

    low : the lower 16 bits' share of the sums in full precision, or None.
    """
    return _gradients(sums, sums if low is None else low, low is not None, shift - drop, limits)


@compiled
def _gradients(sums, lows, full, left, limits):
    numbers, saturations = np.empty(sums.shape, np.int64), 0
    flat, low, out = sums.ravel(), lows.ravel(), numbers.ravel()
    for k in range(flat.size):
        if full:  # left < 0
            rest = (np.int64(low[k]) + (1 << (-left - 1))) >> -left
            number = (np.int64(flat[k]) << (16 + left)) + rest
        elif left >= 0:
            number = np.int64(flat[k]) << left
        else:
            number = (np.int64(flat[k]) + (1 << (-left - 1))) >> -left
        inside = min(max(number, limits[0]), limits[1])
        saturations += inside != number
        out[k] = inside
    return numbers, saturations
