"""Prioritized replay in NumPy: a binary sum tree in float64, whose batches are drawn at once."""

import numpy as np

__all__ = ["Memory", "SumTree"]


class SumTree:
    """``capacity`` numbers, which are changed, and found by their running sum, in log2 steps."""

    def __init__(self, capacity):
        self._levels = (capacity - 1).bit_length()
        self._leaves = 1 << self._levels
        self.sums = np.zeros(2 * self._leaves)

    def __getitem__(self, indexes):
        return self.sums[self._leaves + indexes]

    @property
    def total(self):
        return self.sums[1]

    def set(self, indexes, values):
        nodes = self._leaves + np.asarray(indexes)
        self.sums[nodes] = values
        for _ in range(self._levels):
            nodes = nodes >> 1  # a parent of two of them is computed twice, to the same
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]

    def find(self, targets):
        """Of each the index at which the running sum passes it."""
        nodes, left = np.ones(len(targets), np.int64), np.array(targets, np.float64)
        for _ in range(self._levels):
            nodes *= 2
            right = left >= self.sums[nodes]
            left -= np.where(right, self.sums[nodes], 0)
            nodes += right
        return nodes - self._leaves


class Memory:
    """A ring of experiences, drawn in proportion to ``(|td error| + epsilon)**alpha``, one from
    each of as many equal parts of their sum; new ones have the highest priority so far (Schaul et
    al., Prioritized Experience Replay, 2016).

    ``fields`` : name -> (shape, dtype).
    """

    def __init__(self, fields, capacity, alpha, epsilon, seed):
        self._arrays = {n: np.zeros((capacity, *shape), d) for n, (shape, d) in fields.items()}
        self._capacity, self._alpha, self._epsilon = capacity, alpha, epsilon
        self._tree, self._rng = SumTree(capacity), np.random.default_rng(seed)
        self._added, self._highest = 0, 1.0

    def __len__(self):
        return min(self._added, self._capacity)

    def add(self, experiences):
        """A list of dicts, no more than there is room for."""
        if not experiences:
            return
        at = (self._added + np.arange(len(experiences))) % self._capacity
        for name, array in self._arrays.items():
            array[at] = [each[name] for each in experiences]
        self._tree.set(at, self._highest)
        self._added += len(experiences)

    def sample(self, count, beta):
        """``(indexes, batch)``, with ``weights`` ``(fill * P)**-beta`` over their maximum."""
        tree, fill = self._tree, len(self)
        targets = (np.arange(count) + self._rng.random(count)) / count * tree.total
        indexes = np.minimum(tree.find(targets), fill - 1)
        weights = (fill * tree[indexes] / tree.total) ** -beta
        batch = {name: array[indexes] for name, array in self._arrays.items()}
        return indexes, batch | {"weights": (weights / weights.max()).astype(np.float32)}

    def update(self, indexes, td_errors):
        priorities = (np.abs(td_errors.astype(np.float64)) + self._epsilon) ** self._alpha
        self._tree.set(indexes, priorities)
        self._highest = max(self._highest, float(priorities.max()))

    def state_dict(self):
        arrays = {name: array[: len(self)] for name, array in self._arrays.items()}
        numbers = dict(added=self._added, highest=self._highest)
        numbers["rng"] = self._rng.bit_generator.state
        return dict(arrays=arrays, priorities=self._tree[np.arange(len(self))], **numbers)

    def load_state_dict(self, state):
        self._added, self._highest = int(state["added"]), float(state["highest"])
        for name, array in self._arrays.items():
            array[: len(self)] = state["arrays"][name]
        self._tree.set(np.arange(len(self)), state["priorities"])
        self._rng.bit_generator.state = state["rng"]
