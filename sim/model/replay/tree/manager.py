"""Bit-exact twin of ``hw.replay.tree.manager``: operations in order, on integers.

The tree holds plain sums instead of prefix words, and equal operations in a row are done at once;
the least i with p_0 + ... + p_i > target is the same leaf either way.
"""

import numpy as np

from sim.model.replay.tree.loops import (
    UNIFORM,
    clear,
    enter_items,
    enter_updates,
    fill,
    find,
    get_items,
    put,
    put_items,
    put_updates,
    targets_of,
)

__all__ = ["GET", "SET", "SAMPLE", "FIND", "UNIFORM", "ReplayManager"]

GET, SET, SAMPLE, FIND = range(4)


class ReplayManager:
    """Parameters and results as the hardware's; arrays instead of streams.

    Attributes
    ----------
    priorities : uint64 array [capacity]
        The leaves.
    total, maximum : int
        Sum of all priorities; largest priority SET since the last clear.
    """

    def __init__(self, config):
        self.config = config
        fanout, sizes = config.fanout, []
        count = config.capacity
        while not sizes or count > 1:
            nodes = -(-count // fanout)
            sizes.append(nodes * fanout)
            count = nodes
        self._tree = np.zeros(sum(sizes), np.uint64)
        self._offsets = np.cumsum([0, *sizes[:-1]])
        self.priorities = self._tree[: config.capacity]
        self.total = self.maximum = self._stratum = 0
        self.seed([0, 0, 0, 0])

    def clear(self):
        """All priorities, total and maximum to 0."""
        clear(self._tree, self._offsets, self.config.fanout, len(self._offsets) - 1, 0)
        self.total = self.maximum = 0

    def seed(self, state):
        """Replace the generator's state: four 64-bit words a, b, c, counter (NumPy's order)."""
        self._state = np.array(state, np.uint64)

    @property
    def state(self):
        """The generator's state, four words."""
        return self._state.tolist()

    def get(self, indexes):
        """Return ``(priorities, errors)``; an index past the capacity is an error and reads 0."""
        indexes = np.asarray(indexes, np.int64)
        errors = self._outside(indexes)
        return np.where(errors, 0, self.priorities[np.where(errors, 0, indexes)]), errors

    def set(self, indexes, priorities):
        """Set in order (the last of equal indexes holds); return ``errors``."""
        indexes, priorities = np.asarray(indexes, np.int64), np.asarray(priorities, np.uint64)
        config = self.config
        largest, self.total = put(
            self._tree, self._offsets, config.fanout, config.capacity, indexes, priorities
        )
        self.maximum = max(self.maximum, largest)
        return self._outside(indexes)

    def _outside(self, indexes):
        return (indexes < 0) | (indexes >= self.config.capacity)

    def set_items(self, items, count, fill):
        """``set`` of ``count`` pairs of index and priority (uint32). A pair whose index is not
        below ``fill``, or whose priority is too large, is left out; returns the position of the
        first such pair, or -1."""
        config = self.config
        largest, self.total, bad = put_items(
            self._tree, self._offsets, config.fanout, items, count, fill, config.priority_limit
        )
        self.maximum = max(self.maximum, largest)
        return bad

    def update_items(self, items, fill, priorities, saturated, invalid):
        """``set_items`` with ``priorities``, one for each item; ``invalid`` ones are left out.
        Returns ``(bad, clipped)``: the position of the first invalid one, or -1, and how many of
        the others are ``saturated``."""
        largest, self.total, bad, clipped = put_updates(
            self._tree,
            self._offsets,
            self.config.fanout,
            items,
            fill,
            priorities,
            saturated,
            invalid,
        )
        self.maximum = max(self.maximum, largest)
        return bad, clipped

    def fill(self, begin, count, capacity, priority):
        """Set ``count`` leaves from ``begin`` on, in a ring of ``capacity``, to one priority."""
        fanout = self.config.fanout
        self.total = fill(self._tree, self._offsets, fanout, begin, count, capacity, priority)
        self.maximum = max(self.maximum, priority)

    def enter_items(self, begin, capacity, items, count):
        """``fill`` with the values of ``count`` items; a value that is too large becomes 0. Returns
        the position of the first such item, or -1."""
        tree, config = self._tree, self.config
        largest, self.total, bad = enter_items(
            tree, self._offsets, config.fanout, begin, capacity, items, count, config.priority_limit
        )
        self.maximum = max(self.maximum, largest)
        return bad

    def enter_updates(self, begin, capacity, priorities, saturated, invalid):
        """``fill`` with ``priorities``, one for each leaf; an ``invalid`` one becomes 0. Returns
        ``(bad, clipped)``: the position of the first invalid one, or -1, and how many of the others
        are ``saturated``."""
        largest, self.total, bad, clipped = enter_updates(
            self._tree,
            self._offsets,
            self.config.fanout,
            begin,
            capacity,
            priorities,
            saturated,
            invalid,
        )
        self.maximum = max(self.maximum, largest)
        return bad, clipped

    def get_items(self, items, count, fill):
        """``(indexes, priorities, bad)`` of pairs as of ``set_items``."""
        return get_items(self.priorities, items, count, fill)

    def sample(self, count, *, stratum_width=UNIFORM, first=True):
        """Draw ``count`` leaves; return ``(indexes, priorities, errors)``.

        ``stratum_width`` as ``Draw``. ``first``: the first draw has stratum 0.
        """
        base = 0 if first else self._stratum
        self._stratum = (base + count * stratum_width) % UNIFORM
        ranges = map(np.uint64, (base, stratum_width, self.total))
        return self.find(targets_of(self._state, count, *ranges))

    def find(self, targets):
        """Leaves that hold ``targets``. A target at or past the total is an error, with index and
        priority 0."""
        total, targets = np.uint64(self.total), np.asarray(targets, np.uint64)
        return find(self._tree, self._offsets, self.config.fanout, total, targets)
