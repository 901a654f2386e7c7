"""The one operation of a tensor unit's twin: products, summed in the order of its adders.

    out[n, m] = WindowSum_t( dot_t + dot_(t + interleave) + dot_(t + 2 interleave) + ... ),
    dot_w = tree over a < group of  scale[n, w * group + a] * rows[w * group + a, m]

over t < interleave, each chain from the left; WindowSum pads in front to a power of two and adds
adjacent pairs. Forward, the group is a word of inputs; for a weight gradient it is the lanes of a
super-sample; for an input gradient it is 1, and the interleave is a PE's rows.

float32 operations are IEEE's one by one (a compiled loop, no contraction, no reordering). Where
the magnitudes allow no product and no sum below the smallest normal number, nothing is flushed.
Fixed-point sums are exact, in whatever order: integers below 2**53, in float64.
"""

import numpy as np
from numba import njit

__all__ = ["add_bias", "product_fixed", "product_float"]

_TINY = np.finfo(np.float32).tiny
_ZERO, _MINUS_ZERO = np.float32(0), np.float32(-0.0)
_NAN = np.array(0x7FC00000, dtype=np.uint32).view(np.float32)[()]

#: Numbers of at least 2**-102 are multiples of 2**-125, and so is every rounded sum of them.
_SMALLEST_PRODUCT = 2.0**-102

# numpy's error model: a division by zero is an infinity, not an exception, and costs no branch.
_compiled = njit(cache=True, error_model="numpy")


def product_float(scale, rows, group, interleave):
    """float32 ``out`` [count, width] of ``scale`` [count, depth] and ``rows`` [depth, width].

    ``depth`` is a multiple of ``group * interleave``; both arrays are in C order.
    """
    return _checked(scale, rows, group, interleave)


def product_fixed(scale, rows):
    """int64 ``scale @ rows``, which must stay below 2**53."""
    return (scale.astype(np.float64) @ rows.astype(np.float64)).astype(np.int64)


@_compiled
def _smallest(numbers):
    """Magnitude of the smallest number but zero, as float64; infinity if all are zero."""
    bits = numbers.reshape(-1).view(np.uint32)
    low = np.uint32(0x7F800000 - 1)
    for k in range(bits.size):
        # Zero wraps around to the largest.
        low = min(low, np.uint32((bits[k] & np.uint32(0x7FFFFFFF)) - np.uint32(1)))
    return np.float64(np.array([low + np.uint32(1)], np.uint32).view(np.float32)[0])


# ``flushing`` is None or True: the compiler sees which, and makes two versions of everything.


@_compiled
def _flush(x, flushing):
    if flushing is None:
        return x
    return np.copysign(_ZERO, x) if abs(x) < _TINY else x


@_compiled
def _multiply(a, b, flushing):
    return _flush(_flush(a, flushing) * _flush(b, flushing), flushing)


@_compiled
def _add(a, b, flushing):
    return _flush(a + b, flushing)


@_compiled
def _dot2(scale, rows, k, m, flushing):
    return _add(
        _multiply(scale[k], rows[k, m], flushing),
        _multiply(scale[k + np.uint64(1)], rows[k + np.uint64(1), m], flushing),
        flushing,
    )


@_compiled
def _dot4(scale, rows, k, m, flushing):
    return _add(
        _dot2(scale, rows, k, m, flushing),
        _dot2(scale, rows, k + np.uint64(2), m, flushing),
        flushing,
    )


@_compiled
def _dot8(scale, rows, k, m, flushing):
    return _add(
        _dot4(scale, rows, k, m, flushing),
        _dot4(scale, rows, k + np.uint64(4), m, flushing),
        flushing,
    )


@_compiled
def _dot16(scale, rows, k, m, flushing):
    k8 = k + np.uint64(8)
    return _add(_dot8(scale, rows, k, m, flushing), _dot8(scale, rows, k8, m, flushing), flushing)


@_compiled
def _chain(scale, rows, group, first, step, total, flushing):
    """``total`` = sum of the dots of words ``first``, ``first + step``, ... from the left."""
    words = scale.size // group
    w, step = np.uint64(first), np.uint64(step)
    if group == 1 and w + np.uint64(3) * step < words:
        _singles(scale, rows, w, step, total, None, flushing)
        w += np.uint64(4) * step
        # Four words a pass: a pass costs a load and a store of the sums.
        while w + np.uint64(3) * step < words:
            _singles(scale, rows, w, step, total, True, flushing)
            w += np.uint64(4) * step
    else:
        _pass(scale, rows, w, group, total, None, flushing)
        w += step
    while w < words:
        _pass(scale, rows, w, group, total, True, flushing)
        w += step


@_compiled
def _pass(scale, rows, w, group, total, going, flushing):
    """``total`` = the dot of word ``w`` + ``total`` where the chain is ``going``."""
    k = w * np.uint64(group)
    if group == 1:
        for m in range(total.size):
            dot = _multiply(scale[k], rows[k, m], flushing)
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


@_compiled
def _singles(scale, rows, w, step, total, going, flushing):
    """Four words of one each."""
    w1, w2, w3 = w + step, w + np.uint64(2) * step, w + np.uint64(3) * step
    for m in range(total.size):
        x = _after(_multiply(scale[w], rows[w, m], flushing), total, m, going, flushing)
        x = _add(_multiply(scale[w1], rows[w1, m], flushing), x, flushing)
        x = _add(_multiply(scale[w2], rows[w2, m], flushing), x, flushing)
        total[m] = _add(_multiply(scale[w3], rows[w3, m], flushing), x, flushing)


@_compiled
def _after(dot, total, m, going, flushing):
    if going is None:
        return dot
    return _add(dot, total[m], flushing)


@_compiled
def _window(values, total, flushing):
    """``total`` = tree over the rows of ``values``, which it spoils: four a pass."""
    distance, width = 1, total.size
    while 4 * distance < len(values):
        for t in range(0, len(values), 4 * distance):
            _four(values, t, distance, values[t], flushing)
        distance *= 4
    if 4 * distance == len(values):
        _four(values, 0, distance, total, flushing)
    else:
        for m in range(width):
            total[m] = _add(values[0, m], values[distance, m], flushing)


@_compiled
def _four(values, t, distance, total, flushing):
    a, b = values[t], values[t + distance]
    c, d = values[t + 2 * distance], values[t + 3 * distance]
    for m in range(total.size):
        total[m] = _add(_add(a[m], b[m], flushing), _add(c[m], d[m], flushing), flushing)


@_compiled
def _checked(scale, rows, group, interleave):
    low_scale, low_rows = _smallest(scale), _smallest(rows)
    if min(low_scale, low_rows) >= _TINY and low_scale * low_rows >= _SMALLEST_PRODUCT:
        return _product(scale, rows, group, interleave, None)
    return _product(scale, rows, group, interleave, True)


@_compiled
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
        partial[:padding] = _MINUS_ZERO
        for t in range(interleave):
            _chain(scale[n], rows, group, t, interleave, partial[padding + t], flushing)
        _window(partial, out[n], flushing)
    return out


@_compiled
def add_bias(y, bias):
    """Add ``bias`` [count] to float32 ``y`` [count, width] in place; NaNs leave as 0x7fc00000."""
    for n in range(y.shape[0]):
        row, b = y[n], _flush(bias[n], True)
        for m in range(row.size):
            total = _flush(row[m] + b, True)
            row[m] = total if total == total else _NAN
