"""SEGMENTs of PLAY: one record for several iterations whose numbers differ by little.

Adam's corrections of its step size change in each iteration, at first by much. A record serves the
iterations until a number is a hundredth off. Where a record ends depends on the number of the
update, not on launches: however a run is cut, an iteration has the same record.
"""

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hw.learner.play.play_contract import segment_of
from hw.shell.layout import Layout

__all__ = ["CLOSE", "Segments"]

#: Share by which a number may be off at the end of what a record serves.
CLOSE = 0.01
#: Numbers that an optimizer changes from update to update.
_CHANGING = "rate", "floor"
#: An update that no run reaches.
_NEVER = 1 << 40


class Segments:
    """Makes segments of the records that ``record_of`` gives.

    Parameters
    ----------
    record : Layout
        The ``step_record`` of the kernel's learner.
    record_of : callable
        ``record_of(update, launched)`` gives the record [1] of an update, from 1 on, of a launch
        that began after ``launched`` steps; where records end does not depend on the latter.
        ``floor`` never falls, and ``rate`` is its product with a number that never rises.
    """

    def __init__(self, record: Layout, record_of: Callable[[int, int], NDArray[np.void]]) -> None:
        self._dtype, self._record_of = segment_of(record).dtype, record_of
        self._begins = [1]

    def records(self, first: int, count: int, launched: int) -> NDArray[np.void]:
        """Records of updates ``first`` to ``first + count - 1``; one if ``count`` is 0."""
        end = first + max(count, 1)
        while self._begins[-1] < end:
            self._begins.append(self._end(self._begins[-1]))
        begins = self._begins[bisect_right(self._begins, first) - 1 :]
        found = []
        for begin, after in pairwise(begins):
            if begin < end:
                segment = self._record_of(begin, launched).view(self._dtype).copy()
                segment["repeat"] = min(after, end) - max(begin, first)
                found.append(segment)
        return np.concatenate(found)

    def _end(self, begin):
        """The first update that the record of ``begin`` does not serve."""
        record = self._record_of(begin, 0)

        def serves(update):
            other = self._record_of(update, 0)
            return all(
                np.allclose(other[name], record[name], rtol=CLOSE, atol=0) for name in _CHANGING
            )

        low, length = begin, 1  # it serves ``low``
        while serves(begin + length):
            low, length = begin + length, 2 * length
            if length > _NEVER:
                return _NEVER
        high = begin + length  # and not ``high``
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if serves(middle) else (low, middle)
        return high
