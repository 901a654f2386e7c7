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
    """The tree of priorities and the generator of a replay memory, with the operations of
    ``hw.replay.tree.manager`` on arrays. All priorities and the generator's state are 0 at first.

    Attributes
    ----------
    priorities : uint64 array [capacity]
        The leaves: the priority of each index.
    total : int
        Sum of all priorities.
    maximum : int
        The largest priority that was ever set since the last ``clear``, even if it is replaced.
    """

    def __init__(self, config):
        self.config, self.shift = config, config.digit_width
        fanout, sizes = config.fanout, []
        count = config.capacity
        while not sizes or count > 1:
            nodes = -(-count // fanout)
            sizes.append(nodes * fanout)
            count = nodes
        self.tree = np.zeros(sum(sizes), np.uint64)
        self.offsets = np.cumsum([0, *sizes[:-1]])
        self.total = self.maximum = self._stratum = 0
        self.seed([0, 0, 0, 0])

    @property
    def priorities(self):
        return self.tree[: self.config.capacity]  # of a copy, too

    def clear(self):
        """Sets all priorities, ``total`` and ``maximum`` to 0. The generator's state stays."""
        clear(self.tree, self.offsets, self.shift, len(self.offsets) - 1, 0)
        self.total = self.maximum = 0

    def seed(self, state):
        """Replaces the generator's state by four 64-bit words: a, b, c and counter of SFC64, in the
        order in which NumPy has them."""
        self.generator = np.array(state, np.uint64)

    @property
    def state(self):
        """The generator's state, four words."""
        return self.generator.tolist()

    def get(self, indexes):
        """``(priorities, errors)`` of ``indexes``: an index that is not in 0..capacity - 1 is an
        error, and its priority reads 0."""
        indexes = np.asarray(indexes, np.int64)
        errors = self._outside(indexes)
        return np.where(errors, 0, self.priorities[np.where(errors, 0, indexes)]), errors

    def set(self, indexes, priorities):
        """Sets the priorities of ``indexes`` in order, so that the last of equal indexes holds.
        Returns ``errors``, a bool for each index: True if it is not in 0..capacity - 1 and was left
        out."""
        indexes, priorities = np.asarray(indexes, np.int64), np.asarray(priorities, np.uint64)
        config = self.config
        largest, self.total = put(
            self.tree, self.offsets, self.shift, config.capacity, indexes, priorities
        )
        self.maximum = max(self.maximum, largest)
        return self._outside(indexes)

    def _outside(self, indexes):
        return (indexes < 0) | (indexes >= self.config.capacity)

    def set_items(self, items, count, fill):
        """Sets the priorities of the first ``count`` pairs of index and priority in ``items``
        (uint32, index first), in order. A pair whose index is not below ``fill``, or whose priority
        is above ``config.priority_limit``, is left out. Returns the position of the first pair that
        was left out, or -1."""
        config = self.config
        largest, self.total, bad = put_items(
            self.tree, self.offsets, self.shift, items, count, fill, config.priority_limit
        )
        self.maximum = max(self.maximum, largest)
        return bad

    def update_items(self, items, fill, priorities, saturated, invalid):
        """Sets the indexes of ``items`` (pairs as of ``set_items``) to ``priorities``, one for each
        item, in order; the items' values are not used. An item whose index is not below ``fill``,
        or that is ``invalid``, is left out. Returns ``(bad, clipped)``: the position of the first
        item that was left out, or -1, and how many of the others are ``saturated``."""
        largest, self.total, bad, clipped = put_updates(
            self.tree,
            self.offsets,
            self.shift,
            items,
            fill,
            priorities,
            saturated,
            invalid,
        )
        self.maximum = max(self.maximum, largest)
        return bad, clipped

    def fill(self, begin, count, capacity, priority):
        """Sets ``count`` priorities from index ``begin`` on to ``priority``. Index 0 follows index
        ``capacity - 1``."""
        self.total = fill(self.tree, self.offsets, self.shift, begin, count, capacity, priority)
        self.maximum = max(self.maximum, priority)

    def enter_items(self, begin, capacity, items, count):
        """Sets ``count`` priorities from index ``begin`` on to the values of the first ``count`` of
        ``items`` (pairs as of ``set_items``), whose indexes are not used. Index 0 follows index
        ``capacity - 1``. A value above ``config.priority_limit`` becomes 0. Returns the position of
        the first such item, or -1."""
        tree, config = self.tree, self.config
        largest, self.total, bad = enter_items(
            tree, self.offsets, self.shift, begin, capacity, items, count, config.priority_limit
        )
        self.maximum = max(self.maximum, largest)
        return bad

    def enter_updates(self, begin, capacity, priorities, saturated, invalid):
        """Sets as many priorities as ``priorities`` has, from index ``begin`` on, to these. Index 0
        follows index ``capacity - 1``. An ``invalid`` one becomes 0. Returns ``(bad, clipped)``:
        the position of the first invalid one, or -1, and how many of the others are
        ``saturated``."""
        largest, self.total, bad, clipped = enter_updates(
            self.tree,
            self.offsets,
            self.shift,
            begin,
            capacity,
            priorities,
            saturated,
            invalid,
        )
        self.maximum = max(self.maximum, largest)
        return bad, clipped

    def get_items(self, items, count, fill):
        """``(indexes, priorities, bad)`` of the first ``count`` of ``items`` (pairs as of
        ``set_items``, whose values are not used). If an index is not below ``fill``, its index and
        priority are 0; ``bad`` is the position of the first such pair, or -1."""
        return get_items(self.priorities, items, count, fill)

    def sample(self, count, *, stratum_width=UNIFORM, first=True):
        """Draws ``count`` indexes at random, each with a probability proportional to its priority;
        returns ``(indexes, priorities, errors)``. An error, with index and priority 0, means that
        ``total`` is 0.

        stratum_width : width of a stratum, where the sum of all priorities counts as 2**48. Each
            draw is from the stratum after that of the draw before. 2**48, which is ``UNIFORM``, is
            no strata.
        first : the first draw is from the stratum that begins at 0; else the strata go on from the
            last ``sample``.
        """
        base = 0 if first else self._stratum
        self._stratum = (base + count * stratum_width) % UNIFORM
        ranges = map(np.uint64, (base, stratum_width, self.total))
        return self.find(targets_of(self.generator, count, *ranges))

    def find(self, targets):
        """``(indexes, priorities, errors)`` for ``targets``: the least index i for which the sum of
        the priorities 0..i is above the target. A target of ``total`` or more is an error, with
        index and priority 0."""
        total, targets = np.uint64(self.total), np.asarray(targets, np.uint64)
        return find(self.tree, self.offsets, self.shift, total, targets)
