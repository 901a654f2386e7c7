"""The loops of ``sim.model.replay``, compiled, because a batch is too small for NumPy to be fast.

A tree is one array of sums, uint64, ``2**shift`` to a node; level k begins at ``offsets[k]``,
leaves first, each level padded to whole nodes. Items are pairs of index and value, uint32 [2 *
count], and may be longer.

Nothing here checks whether an index is inside its array. The loops keep leaves below the capacity,
or fill, that they are given. ``CommandCheck`` has checked before that this is at most the tree's
capacity, that lists have ``count`` items, and that buffers are large enough.
"""

import numpy as np

from hw.replay.config import FRACTION_WIDTH
from sim.compiled import compiled

__all__ = ["UNIFORM", "clear", "enter_items", "enter_updates", "fill", "find", "get_items", "put"]
__all__ += ["put_items", "put_updates", "scale", "set_leaves", "store", "targets_of", "write_batch"]

#: ``stratum_width`` of uniform draws: one stratum that is everything.
UNIFORM = 1 << FRACTION_WIDTH

# All of one type: numba, as NumPy, makes a float of int64 and uint64.
_MASK, _UNIFORM, _ZERO, _ONE = map(np.uint64, (UNIFORM - 1, UNIFORM, 0, 1))
_SHIFT = np.uint64(FRACTION_WIDTH // 2)
_LOW = np.uint64((1 << FRACTION_WIDTH // 2) - 1)
_UNUSED = np.uint64(64 - FRACTION_WIDTH)
# Those of SFC64.
_RIGHT, _LEFT, _TURN, _TURN_BACK = np.uint64(11), np.uint64(3), np.uint64(24), np.uint64(40)


@compiled
def scale(a, b):
    """``floor(a * b / 2**48)`` for uint64 below 2**48, exactly, without 96-bit integers."""
    a_high, a_low, b_high, b_low = a >> _SHIFT, a & _LOW, b >> _SHIFT, b & _LOW
    middle = a_high * b_low + a_low * b_high + ((a_low * b_low) >> _SHIFT)
    return a_high * b_high + (middle >> _SHIFT)


@compiled
def set_leaves(tree, offsets, shift, places, priorities):
    """Sets the leaves ``places`` (int64) to ``priorities`` (uint64), one after the other, in place;
    both arrays change. Returns the new sum of all leaves.

    Level by level: the sums of a level are far from each other in memory, and the processor fetches
    several at a time if none of another level comes between."""
    for k in range(len(places)):
        priority = priorities[k]
        priorities[k] = priority - tree[places[k]]  # the change, modulo 2**64 as the sums
        tree[places[k]] = priority
    for level in range(1, len(offsets)):
        begin = offsets[level]
        for k in range(len(places)):
            places[k] >>= shift
            tree[begin + places[k]] += priorities[k]
    total = _ZERO
    for k in range(offsets[-1], len(tree)):
        total += tree[k]
    return total


@compiled
def put(tree, offsets, shift, capacity, indexes, priorities):
    """Sets the leaves ``indexes`` to ``priorities`` (uint64), one after the other, in place. An
    index that is not in 0..capacity - 1 is left out. Returns ``(largest, total)``: the largest
    priority that was set, 0 if none was, and the new sum of all leaves."""
    places, raw = np.empty(len(indexes), np.int64), np.empty(len(indexes), np.uint64)
    largest, count = _ZERO, 0
    for k in range(len(indexes)):
        if 0 <= indexes[k] < capacity:
            places[count], raw[count] = indexes[k], priorities[k]
            largest = max(largest, raw[count])
            count += 1
    return largest, set_leaves(tree, offsets, shift, places[:count], raw[:count])


@compiled
def put_items(tree, offsets, shift, items, count, fill, limit):
    """Sets the leaves that the first ``count`` of ``items`` name, to the items' values, in order. A
    bad item is left out: one whose index is not below ``fill``, or whose priority is above
    ``limit``. Returns ``(largest, total, bad)``: the largest priority that was set, 0 if none was;
    the new sum of all leaves; the position of the first bad item, or -1."""
    places, raw = np.empty(count, np.int64), np.empty(count, np.uint64)
    largest, bad, good = _ZERO, -1, 0
    for k in range(count):
        place, priority = np.int64(items[2 * k]), np.uint64(items[2 * k + 1])
        if place < fill and priority <= np.uint64(limit):
            largest = max(largest, priority)
            places[good], raw[good] = place, priority
            good += 1
        elif bad < 0:
            bad = k
    return largest, set_leaves(tree, offsets, shift, places[:good], raw[:good]), bad


@compiled
def put_updates(tree, offsets, shift, items, fill, priorities, saturated, invalid):
    """Sets the leaves that ``items`` name, in order, to ``priorities``, one for each item; the
    items' values are not used. A bad item is left out: one whose index is not below ``fill``, or
    that is ``invalid``. Returns ``(largest, total, bad, clipped)``, the first three as
    ``put_items``; ``clipped`` is how many of the items that were set are ``saturated``."""
    places, raw = np.empty(len(priorities), np.int64), np.empty(len(priorities), np.uint64)
    largest, bad, clipped, good = _ZERO, -1, 0, 0
    for k in range(len(priorities)):
        place, priority = np.int64(items[2 * k]), np.uint64(priorities[k])
        if place < fill and not invalid[k]:
            largest = max(largest, priority)
            places[good], raw[good] = place, priority
            good += 1
            clipped += saturated[k]
        elif bad < 0:
            bad = k
    return largest, set_leaves(tree, offsets, shift, places[:good], raw[:good]), bad, clipped


@compiled
def _ring_places(begin, count, capacity):
    """``count`` places from ``begin`` on; place 0 follows place ``capacity - 1``."""
    places = np.empty(count, np.int64)
    place = begin
    for k in range(count):
        places[k] = place
        place = place + 1 if place + 1 < capacity else 0
    return places


@compiled
def fill(tree, offsets, shift, begin, count, capacity, priority):
    """Sets ``count`` leaves from leaf ``begin`` on to ``priority``, in place. Leaf 0 follows leaf
    ``capacity - 1``. Returns the new sum of all leaves."""
    places = _ring_places(begin, count, capacity)
    return set_leaves(tree, offsets, shift, places, np.full(count, np.uint64(priority)))


@compiled
def enter_items(tree, offsets, shift, begin, capacity, items, count, limit):
    """Sets ``count`` leaves from leaf ``begin`` on to the values of the first ``count`` of
    ``items``; the items' indexes are not used. Leaf 0 follows leaf ``capacity - 1``. A value above
    ``limit`` is bad and becomes 0. Returns ``(largest, total, bad)`` as ``put_items``."""
    raw, largest, bad = np.empty(count, np.uint64), _ZERO, -1
    for k in range(count):
        raw[k] = np.uint64(items[2 * k + 1])
        if raw[k] > np.uint64(limit):
            raw[k] = _ZERO
            if bad < 0:
                bad = k
        largest = max(largest, raw[k])
    places = _ring_places(begin, count, capacity)
    return largest, set_leaves(tree, offsets, shift, places, raw), bad


@compiled
def enter_updates(tree, offsets, shift, begin, capacity, priorities, saturated, invalid):
    """Sets leaves from leaf ``begin`` on to ``priorities``, one leaf for each of them. Leaf 0
    follows leaf ``capacity - 1``. An ``invalid`` priority is bad and becomes 0. Returns ``(largest,
    total, bad, clipped)`` as ``put_updates``."""
    count = len(priorities)
    raw, largest, bad, clipped = np.empty(count, np.uint64), _ZERO, -1, 0
    for k in range(count):
        raw[k] = np.uint64(priorities[k])
        if invalid[k]:
            raw[k] = _ZERO
            if bad < 0:
                bad = k
        else:
            clipped += saturated[k]
        largest = max(largest, raw[k])
    places = _ring_places(begin, count, capacity)
    return largest, set_leaves(tree, offsets, shift, places, raw), bad, clipped


@compiled
def clear(tree, offsets, shift, level, node):
    """Sets the sums in node number ``node`` of ``level``, and all sums below them, to 0, in place.
    It does not look below a sum that is already 0, because then all sums below it are 0 too."""
    for place in range(node << shift, (node + 1) << shift):
        if tree[offsets[level] + place] != 0:
            tree[offsets[level] + place] = 0
            if level > 0:
                clear(tree, offsets, shift, level - 1, place)


@compiled
def get_items(tree, items, count, fill):
    """``(indexes, priorities, bad)`` of the leaves that the first ``count`` of ``items`` name:
    int64 [count] and uint64 [count]. If an index is not below ``fill``, its index and priority are
    0. ``bad`` is the position of the first such item, or -1."""
    indexes, priorities, bad = np.zeros(count, np.int64), np.zeros(count, np.uint64), -1
    for k in range(count):
        if items[2 * k] < fill:
            indexes[k], priorities[k] = items[2 * k], tree[items[2 * k]]
        elif bad < 0:
            bad = k
    return indexes, priorities, bad


@compiled
def store(storage, records, begin, count, capacity, stride, size):
    """Copies ``count`` experiences from ``records``, where they follow each other without gaps, to
    ``storage``, from place ``begin`` on. Place 0 follows place ``capacity - 1``.

    ``records`` and ``storage`` are uint32 words. An experience has ``size`` words; a place has
    ``stride`` words, and the words behind the experience become 0.
    """
    for k in range(count):
        place = (begin + k) % capacity * stride
        for word in range(size):
            storage[place + word] = records[k * size + word]
        storage[place + size : place + stride] = 0


@compiled
def write_batch(out, storage, stride, size, indexes, priorities, weights):
    """Fills ``out``, in place: for each index a header (index, priority, weight, 0) and the
    experience with this index from ``storage``; then zeros up to its end.

    ``out`` and ``storage`` are uint32 words. ``size`` is the number of words of an experience, 0
    for headers alone; ``stride`` the number of words from one experience to the next in
    ``storage``. ``weights`` are uint32, the bits of float32.
    """
    end = 0
    for k in range(len(indexes)):
        begin = indexes[k] * stride
        out[end], out[end + 1] = indexes[k], priorities[k]
        out[end + 2], out[end + 3] = weights[k], 0
        end += 4
        for word in range(size):
            out[end + word] = storage[begin + word]
        end += size
    out[end:] = 0


@compiled
def _draw(state):
    """The next 64 bits of ``numpy.random.SFC64``, whose ``state`` (a, b, c, counter) goes on."""
    a, b, c, counter = state
    drawn = a + b + counter
    state[0], state[1] = b ^ (b >> _RIGHT), c + (c << _LEFT)
    state[2] = ((c << _TURN) | (c >> _TURN_BACK)) + drawn
    state[3] = counter + _ONE
    return drawn


@compiled
def targets_of(state, count, base, stratum_width, total):
    """``count`` random integers in 0..total - 1, uint64. The whole range counts as 2**48: the first
    is drawn from the stratum of ``stratum_width`` that begins at ``base``, each other from the
    stratum after that of the one before, modulo 2**48. If ``stratum_width`` is 2**48, each may be
    anywhere. ``state``, four uint64 words of SFC64, goes on in place."""
    targets = np.empty(count, np.uint64)
    stratum = base
    for k in range(count):
        jitter = _draw(state) >> _UNUSED
        if stratum_width != _UNIFORM:
            jitter = scale(jitter, stratum_width)
        targets[k] = scale((stratum + jitter) & _MASK, total)
        stratum += stratum_width
    return targets


@compiled
def find(tree, offsets, shift, total, targets):
    """``(indexes, priorities, errors)``, one of each for each of ``targets`` (uint64): the least i
    with p_0 + ... + p_i > target, where p_k is the priority of leaf k; p_i; and False. If the
    target is not below ``total``, the sum of all leaves, they are 0, 0 and True."""
    count = len(targets)
    indexes, priorities = np.zeros(count, np.int64), np.zeros(count, np.uint64)
    errors = np.zeros(count, np.bool_)
    for k in range(count):
        target, node = targets[k], 0
        errors[k] = target >= total
        if errors[k]:
            continue
        for level in range(len(offsets) - 1, -1, -1):
            child = node << shift
            while target >= tree[offsets[level] + child]:
                target -= tree[offsets[level] + child]
                child += 1
            node = child
        indexes[k], priorities[k] = node, tree[node]
    return indexes, priorities, errors
