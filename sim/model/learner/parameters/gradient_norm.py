"""Bit-exact reference for ``hw.learner.network.gradient_norm`` and the sums of squares that it
takes."""

import numpy as np

from hw.learner.records import ONE
from sim.compiled import compiled
from sim.model.arith import float32
from sim.model.arith.to_float import to_float
from sim.model.nn.batch_sum import batch_sum
from sim.model.nn.fixed_optimizer import normal

__all__ = ["limited", "limited_scale", "of_integer", "square_total", "squares"]

#: Fraction bits of a square in fixed point, and bits of its mantissa.
_FRACTION, _MANTISSA = 32, 26
_FLOOR = np.float32(1e-6)


def limited_scale(config, layers, gradients, scale, max_norm):
    """The scale, an np.float32, of a network whose gradient has a limited norm.

    config : with arithmetic and batch.
    layers : the network's BlockShapes.
    gradients : ``(weights, biases)`` of each layer, sums over the batch; raw in fixed point.
    scale, max_norm : np.float32, of the record of the iteration.
    """
    return limited(config, squares(config, layers, gradients, scale), scale, max_norm)


def limited(config, square, scale, max_norm):
    """``limited_scale`` from ``square``, an np.float32: what ``squares`` gives."""
    scaled = float32.multiply(scale, square) if config.arithmetic.saturates else square
    norm = float32.multiply(scaled, float32.rsqrt(square))
    if square == 0 or np.isinf(square):
        norm = square
    quotient = float32.reciprocal(float32.add(norm, _FLOOR))
    ratio = np.float32(float32.multiply(max_norm, quotient))
    if ratio.view(np.uint32) >= ONE:
        return np.float32(scale)
    return np.float32(float32.multiply(float32.multiply(scale, max_norm), quotient))


def squares(config, layers, gradients, scale):
    """The sum of the squares of a network's gradients, an np.float32; in binary32 of the gradients
    times ``scale``, layer by layer, in the order of the update's parts."""
    if config.arithmetic.saturates:
        numbers = np.concatenate([np.ravel(part) for pair in gradients for part in pair])
        return of_integer(square_total(config, numbers))
    totals = []
    for shape, pair in zip(layers, gradients, strict=True):
        scaled = [float32.multiply(scale, part) for part in pair]
        numbers = shape.pack(*(float32.multiply(part, part) for part in scaled))
        parts = numbers[: shape.parts * shape.part].reshape(shape.parts, shape.part)
        totals.append(batch_sum(_tree([*parts.T])))
    return np.float32(_tree(totals))


def _tree(values):
    """Neighbours are added first, then neighbouring sums; a last one waits."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        values = [float32.add(a, b) for a, b in pairs] + values[len(values) & ~1 :]
    return values[0]


def square_total(config, gradient):
    """The sum of the squares of raw gradients, an int in units of 2^-32; each square is rounded
    down."""
    arithmetic = config.arithmetic
    largest = arithmetic.gradient_sum_shape(config.batch).width - 1
    places = 2 * (largest - arithmetic.gradient_sum_fraction) + _FRACTION - _MANTISSA
    sums, total = _by_shift(gradient, largest, places)
    total = int(total)
    for shift, each in enumerate(sums):
        total += int(each) << max(places - 2 * shift, 0)
    return total


def of_integer(total):
    """A sum in units of 2^-32 as np.float32; 31 bits at a time are dropped until 62 are left."""
    dropped = 0
    while total >> 62:
        total, dropped = total >> 31, dropped + 31
    return np.float32(to_float(total, _FRACTION) * np.float32(2.0**dropped))


@compiled
def _by_shift(gradient, largest, places):
    """Sums of the mantissas' squares by their shift, and the sum of those that lie below the
    lowest place."""
    mantissa, shift, _ = normal(gradient, largest)
    sums, below = np.zeros(64, np.int64), 0
    for k in range(mantissa.size):
        square = (mantissa[k] * (mantissa[k] >> 7)) >> 15
        under = 2 * shift[k] - places
        if under > 0:
            below += square >> min(under, 63)
        else:
            sums[shift[k]] += square
    return sums, below
