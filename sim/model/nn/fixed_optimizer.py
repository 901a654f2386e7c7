"""Bit-exact reference for ``hw.nn.fixed_optimizer``, in integers.

Moments are float32 arrays, whose bits are the words. The code is a sequence of compiled loops over
the parameters. The loops have no branches, so that processors execute them for several parameters
at a time. The length of an integer is taken from the exponent of its float64.
"""

import numpy as np

from hw.nn.fixed_divisor import reciprocal_table, root_table
from hw.nn.fixed_step import step_width
from hw.nn.optimizer_config import BLEND_FORMAT
from sim.compiled import compiled
from sim.model.arith.interpolate import interpolate_all, parts
from sim.model.nn.fixed_coefficients import fixed_coefficients

__all__ = ["fixed_update", "normal"]

_BLEND_SHIFT = BLEND_FORMAT.fraction
_HALF_BLEND = 1 << (_BLEND_SHIFT - 1)
_NONE = np.zeros(0, np.uint32)
#: Parameters that are updated at a time.
_BLOCK_PARAMETERS = 4096
_TABLES = parts(root_table()), parts(reciprocal_table())


def fixed_update(config, values, gradient, weight, target, first, second):
    """One optimizer step in fixed point, by the formulas of ``hw.nn.fixed_optimizer``. Returns new
    arrays and a count: ``(weight, target, first, second, saturations)``; a moment that the
    optimizer lacks is None, and ``saturations`` is how many weights were clipped.

    config : with optimizer, arithmetic and batch.
    values : tuple of np.float32 in the order of ``COEFFICIENTS``.
    gradient : int64 array, raw sums over the batch.
    weight, target : int64 arrays of raw values, of the same shape.
    first, second : float32 arrays of the same shape, ignored if the optimizer lacks the moment.
    """
    shape, limits = np.shape(gradient), config.arithmetic.weight
    has_first, has_second = config.optimizer != "rmsprop", config.optimizer != "sgd"
    weight, target, first, second, saturations = _in_blocks(
        fixed_coefficients(config, values),
        np.ravel(gradient),
        config.arithmetic.gradient_sum_shape(config.batch).width - 1,
        np.ravel(weight),
        np.ravel(target),
        np.ravel(first).view(np.uint32) if has_first else _NONE,
        np.ravel(second).view(np.uint32) if has_second else _NONE,
        (limits.low, limits.high),
        step_width(limits),
        _TABLES,
    )
    return (
        weight.reshape(shape),
        target.reshape(shape),
        first.view(np.float32).reshape(shape) if has_first else None,
        second.view(np.float32).reshape(shape) if has_second else None,
        saturations,
    )


@compiled
def _in_blocks(c, gradient, largest, weight, target, first, second, limits, width, tables):
    """``_update`` of blocks of parameters that stay in a processor's cache."""
    new_weight, new_target = np.empty_like(weight), np.empty_like(target)
    new_first, new_second = np.empty_like(first), np.empty_like(second)
    saturations = 0
    for begin in range(0, gradient.size, _BLOCK_PARAMETERS):
        block = slice(begin, begin + _BLOCK_PARAMETERS)
        results = _update(
            c,
            gradient[block],
            largest,
            weight[block],
            target[block],
            first[block],
            second[block],
            limits,
            width,
            tables,
        )
        new_weight[block], new_target[block] = results[0], results[1]
        if first.size:
            new_first[block] = results[2]
        if second.size:
            new_second[block] = results[3]
        saturations += results[4]
    return new_weight, new_target, new_first, new_second, saturations


@compiled
def _update(c, gradient, largest, weight, target, first, second, limits, width, tables):
    g, shift, sign = normal(gradient, largest)
    if first.size:
        sums, below, exponent = _first_sum(first, g, shift, sign, c)
        first, sign, product = _first(first, sums, below, exponent, c)
        cut = 15
    else:
        product, exponent = _without_first(g, shift, c)
        cut = 17
    if second.size:
        second, argument = _second(second, g, shift, c)
        argument, divisor_exponent = _divisor(second, interpolate_all(argument, tables[0]), c)
        inverse = interpolate_all(argument, tables[1])
        step, right = _quotient(product, cut, exponent, inverse, divisor_exponent, c, width)
    else:
        step, right = _alone(product, exponent, c, width)
    weight, target, saturations = _moved(step, right, sign, weight, target, c.blend, limits, width)
    return weight, target, first, second, saturations


@compiled
def normal(gradient, largest):
    """Mantissa of 24 bits, how far it was shifted, and the sign (-1 or 0)."""
    count = gradient.size
    real = np.empty(count)
    bits = real.view(np.int64)
    g, shift, negative = np.empty(count, np.int64), np.empty(count, np.int64), gradient >> 63
    for k in range(count):
        real[k] = gradient[k] ^ negative[k]
    for k in range(count):
        length = max((bits[k] >> 52) - 1022, 0)
        up = max(24 - length, 0)
        # Ones follow the complement, as in ``hw.nn.normalise``.
        wide = ((gradient[k] ^ negative[k]) << up) | (negative[k] & ((1 << up) - 1))
        g[k] = wide >> max(length - 24, 0)
        shift[k] = largest - length
    return g, shift, negative


@compiled
def _kept(word, kept, loss):
    """Mantissa of 28 bits less its loss, and exponent; of a zero both are 0."""
    exponent = ((word >> 23) & 255) * kept
    a = word & 0x7FFFFF | 0x800000
    left = (a << 4) - ((loss * (a >> 8 << 1 | 1)) >> 13)
    return left if exponent else 0, exponent


@compiled
def _aligned(kept, exponent, gained, other, nothing):
    """Sum, and the exponent of the greater number; ``nothing``: the gained number is 0."""
    distance = exponent - other
    small = gained >> min(max(distance, 0), 63)
    small = small if distance < 32 else 0
    old = kept >> min(max(-distance, 0), 63)
    above = nothing | (distance >= 0)
    return kept + small if above else gained + old, exponent if above else other


@compiled
def _first_sum(words, g, shift, negative, c):
    """Magnitudes of the sums, whether a sum was negative (-1 or 0), and exponents."""
    count = g.size
    y, below, exponents = np.empty_like(g), np.empty_like(g), np.empty_like(g)
    for k in range(count):
        word = np.int64(words[k])
        nothing = (g[k] == 0) | (c.first_gain == 0)
        flip = 0 if nothing else negative[k] ^ -(word >> 31)
        gained = ((g[k] * c.first_gain) >> 13) ^ flip
        old, exponent = _kept(word, c.first_kept, c.first_loss)
        total, exponents[k] = _aligned(old, exponent, gained, c.first_origin - shift[k], nothing)
        below[k] = total >> 63
        y[k] = total ^ below[k]
    return y, below, exponents


@compiled
def _first(words, y, below, exponents, c):
    """New words, their signs, and their products with the rate. ``exponents`` become those of the
    new words."""
    count = y.size
    real = y.astype(np.float64)
    bits = real.view(np.int64)
    new, signs = np.empty(count, np.uint32), np.empty_like(y)
    product = np.empty_like(y)
    for k in range(count):
        shift = 29 - max((bits[k] >> 52) - 1022, 0)
        wide = (y[k] << shift) | (below[k] & ((1 << shift) - 1))
        exponent = exponents[k] + 1 - shift
        there = (exponent + (shift & 1) >= 2) & (wide >> 28 > 0)
        word = (exponent << 23) + (wide >> 5 & 0x7FFFFF) + (wide >> 4 & 1)
        word = word if there else 0
        signs[k] = below[k] ^ -np.int64(words[k] >> np.uint32(31)) if there else 0
        new[k] = word | (signs[k] & 0x80000000)
        product[k] = (word & 0x7FFFFF | 0x800000) * c.rate if there else 0
        exponents[k] = word >> 23
    return new, signs, product


@compiled
def _without_first(g, shift, c):
    product, exponents = np.empty_like(g), np.empty_like(g)
    for k in range(g.size):
        product[k] = ((g[k] * c.first_gain) >> 15) * c.rate
        exponents[k] = c.first_origin - shift[k]
    return product, exponents


@compiled
def _second(words, g, shift, c):
    """New words, and the arguments for the table of roots."""
    new, x = np.empty(g.size, np.uint32), np.empty_like(g)
    for k in range(g.size):
        nothing = (g[k] == 0) | (c.second_gain == 0)
        gained = (((g[k] * (g[k] >> 7)) >> 15) * c.second_gain) >> 15
        old, exponent = _kept(np.int64(words[k]), c.second_kept, c.second_loss)
        other = c.second_origin - 2 * shift[k]
        total, exponent = _aligned(old, exponent, gained, other, nothing)
        left = np.int64(total < 1 << 28) + np.int64(total < 1 << 27) + np.int64(total < 1 << 26)
        wide = total << left
        word = ((exponent + 1 - left) << 23) + (wide >> 5 & 0x7FFFFF) + (wide >> 4 & 1)
        word = word if (exponent >= 3) & (total >= 1 << 25) else 0
        new[k] = word
        x[k] = (~word & 0x800000) | (word & 0x7FFFFF)
    return new, x


@compiled
def _divisor(words, roots, c):
    """Arguments for the table of reciprocals, and the exponents of the divisors."""
    x, exponents = np.empty_like(roots), np.empty_like(roots)
    for k in range(roots.size):
        biased = np.int64(words[k] >> np.uint32(23))
        exponent = ((biased + 1) >> 1) + 63
        distance = exponent - c.floor_exponent
        small = roots[k] >> min(max(-distance, 0), 63)
        total = small + (c.floor >> min(max(distance, 0), 63))
        total = total if biased else c.floor
        carry = total >> 20
        x[k] = ~(total >> carry) & 0x7FFFF
        exponent = exponent if (biased > 0) & (distance >= 0) else c.floor_exponent
        exponents[k] = exponent + carry
    return x, exponents


@compiled
def _quotient(products, cut, exponents, inverses, divisor_exponents, c, width):
    """Steps, and how far each moves to the right."""
    steps, right = np.empty_like(products), np.empty_like(products)
    for k in range(products.size):
        steps[k] = ((products[k] >> cut) * inverses[k]) >> (43 - width)
        right[k] = divisor_exponents[k] - exponents[k] - c.rate_origin
    return steps, right


@compiled
def _alone(products, exponents, c, width):
    steps, right = np.empty_like(products), np.empty_like(products)
    for k in range(products.size):
        steps[k] = products[k] >> (41 - width)
        right[k] = -exponents[k] - c.rate_origin
    return steps, right


@compiled
def _moved(steps, right, negative, weights, targets, blend, limits, width):
    (low, high), beyond = limits, (1 << width) - 1
    new_weights, new_targets = np.empty_like(weights), np.empty_like(targets)
    saturations = 0
    for k in range(steps.size):
        step = (steps[k] << 1) >> min(max(right[k], 0), 63)
        step = (step >> 1) + (step & 1)
        step = beyond if (right[k] < 0) & (steps[k] > 0) else step
        moved = weights[k] - ((step ^ negative[k]) - negative[k])
        weight = min(max(moved, low), high)
        saturations += np.int64(weight != moved)
        new_weights[k] = weight
        far = weight - targets[k]
        new_targets[k] = targets[k] + ((blend * far + _HALF_BLEND) >> _BLEND_SHIFT)
    return new_weights, new_targets, saturations
