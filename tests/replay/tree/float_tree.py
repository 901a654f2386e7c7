"""The float32 sum tree of published replay libraries, as vectors: what exactness is measured by."""

import numpy as np

__all__ = ["FloatTree"]


class FloatTree:
    """Sums of float32 in a binary tree; a search goes right past ``mass > left`` and takes it off.

    The algorithm of torchrl's ``SumSegmentTree<float>::ScanLowerBound`` (torchrl 0.14,
    csrc/segment_tree.h), for a power of two of leaves, not its code.
    """

    def __init__(self, priorities):
        levels = [np.asarray(priorities, np.float32)]
        while len(levels[-1]) > 1:
            levels.append(levels[-1][0::2] + levels[-1][1::2])
        self._levels = levels[::-1]
        self.total = levels[-1][0]

    def find(self, masses):
        """Leaves in whose part of the running sum the float32 ``masses`` lie."""
        nodes = np.zeros(len(masses), np.int64)
        for sums in self._levels[1:]:
            left = sums[2 * nodes]
            right = masses > left
            masses = np.where(right, masses - left, masses)
            nodes = 2 * nodes + right
        return nodes

    def last_masses(self, count):
        """The ``count`` largest float32 up to the total: there is none between two of them."""
        last = int(self.total.view(np.uint32))
        return np.arange(last + 1 - count, last + 1, dtype=np.uint32).view(np.float32)
