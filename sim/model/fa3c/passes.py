"""Loops of the passes, compiled: products of words by rows of 16, added in the order of the PEs.

All three passes are the same step: ``total[x] += words[x] * row`` for pixels x and the 16 words of
a row, four rows at once, with the operations of ``float32_steps``. If the magnitudes exclude that a
product or a sum is below the smallest normal number, nothing is flushed.

A layer is a ``Shape``, a tuple of numbers. A fully connected layer is a line with a pixel for each
sample.
"""

from typing import NamedTuple

import numpy as np

from hw.fa3c.rows import ROW
from sim.compiled import compiled
from sim.model.arith.float32_steps import (
    MINUS_ZERO,
    TINY,
    ZERO,
    add,
    flush,
    is_safe,
    leave,
    multiply,
)

__all__ = ["Shape", "backward", "forward", "gradient"]

#: Rows of sums of a gradient that are computed at a time, few enough to stay in the first cache.
_CACHED_ROWS = 256

_inlined = compiled(forceinline=True)
_unsigned = np.uint64  # an index that cannot be negative: no test for that in the loops


class Shape(NamedTuple):
    """The sizes of a layer and of a batch. Lengths and distances are in words of 32 bits. The
    outputs of a fully connected layer count as one line with a pixel for each sample.

    samples : samples of the batch
    kernel, stride : of the convolution; 1 and 1 if the layer is fully connected
    height, width : pixels of the output
    groups : groups of 16 outputs that a pixel has
    taps : words of a line of the kernel: kernel * input channels
    line : distance of two neighbouring lines of inputs
    down, across : distance of the first inputs of two outputs, one below the other; side by side
    size : words of a row, always 16. It is a variable for the compiler, which would unroll loops
        over a constant instead of vectorizing them.
    """

    samples: int
    kernel: int
    stride: int
    height: int
    width: int
    groups: int
    taps: int
    line: int
    down: int
    across: int
    size: int = ROW


@_inlined
def _one(words, at, across, rows, row, total, to, spacing, width, size, flushing):
    """``total[to + x * spacing] += words[at + x * across] * rows[row]``, 16 words each."""
    for x in range(_unsigned(width)):
        s, t = words[at + x * across], to + x * spacing
        for r in range(_unsigned(size)):
            total[t + r] = add(total[t + r], multiply(s, rows[row + r], flushing), flushing)


@_inlined
def _four(words, at, along, across, rows, row, next_row, total, to, spacing, width, size, flushing):
    """``_one`` four times: words are ``along`` apart, rows ``next_row``."""
    row1 = row + next_row
    row2 = row1 + next_row
    row3 = row2 + next_row
    for x in range(_unsigned(width)):
        w, t = at + x * across, to + x * spacing
        s0, s1 = words[w], words[w + along]
        w += along + along
        s2, s3 = words[w], words[w + along]
        for r in range(_unsigned(size)):
            y = add(total[t + r], multiply(s0, rows[row + r], flushing), flushing)
            y = add(y, multiply(s1, rows[row1 + r], flushing), flushing)
            y = add(y, multiply(s2, rows[row2 + r], flushing), flushing)
            total[t + r] = add(y, multiply(s3, rows[row3 + r], flushing), flushing)


@_inlined
def _run(
    words, at, along, across, rows, row, next_row, count, total, to, spacing, width, size, flushing
):
    """``_one`` ``count`` times, from the left."""
    at, along, across = _unsigned(at), _unsigned(along), _unsigned(across)
    row, next_row = _unsigned(row), _unsigned(next_row)
    to, spacing = _unsigned(to), _unsigned(spacing)
    for _ in range(count // 4):
        _four(
            words, at, along, across, rows, row, next_row, total, to, spacing, width, size, flushing
        )
        at, row = at + _unsigned(4) * along, row + _unsigned(4) * next_row
    for _ in range(count % 4):
        _one(words, at, across, rows, row, total, to, spacing, width, size, flushing)
        at, row = at + along, row + next_row


@_inlined
def _chains(words, at, across, rows, row, count, total, first, spacing, width, size, flushing):
    """Multiplies ``count`` words of each pixel by as many rows; product k goes to chain k mod
    the number of chains.

    total : [chains, pixels * 16]; the pixels begin at ``first`` and are ``spacing`` apart
    """
    chains = len(total)
    each = count // chains
    for begin in range(0, each, 4):
        # In the order of rows, not chain by chain: rows are read from distant memory.
        for chain in range(chains):
            k = begin * chains + chain
            _run(
                words, at + k, chains, across, rows, row + k * ROW, chains * ROW,
                min(4, each - begin), total[chain], first * ROW, spacing * ROW, width, size,
                flushing,
            )  # fmt: skip


@compiled
def _tree(total, flushing):
    """``total[0]`` = tree over neighbouring rows of ``total``, whose number is a power of two."""
    count = len(total) // 2
    while count:
        for k in range(count):
            a, b, c = total[2 * k], total[2 * k + 1], total[k]
            for m in range(c.size):
                c[m] = add(a[m], b[m], flushing)
        count //= 2


def forward(shape, chains, relu, inputs, weights, out):
    """Forward pass: fills ``out`` [samples, height, width, groups, 16] with the outputs for
    ``inputs`` [samples, words] and ``weights`` [groups, rows, 16], in which the row behind the
    weights of a group is its biases. If ``relu``, outputs below 0 become 0. ``chains`` is the
    number of sums in which the products of an output are added before a tree adds these."""
    _forward(shape, chains, relu, inputs, weights, out, None if is_safe(inputs, weights) else True)


@compiled
def _forward(shape, chains, relu, inputs, weights, out, flushing):
    samples, kernel, _, height, width, groups, taps, line, down, across, size = shape
    total = np.empty((chains, width * ROW), np.float32)
    for b in range(samples):
        for y in range(height):
            for g in range(groups):
                rows = weights[g].reshape(-1)
                total[:] = MINUS_ZERO
                for tap in range(kernel):
                    at, row = y * down + tap * line, tap * taps * ROW
                    _chains(
                        inputs[b], at, across, rows, row, taps, total, 0, 1, width, size, flushing
                    )
                _tree(total, flushing)
                _finish(total[0], weights[g, kernel * taps], relu, out[b, y, :, g])


@compiled
def _finish(total, bias, relu, out):
    """Bias and ReLU of a line of one group."""
    for x in range(len(out)):
        for r in range(ROW):
            y = leave(flush(total[x * ROW + r] + flush(bias[r])))
            if relu and np.signbit(y):
                y = ZERO
            out[x, r] = y


def gradient(shape, inputs, errors, out):
    """Gradients: fills ``out`` [groups, rows, 16] with sums over all samples and pixels, from
    ``inputs`` [samples, words] and ``errors`` [samples, height, width, groups, 16]. The last row of
    a group is that of its biases, the others are those of its weights."""
    _gradient(shape, inputs, errors, out, None if is_safe(inputs, errors) else True)


@compiled
def _gradient(shape, inputs, errors, out, flushing):
    samples, kernel, _, height, width, groups, taps, line, down, across, size = shape
    ones, errors = np.ones(1, np.float32), errors.reshape(-1)
    for g in range(groups):
        total = out[g].reshape(-1)
        total[:] = MINUS_ZERO
        for tap in range(kernel):
            for begin in range(0, taps, _CACHED_ROWS):
                to, block = (tap * taps + begin) * ROW, min(_CACHED_ROWS, taps - begin)
                for b in range(samples):
                    for y in range(height):
                        row = ((b * height + y) * width * groups + g) * ROW
                        at = y * down + tap * line + begin
                        _run(
                            inputs[b], at, across, 1, errors, row, groups * ROW, width,
                            total, to, ROW, block, size, flushing,
                        )  # fmt: skip
        pixels = samples * height * width
        to = kernel * taps * ROW
        _run(ones, 0, 0, 0, errors, g * ROW, groups * ROW, pixels, total, to, 0, 1, size, flushing)
        for k in range(total.size):
            total[k] = leave(total[k])


def backward(shape, chains, weights, errors, inputs, out):
    """Backward pass: fills ``out`` with the errors of ``inputs``, both [samples, in_height,
    in_width, channel groups, 16], from ``weights`` [groups, rows, 16] and ``errors`` [samples,
    words], those of the outputs. The error of an input that is 0 is 0. ``chains`` as of
    ``forward``."""
    _backward(
        shape, chains, weights, errors, inputs, out, None if is_safe(errors, weights) else True
    )


@compiled
def _backward(shape, chains, weights, errors, inputs, out, flushing):
    samples, kernel, stride, height, width, groups, taps, _, _, _, size = shape
    _, in_height, in_width, channels, _ = out.shape
    depth = groups * ROW
    total = np.empty((chains, in_width * ROW), np.float32)
    rows = np.empty((kernel, kernel, depth * ROW), np.float32)
    for c in range(channels):
        _turn(weights, taps, channels, c, rows)
        for b in range(samples):
            for line in range(in_height):
                total[:] = MINUS_ZERO
                y = min(line // stride, height - 1)
                tap = line - y * stride
                while tap < kernel and y >= 0:
                    for column in range(kernel):
                        _chains(
                            errors[b], y * width * depth, depth, rows[tap, column], 0, depth,
                            total, column, stride, width, size, flushing,
                        )  # fmt: skip
                    tap, y = tap + stride, y - 1
                _tree(total, flushing)
                _mask(total[0], inputs[b, line, :, c], out[b, line, :, c])


@compiled
def _turn(weights, taps, channels, c, rows):
    """``rows`` [ky, kx, outputs * 16]: weights of channel group ``c``, a row for each output."""
    for tap in range(len(rows)):
        for column in range(len(rows)):
            patch = rows[tap, column].reshape(len(weights), ROW, ROW)
            row = tap * taps + (column * channels + c) * ROW
            for g in range(len(weights)):
                for k in range(ROW):
                    for r in range(ROW):
                        patch[g, r, k] = weights[g, row + k, r]


@compiled
def _mask(total, features, out):
    """Errors of a line of one group: 0 where the input is 0."""
    for x in range(len(out)):
        for r in range(ROW):
            keep = abs(features[x, r]) >= TINY or features[x, r] != features[x, r]
            out[x, r] = leave(total[x * ROW + r]) if keep else ZERO
