"""The one operation of a tensor unit's twin: products, added in the order of its adders.

    out[n, m] = tree over t of ( dot_t + dot_(t + interleave) + dot_(t + 2 interleave) + ... ),
    dot_w = tree over a < group of  scale[n, w * group + a] * rows[w * group + a, m]

for t < interleave. Each chain is added from the left. The tree over t has -0 in front, up to a
power of two, and adds adjacent pairs. In forward passes the group is a word of inputs; for a weight
gradient it is the lanes of a super-sample; for an input gradient it is 1, and the interleave is the
rows of a PE.

float32 operations are those of ``float32_steps``. If the magnitudes exclude that a product or a sum
is below the smallest normal number, nothing is flushed. Fixed-point sums are exact in any order:
they are integers below 2**53, in float64.
"""

import numpy as np

from sim.compiled import compiled
from sim.model.arith.float32_steps import MINUS_ZERO, add, flush, is_safe, leave, multiply

__all__ = ["add_bias", "product_fixed", "product_float"]


def product_float(scale, rows, group, interleave):
    """``scale @ rows`` with the order of additions of this module: float32 ``out`` [count, width]
    of float32 ``scale`` [count, depth] and ``rows`` [depth, width].

    group : how many neighbouring products are added first, in a tree: 1, 2, 4, 8 or 16.
    interleave : how many chains the groups of an output are added in.

    ``depth`` must be a multiple of ``group * interleave``; both arrays must be in C order.
    """
    return _product(scale, rows, group, interleave, None if is_safe(scale, rows) else True)


def product_fixed(scale, rows):
    """``scale @ rows`` of integer arrays, as int64. It is exact if all sums stay below 2**53 in
    magnitude; this is not checked."""
    return (scale.astype(np.float64) @ rows.astype(np.float64)).astype(np.int64)


@compiled
def _dot2(scale, rows, k, m, flushing):
    return add(
        multiply(scale[k], rows[k, m], flushing),
        multiply(scale[k + np.uint64(1)], rows[k + np.uint64(1), m], flushing),
        flushing,
    )


@compiled
def _dot4(scale, rows, k, m, flushing):
    return add(
        _dot2(scale, rows, k, m, flushing),
        _dot2(scale, rows, k + np.uint64(2), m, flushing),
        flushing,
    )


@compiled
def _dot8(scale, rows, k, m, flushing):
    return add(
        _dot4(scale, rows, k, m, flushing),
        _dot4(scale, rows, k + np.uint64(4), m, flushing),
        flushing,
    )


@compiled
def _dot16(scale, rows, k, m, flushing):
    k8 = k + np.uint64(8)
    return add(_dot8(scale, rows, k, m, flushing), _dot8(scale, rows, k8, m, flushing), flushing)


@compiled
def _chain(scale, rows, group, first, step, total, flushing):
    """``total`` = sum of the dots of words ``first``, ``first + step``, ... from the left."""
    words = scale.size // group
    w, step = np.uint64(first), np.uint64(step)
    if group == 1 and w + np.uint64(3) * step < words:
        _singles(scale, rows, w, step, total, None, flushing)
        w += np.uint64(4) * step
        # Four words at a time, since each time costs a load and a store of the sums.
        while w + np.uint64(3) * step < words:
            _singles(scale, rows, w, step, total, True, flushing)
            w += np.uint64(4) * step
    else:
        _pass(scale, rows, w, group, total, None, flushing)
        w += step
    while w < words:
        _pass(scale, rows, w, group, total, True, flushing)
        w += step


@compiled
def _pass(scale, rows, w, group, total, going, flushing):
    """``total`` = the dot of word ``w``, plus ``total`` if the chain is already ``going``."""
    k = w * np.uint64(group)
    if group == 1:
        for m in range(total.size):
            dot = multiply(scale[k], rows[k, m], flushing)
            total[m] = _after(dot, total, m, going, flushing)
    elif group == 2:
        for m in range(total.size):
            total[m] = _after(_dot2(scale, rows, k, m, flushing), total, m, going, flushing)
    elif group == 4:
        for m in range(total.size):
            total[m] = _after(_dot4(scale, rows, k, m, flushing), total, m, going, flushing)
    elif group == 8:
        for m in range(total.size):
            total[m] = _after(_dot8(scale, rows, k, m, flushing), total, m, going, flushing)
    else:
        for m in range(total.size):
            total[m] = _after(_dot16(scale, rows, k, m, flushing), total, m, going, flushing)


@compiled
def _singles(scale, rows, w, step, total, going, flushing):
    """``_pass`` for four words, if a group is one number."""
    w1, w2, w3 = w + step, w + np.uint64(2) * step, w + np.uint64(3) * step
    for m in range(total.size):
        x = _after(multiply(scale[w], rows[w, m], flushing), total, m, going, flushing)
        x = add(multiply(scale[w1], rows[w1, m], flushing), x, flushing)
        x = add(multiply(scale[w2], rows[w2, m], flushing), x, flushing)
        total[m] = add(multiply(scale[w3], rows[w3, m], flushing), x, flushing)


@compiled
def _after(dot, total, m, going, flushing):
    if going is None:
        return dot
    return add(dot, total[m], flushing)


@compiled
def _window(values, total, flushing):
    """``total`` = tree over the rows of ``values``, four at a time; it overwrites ``values``."""
    distance, width = 1, total.size
    while 4 * distance < len(values):
        for t in range(0, len(values), 4 * distance):
            _four(values, t, distance, values[t], flushing)
        distance *= 4
    if 4 * distance == len(values):
        _four(values, 0, distance, total, flushing)
    else:
        for m in range(width):
            total[m] = add(values[0, m], values[distance, m], flushing)


@compiled
def _four(values, t, distance, total, flushing):
    a, b = values[t], values[t + distance]
    c, d = values[t + 2 * distance], values[t + 3 * distance]
    for m in range(total.size):
        total[m] = add(add(a[m], b[m], flushing), add(c[m], d[m], flushing), flushing)


@compiled
def _product(scale, rows, group, interleave, flushing):
    width = rows.shape[1]
    out = np.empty((scale.shape[0], width), np.float32)
    slots = 1
    while slots < interleave:
        slots *= 2
    padding = slots - interleave
    partial = np.empty((slots, width), np.float32)
    for n in range(scale.shape[0]):
        if slots == 1:
            _chain(scale[n], rows, group, 0, 1, out[n], flushing)
            continue
        partial[:padding] = MINUS_ZERO
        for t in range(interleave):
            _chain(scale[n], rows, group, t, interleave, partial[padding + t], flushing)
        _window(partial, out[n], flushing)
    return out


@compiled
def add_bias(y, bias):
    """Adds ``bias[n]`` to each number of row n of ``y``, in place: float32 ``y`` [count, width],
    ``bias`` [count]. Subnormal biases and sums become zeros; a NaN becomes 0x7fc00000."""
    for n in range(y.shape[0]):
        row, b = y[n], flush(bias[n])
        for m in range(row.size):
            row[m] = leave(flush(row[m] + b))
