"""The state of a replay memory as arrays, and its steps without commands.

``ReplayCore`` executes commands on it. A program in the same process needs none: ``update``,
``insert`` and ``draw`` of a ``PrioritizedRing`` are UPDATE, INSERT and SAMPLE, byte for byte, each
compiled into one pass, which checks its arguments first.
"""

import numpy as np

from hw.replay.commands import Given
from hw.replay.priority import PriorityConfig
from sim.compiled import compiled
from sim.model.replay.priority import Priorities, priority_one
from sim.model.replay.tree.loops import fill, find, set_leaves, store, targets_of
from sim.model.replay.tree.manager import ReplayManager
from sim.model.replay.weight import logarithm, weight_one
from system.memory import zeros

__all__ = ["PrioritizedRing", "Ring", "items_of"]

_INT64, _FLOAT32, _FLOAT64 = map(np.dtype, (np.int64, np.float32, np.float64))
_SATURATIONS = 0xFFFF_FFFF
_ZERO = np.uint64(0)


class Ring:
    """Places for experiences, whose oldest is overwritten first.

    Attributes
    ----------
    capacity : int
        Places.
    position, fill : int
        The place of the next experience; number of experiences.
    storage : uint32 array or None
        The experiences.
    size, stride : int
        Words of an experience, and from one place of storage to the next.
    """

    def __init__(self, capacity, size=0):
        self.capacity, self.size, self.stride = capacity, size, size
        self.position = self.fill = 0
        words = capacity * size
        self.storage = zeros(words, np.uint32, f"capacity {capacity}") if size else None

    @property
    def rows(self):
        """The words of all places: uint32 [places, stride], writable."""
        return self.storage.reshape(-1, self.stride)

    def insert(self, records):
        """Stores ``records`` [n], n at most ``capacity``."""
        store(self.storage, _words(records), self.position, len(records), *self._sizes)
        self.advance(len(records))

    @property
    def _sizes(self):
        return self.capacity, self.stride, self.size

    def advance(self, count):
        """The next ``count`` places have been written."""
        end = self.position + count
        self.position = end if end < self.capacity else end % self.capacity
        self.fill = min(self.fill + count, self.capacity)

    def takes(self, indexes, td_errors):
        """Whether ``update`` of a ``PrioritizedRing`` takes these arguments: int64 [n] and float32
        or float64 [n] as an array begins, contiguous and writable, all indexes below ``fill``, all
        errors finite in float32."""
        return _alike(indexes, td_errors) and _right(indexes, td_errors, self.fill)

    def clear(self):
        """Forgets all experiences."""
        self.position = self.fill = 0


class PrioritizedRing(Ring):
    """A ring whose experiences are drawn by priority, for ``config``, a ReplayConfig. All
    priorities and the generator's state are 0 at first.

    Attributes
    ----------
    manager : ReplayManager
        The tree of priorities, and the generator.
    initial : int
        Raw priority of new experiences before any priority was set.
    restored : int
        The largest priority that was ever set before a checkpoint.
    saturations : int
        How many TD errors and priorities have been clipped, up to 2**32 - 1.
    """

    def __init__(self, config, size=0):
        super().__init__(config.capacity, size)
        self.manager, self.initial = ReplayManager(config), config.one
        self.restored = self.saturations = 0
        width = dict(priority_width=config.priority_width)
        self.priorities = Priorities(
            PriorityConfig(**width, priority_fraction=config.priority_fraction)
        )

    @property
    def maximum(self):
        """The largest priority that was ever set."""
        seen = self.manager.maximum
        return seen if seen > self.restored else self.restored

    def clear(self):
        super().clear()
        self.manager.clear()
        self.restored = self.saturations = 0

    def count_clipped(self, count):
        self.saturations = min(self.saturations + count, _SATURATIONS)

    def update(self, indexes, td_errors, alpha, epsilon):
        """Gives the experiences at ``indexes`` the priorities that follow from ``td_errors``; of
        equal indexes the last holds. Returns whether it ``takes`` them; if not, nothing changes.
        ``alpha`` and ``epsilon`` are the command's."""
        if not _alike(indexes, td_errors):
            return False
        manager = self.manager
        right, largest, total, clipped = _update(
            manager.tree, manager.offsets, manager.shift, indexes, td_errors, self.fill,
            alpha, epsilon, *self.priorities.format,
        )  # fmt: skip
        if not right:
            return False
        manager.total = total
        if largest > manager.maximum:
            manager.maximum = largest
        if clipped:
            self.count_clipped(clipped)
        return True

    def insert(self, records, given=None, values=None, alpha=0, epsilon=0):
        """Stores ``records`` [n], n at most ``capacity``, with the largest priority so far.

        given : None, or a number of ``Given``, which says what ``values`` are
        values : uint32 [n], raw priorities or the bits of TD errors in binary32
        alpha, epsilon : for TD errors, the command's
        """
        manager, begin, count = self.manager, self.position, len(records)
        if given is None:
            priority = self.maximum or self.initial
            manager.total = _insert(
                manager.tree, manager.offsets, manager.shift, self.storage, _words(records), begin,
                count, *self._sizes, priority,
            )  # fmt: skip
            if priority > manager.maximum:
                manager.maximum = priority
        else:
            store(self.storage, _words(records), begin, count, *self._sizes)
            self.enter(given, items_of(np.zeros(count, np.uint32), values), count, alpha, epsilon)
        self.advance(count)

    def enter(self, given, items, count, alpha, epsilon):
        """Enters the priorities of ``count`` new experiences from a list of an INSERT; returns the
        position of the first bad item, or -1."""
        manager, begin, capacity = self.manager, self.position, self.capacity
        if given == Given.PRIORITIES.value:
            return manager.enter_items(begin, capacity, items, count)
        bits = items[1 : 2 * count : 2].astype(np.int64)
        found = self.priorities(bits, alpha, epsilon)
        bad, clipped = manager.enter_updates(begin, capacity, *found)
        self.count_clipped(clipped)
        return bad

    def draw(self, count, beta, stratum_width, records):
        """Draws ``count`` experiences at random and copies them to ``records`` [count]. Returns
        ``(indexes, weights)``, int64 and float32 [count]; not all priorities may be 0. ``beta`` and
        ``stratum_width`` are the command's."""
        manager = self.manager
        return _draw(
            manager.tree, manager.offsets, manager.shift, manager.generator, count, stratum_width,
            manager.total, self.fill, beta, self.storage, self.stride, self.size, _words(records),
        )  # fmt: skip


def items_of(indexes, values):
    """Pairs of index and value, uint32 [2 n], as ``ReplayManager`` takes them."""
    items = np.empty((len(indexes), 2), np.uint32)
    items[:, 0], items[:, 1] = indexes, values
    return items.reshape(-1)


def _words(records):
    """``records``, also with gaps, as uint32, in an array as compiled functions know it."""
    if not records.flags.carray:
        # As bytes: a copy of records would leave out the padding between fields.
        records = records.view(f"V{records.dtype.itemsize}").copy()
    return records.view(np.uint32)


def _alike(indexes, td_errors):
    """Whether both are arrays as ``_update`` takes them; numba would compile it anew for others."""
    return (
        type(indexes) is type(td_errors) is np.ndarray
        and indexes.dtype == _INT64
        and (td_errors.dtype == _FLOAT32 or td_errors.dtype == _FLOAT64)
        and indexes.ndim == 1
        and indexes.shape == td_errors.shape
        and indexes.flags.carray
        and td_errors.flags.carray
    )


@compiled
def _right(indexes, td_errors, fill):
    wrong = False
    for k in range(len(indexes)):
        finite = np.isfinite(np.float32(td_errors[k]))
        wrong |= (indexes[k] < 0) | (indexes[k] >= fill) | (not finite)
    return not wrong


@compiled
def _update(tree, offsets, shift, indexes, td_errors, fill, alpha, epsilon, fraction, width, high):
    """``(right, largest, total, clipped)``; if not ``right``, nothing is changed."""
    if not _right(indexes, td_errors, fill):
        return False, _ZERO, _ZERO, 0
    count = len(indexes)
    places, raw = indexes.copy(), np.empty(count, np.uint64)
    largest, clipped = _ZERO, 0
    for k in range(count):
        bits = np.int64(np.float32(td_errors[k]).view(np.int32))
        priority, saturated, _ = priority_one(bits, alpha, epsilon, fraction, width, high)
        raw[k] = np.uint64(priority)
        largest = max(largest, raw[k])
        clipped += saturated
    return True, largest, set_leaves(tree, offsets, shift, places, raw), clipped


@compiled
def _insert(tree, offsets, shift, storage, words, begin, count, capacity, stride, size, priority):
    store(storage, words, begin, count, capacity, stride, size)
    return fill(tree, offsets, shift, begin, count, capacity, priority)


@compiled
def _draw(tree, offsets, shift, state, count, stratum_width, total, among, beta, storage, stride,
          size, words):  # fmt: skip
    total, width = np.uint64(total), np.uint64(stratum_width)
    indexes, priorities, _ = find(
        tree, offsets, shift, total, targets_of(state, count, _ZERO, width, total)
    )
    bits, whole = np.empty(count, np.uint32), logarithm(total) - logarithm(np.uint64(among))
    for k in range(count):
        bits[k] = weight_one(whole - logarithm(priorities[k]), beta)
    for k in range(count):
        begin = indexes[k] * stride
        for word in range(size):
            words[k * size + word] = storage[begin + word]
    return indexes, bits.view(np.float32)
