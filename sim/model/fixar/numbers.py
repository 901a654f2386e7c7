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
    """The 16-bit words that stream through the array, and what they stand for.

    half : True for half precision: a number is one word, a code.
    shift : in half precision, a code stands for the number code * 2**shift; else 0.
    words : float64 that hold integers. In half precision the codes [features, batch]; in full
        precision [features, 2 * batch], first the upper 16 bits of all numbers, then the lower 16.
    """

    words: np.ndarray
    shift: int
    half: bool


class Finished(NamedTuple):
    """The results of ``finish``.

    values : the numbers [features, batch], rounded and clipped, after ReLU and mask.
    cells : the Cells made of ``values``; None if none were asked for.
    low, high : the lowest and the highest of ``values``.
    saturations : how many numbers were clipped, as values and then as codes.
    """

    values: np.ndarray
    cells: Cells
    low: float
    high: float
    saturations: int


def operands(arithmetic, weights):
    """Raw ``weights`` as operands of the array, float64 that hold integers: rounded half up to the
    format ``arithmetic.operand``, and clipped at its highest number."""
    drop = arithmetic.weight.fraction - arithmetic.operand.fraction
    return _operands(weights, drop, arithmetic.operand.high)


@compiled
def _operands(weights, drop, high):
    result = np.empty(weights.shape)
    flat, out, half = weights.ravel(), result.ravel(), (1 << drop) >> 1
    for k in range(flat.size):
        out[k] = min((flat[k] + half) >> drop, high)
    return result


def encode(values, half, shift, signed, bits=CODE_WIDTH):
    """``(Cells, saturations)`` of ``values`` [features, batch], numbers of full precision. If
    ``half``, each becomes the code ``floor(value / 2**shift + 1/2)``, clipped to the limits of
    signed or unsigned codes, and ``saturations`` is how many were clipped; all but its upper
    ``bits`` are 0, and it is rounded half up to the lowest of these. If not, upper and lower
    16 bits are separated, and nothing is clipped."""
    words = np.empty((values.shape[0], values.shape[1] * (1 if half else 2)))
    cut = CODE_WIDTH - bits
    saturations = _encode(values, words, half, shift, cut, *code_limits(signed, bits))
    return Cells(words, shift if half else 0, half), saturations


@compiled
def _encode(values, words, half, shift, cut, low, high):
    saturations, batch = 0, values.shape[1]
    unit, step = 0.5 ** (shift + cut), 2.0**cut
    for i in range(values.shape[0]):
        for b in range(batch):
            if half:
                code = np.floor(values[i, b] * unit + 0.5) * step
                inside = min(max(code, low), high)
                saturations += inside != code
                words[i, b] = inside
            else:
                upper = np.floor(values[i, b] / 65536.0)
                words[i, b] = upper
                words[i, batch + b] = values[i, b] - upper * 65536.0
    return saturations


def value_of(cells):
    """The numbers of full precision [features, batch] that ``cells``, a Cells, stand for."""
    if cells.half:
        return cells.words * 2.0**cells.shift
    batch = cells.words.shape[1] // 2
    return cells.words[:, :batch] * _HALF_OF_CELL + cells.words[:, batch:]


def finish(sums, begin, source, drop, limits, *, mask=None, relu=False, target=None):
    """Makes numbers of sums of products with the words of ``source``, and then Cells of the
    numbers; returns ``Finished``.

    sums : [features, columns of source.words].
    source : the Cells whose words were multiplied.
    begin : [features], a bias that is added to the sums, with the fraction bits of a sum of full
        precision; None for no bias.
    drop : how many fraction bits more a sum of full precision has than a number.
    limits : lowest and highest number, to which numbers are clipped.
    mask : [features, batch]; where it is not above 0, the number becomes 0. None for no mask.
    relu : numbers below 0 become 0.
    target : ``(half, shift, signed, bits)`` of the Cells, as for ``encode``; None if none are made.
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
    """``(numbers, saturations)``, gradients as the optimizer takes them: int64 ``clip(floor(sums *
    2^(shift - drop) + 1/2))``, and how many were clipped.

    sums : sums of products, float64 that hold integers. In full precision, those with the upper 16
        bits.
    shift, drop : bits by which the sums move to the left, and to the right.
    limits : lowest and highest number.
    low : in full precision, the sums with the lower 16 bits, so that the whole sum is ``sums *
        2**16 + low``; None in half precision.
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
