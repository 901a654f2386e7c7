"""The one operation of a tensor unit's twin: products, added in the order of its adders.

    out[n, m] = tree over t of ( dot_t + dot_(t + interleave) + dot_(t + 2 interleave) + ... ),
    dot_w = tree over a < group of  scale[n, w * group + a] * rows[w * group + a, m]

for t < interleave. Each chain is added from the left. The tree over t has -0 in front, up to a
power of two, and adds adjacent pairs. In forward passes the group is a word of inputs; for a weight
gradient it is the lanes of a super-sample; for an input gradient it is a word of outputs, and each
word is a chain.

float32 operations come from ``float32_steps``. If the magnitudes exclude that a product or a sum
is below the smallest normal number, nothing is flushed. Fixed-point sums are exact in any order:
they are integers below 2**53, in float64.

Both operands are copied first: the numbers of a chain become neighbours, and ``rows`` is cut into
tiles of 64 columns. So the inner loops are over columns at constant distances, which a compiler can
execute as vector instructions without a test for overlaps of each row.
"""

import numpy as np

from sim.compiled import compiled
from sim.model.arith.float32_steps import MINUS_ZERO, add, flush, is_safe, leave, multiply

__all__ = ["Order", "add_bias", "product_fixed", "product_float"]

#: Columns of a tile, and those of a vector: loops are over whole vectors, of zeros at the end.
_TILE, _VECTOR = 64, 16
#: Products of the largest tree that is one expression.
_LARGEST_GROUP = 16
_unsigned = np.uint64  # an index that cannot be negative: no test for that in the loops
_STEP = _unsigned(_TILE)


class Order:
    """The order of additions of an output, for ``product_float``.

    words, together : a word has ``together`` numbers, 1 to 16, which are added in a tree.
    interleave : how many chains the words are added in; ``words`` is a multiple of it.
    places : of each number among the numbers of all words, in ascending order; None: each place has
        one. A number that is missing is 0.
    """

    def __init__(self, words, together, interleave=1, places=None):
        places = np.arange(words * together) if places is None else places
        self.group = 1 << (together - 1).bit_length()
        self.chains = 1 << (interleave - 1).bit_length()
        length, first = words // interleave, self.chains - interleave
        # [chain, word, number]; behind a word, and in front of the chains, the tree has -0.
        self.missing = np.full((self.chains, length, self.group), MINUS_ZERO)
        self.missing[first:, :, :together] = 0
        word, number = np.divmod(places, together)
        chain, word = first + word % interleave, word // interleave
        self.places = (chain * length + word) * self.group + number
        self.missing = self.missing.reshape(-1)
        # The trees of words that are chains of their own are parts of the tree over the chains.
        while length == 1 and self.chains > 1 and self.group < _LARGEST_GROUP:
            self.group, self.chains = 2 * self.group, self.chains // 2


def product_float(scale, rows, order, *, scale_turned=False, rows_turned=False):
    """``scale @ rows`` in the ``Order`` ``order``: float32 ``out`` [count, width] of float32
    ``scale`` [count, depth] and ``rows`` [depth, width]. A matrix that is ``turned`` is given as
    its transpose."""
    return _product(
        np.ascontiguousarray(scale),
        scale_turned,
        np.ascontiguousarray(rows),
        rows_turned,
        order.places,
        order.missing,
        order.group,
        order.chains,
    )


def product_fixed(scale, rows):
    """``scale @ rows`` of integer arrays, as int64. It is exact if all sums stay below 2**53 in
    magnitude; this is not checked."""
    return (scale.astype(np.float64) @ rows.astype(np.float64)).astype(np.int64)


@compiled
def _product(scale, scale_turned, rows, rows_turned, places, missing, group, chains):
    scale = _placed(scale, scale_turned, places, missing)
    tiles = _tiles(rows, rows_turned, places, missing.size)
    width = rows.shape[0] if rows_turned else rows.shape[1]
    if is_safe(scale, tiles):
        return _sums(scale, tiles, width, group, chains, None)
    return _sums(scale, tiles, width, group, chains, True)


@compiled
def _placed(scale, turned, places, missing):
    """[count, places]: the first operand in the order of ``places``, with what is missing."""
    count = scale.shape[1] if turned else scale.shape[0]
    placed = np.empty((count, missing.size), np.float32)
    for n in range(count):
        row = placed[n]
        for k in range(missing.size):
            row[k] = missing[k]
        for k in range(places.size):
            row[_unsigned(places[k])] = scale[k, n] if turned else scale[n, k]
    return placed


@compiled
def _tiles(rows, turned, places, depth):
    """[tiles, depth * 64]: the second operand in the order of ``places``, with zeros."""
    width = rows.shape[0] if turned else rows.shape[1]
    tiles = np.empty((-(-width // _TILE), depth * _TILE), np.float32)
    if width % _TILE or depth != places.size:
        tiles[:] = 0
    for number in range(len(tiles)):
        tile, first = tiles[number], _unsigned(number * _TILE)
        columns = _unsigned(min(_TILE, width - number * _TILE))
        # Few rows at a time: of a turned matrix they are columns, whose neighbours share lines of
        # the cache.
        for begin in range(0, places.size, _VECTOR):
            end = _unsigned(min(begin + _VECTOR, places.size))
            if turned:
                for m in range(columns):
                    for k in range(_unsigned(begin), end):
                        tile[_unsigned(places[k]) * _STEP + m] = rows[first + m, k]
            else:
                for k in range(_unsigned(begin), end):
                    place = _unsigned(places[k]) * _STEP
                    for m in range(columns):
                        tile[place + m] = rows[k, first + m]
    return tiles


# A product of number ``a`` of the first operand and ``b`` of a tile, and trees of neighbours.


@compiled
def _dot1(scale, a, tile, b, flushing):
    return multiply(scale[a], tile[b], flushing)


def _tree_of(half, size):
    """The compiled function that adds two trees ``half`` of ``size`` numbers each."""
    size = _unsigned(size)

    @compiled
    def tree(scale, a, tile, b, flushing):
        return add(
            half(scale, a, tile, b, flushing),
            half(scale, a + size, tile, b + size * _STEP, flushing),
            flushing,
        )

    return tree


_dot2 = _tree_of(_dot1, 1)
_dot4 = _tree_of(_dot2, 2)
_dot8 = _tree_of(_dot4, 4)
_dot16 = _tree_of(_dot8, 8)


def _chain_of(dot, group):
    """The compiled function that adds ``words`` dots of ``group`` numbers from the left to ``size``
    sums of ``total``, which begin at ``c``: several dots at a time, since each time costs a load
    and a store of the sums."""
    group = _unsigned(group)
    below = group * _STEP
    several = 4 if group <= 4 else 2

    @compiled
    def chain(scale, a, tile, b, words, total, c, size, flushing):
        if flushing is None:
            while words >= several:
                for m in range(size):
                    x = add(total[c + m], dot(scale, a, tile, b + m, None), None)
                    x = add(x, dot(scale, a + group, tile, b + below + m, None), None)
                    if several == 4:
                        a2, b2 = a + group + group, b + below + below + m
                        x = add(x, dot(scale, a2, tile, b2, None), None)
                        x = add(x, dot(scale, a2 + group, tile, b2 + below, None), None)
                    total[c + m] = x
                words -= several
                a += _unsigned(several) * group
                b += _unsigned(several) * below
        while words:
            for m in range(size):
                x = dot(scale, a, tile, b + m, flushing)
                total[c + m] = add(total[c + m], x, flushing)
            words -= 1
            a += group
            b += below

    return chain


_chain1, _chain2, _chain4 = _chain_of(_dot1, 1), _chain_of(_dot2, 2), _chain_of(_dot4, 4)
_chain8, _chain16 = _chain_of(_dot8, 8), _chain_of(_dot16, 16)


@compiled
def _sums(scale, tiles, width, group, chains, flushing):
    count, depth = scale.shape
    out, numbers = np.empty((count, width), np.float32), scale.reshape(-1)
    total, length = np.empty(chains * _TILE, np.float32), depth // chains
    words = length // group
    for number in range(len(tiles)):
        tile, columns = tiles[number], min(_TILE, width - number * _TILE)
        size = _unsigned(_VECTOR) * _unsigned(-(-columns // _VECTOR))
        for n in range(count):
            for t in range(chains):
                a, c = _unsigned(n * depth + t * length), _unsigned(t) * _STEP
                b = _unsigned(t * length) * _STEP
                for m in range(size):
                    total[c + m] = MINUS_ZERO
                if group == 1:
                    _chain1(numbers, a, tile, b, words, total, c, size, flushing)
                elif group == 2:
                    _chain2(numbers, a, tile, b, words, total, c, size, flushing)
                elif group == 4:
                    _chain4(numbers, a, tile, b, words, total, c, size, flushing)
                elif group == 8:
                    _chain8(numbers, a, tile, b, words, total, c, size, flushing)
                else:
                    _chain16(numbers, a, tile, b, words, total, c, size, flushing)
            _tree(total, chains, size, flushing)
            row, first = out[n], _unsigned(number) * _STEP
            for m in range(_unsigned(columns)):
                row[first + m] = total[m]
    return out


@compiled
def _tree(total, chains, size, flushing):
    """The first sums = tree over neighbouring chains, whose number is a power of two."""
    while chains > 1:
        chains //= 2
        for t in range(chains):
            c, a = _unsigned(t) * _STEP, _unsigned(2 * t) * _STEP
            for m in range(size):
                total[c + m] = add(total[a + m], total[a + _STEP + m], flushing)


@compiled
def add_bias(y, bias):
    """Adds ``bias[n]`` to each number of row n of ``y``, in place: float32 ``y`` [count, width],
    ``bias`` [count]. Subnormal biases and sums become zeros; a NaN becomes 0x7fc00000."""
    for n in range(y.shape[0]):
        row, b = y[n], flush(bias[n])
        for m in range(row.size):
            row[m] = leave(flush(row[m] + b))
