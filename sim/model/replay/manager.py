"""Bit-exact twin of ``hw.replay.manager``: operations in order, on integers.

The tree holds plain sums instead of prefix words and runs of equal operations are done at once;
the least i with p_0 + ... + p_i > target is the same leaf either way.
"""

import numpy as np

from hw.replay.config import FRACTION_WIDTH

__all__ = ["GET", "SET", "SAMPLE", "FIND", "UNIFORM", "ReplayManager", "scale"]

GET, SET, SAMPLE, FIND = range(4)

#: ``step`` of uniform draws: one stratum that is everything.
UNIFORM = 1 << FRACTION_WIDTH

_HALF = FRACTION_WIDTH // 2
_LOW = np.uint64((1 << _HALF) - 1)
_SHIFT = np.uint64(_HALF)


def scale(a, b):
    """``floor(a * b / 2**48)`` for uint64 arrays below 2**48, exactly, without 96-bit integers."""
    a, b = np.asarray(a, np.uint64), np.asarray(b, np.uint64)
    a_high, a_low, b_high, b_low = a >> _SHIFT, a & _LOW, b >> _SHIFT, b & _LOW
    middle = a_high * b_low + a_low * b_high + ((a_low * b_low) >> _SHIFT)
    return a_high * b_high + (middle >> _SHIFT)


class ReplayManager:
    """Parameters and results as the hardware's; arrays instead of streams.

    Attributes
    ----------
    priorities : uint64 array [capacity]
    total, maximum : int
    """

    def __init__(self, config):
        self.config = config
        self._random = np.random.SFC64(0)
        self._stratum = 0
        self.clear()
        self.seed([0, 0, 0, 0])

    def clear(self):
        """All priorities, total and maximum to 0."""
        config = self.config
        leaves = -(-config.capacity // config.fanout) * config.fanout
        self._sums = []  # leaves first; each padded to whole nodes
        while True:
            self._sums.append(np.zeros(leaves, np.uint64))
            nodes = leaves // config.fanout
            if nodes <= 1:
                break
            leaves = -(-nodes // config.fanout) * config.fanout
        self.priorities = self._sums[0][: config.capacity]
        self.total = self.maximum = 0

    def seed(self, state):
        """Replace the generator's state: four 64-bit words a, b, c, counter (NumPy's order)."""
        whole = self._random.state
        whole["state"]["state"] = np.array(state, np.uint64)
        whole["has_uint32"], whole["uinteger"] = 0, 0
        self._random.state = whole

    @property
    def state(self):
        """The generator's state, four words."""
        return self._random.state["state"]["state"].copy()

    def get(self, indexes):
        """Return ``(priorities, errors)``; an index past the capacity is an error and reads 0."""
        indexes = np.asarray(indexes, np.int64)
        errors = indexes >= self.config.capacity
        return np.where(errors, 0, self.priorities[np.where(errors, 0, indexes)]), errors

    def set(self, indexes, priorities):
        """Set in order (the last of equal indexes holds); return ``errors``."""
        indexes, priorities = np.asarray(indexes, np.int64), np.asarray(priorities, np.uint64)
        errors = indexes >= self.config.capacity
        if errors.any():
            indexes, priorities = indexes[~errors], priorities[~errors]
        if len(indexes):
            self.maximum = max(self.maximum, int(priorities.max()))
            self.priorities[indexes] = priorities
            fanout = self.config.fanout
            changed = indexes // fanout
            for below, above in zip(self._sums, self._sums[1:], strict=False):
                above[changed] = below.reshape(-1, fanout)[changed].sum(axis=1)
                changed = changed // fanout
            self.total = int(self._sums[-1].sum())
        return errors

    def sample(self, count, *, step=UNIFORM, first=True):
        """Draw ``count`` leaves; return ``(indexes, priorities, errors)``.

        ``step`` as ``hw.replay.draw.Draw``. ``first``: the first draw begins a round of strata.
        """
        mask = UNIFORM - 1
        base = 0 if first else self._stratum
        draws = self._random.random_raw(count) >> np.uint64(64 - FRACTION_WIDTH)
        strata = (
            np.array([(base + k * step) & mask for k in range(count)], np.uint64)
            if step != UNIFORM
            else np.uint64(base)
        )
        jitter = draws if step == UNIFORM else scale(draws, np.uint64(step))
        self._stratum = (base + count * step) & mask
        fractions = (strata + jitter) & np.uint64(mask)
        if self.total == 0:
            nothing = np.zeros(count, np.int64)
            return nothing, nothing.astype(np.uint64), np.ones(count, bool)
        indexes, priorities = self._find(scale(fractions, np.uint64(self.total)))
        return indexes, priorities, np.zeros(count, bool)

    def find(self, targets):
        """Leaves that hold ``targets``; at or past the total is an error, index and priority 0."""
        targets = np.asarray(targets, np.uint64)
        errors = targets >= np.uint64(self.total)
        if errors.all():
            return np.zeros(len(targets), np.int64), np.zeros(len(targets), np.uint64), errors
        indexes, priorities = self._find(np.where(errors, np.uint64(0), targets))
        return np.where(errors, 0, indexes), np.where(errors, 0, priorities), errors

    def _find(self, targets):
        node = np.zeros(len(targets), np.int64)
        fanout = self.config.fanout
        for sums in reversed(self._sums):
            prefixes = np.cumsum(sums.reshape(-1, fanout)[node], axis=1)
            child = (prefixes <= targets[:, None]).sum(axis=1)
            before = np.take_along_axis(prefixes, np.maximum(child - 1, 0)[:, None], axis=1)[:, 0]
            targets = targets - np.where(child > 0, before, np.uint64(0))
            node = node * fanout + child
        return node, self.priorities[node]
