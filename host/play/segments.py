"""SEGMENTs of PLAY: one record for several iterations whose numbers differ by little.

Adam's corrections of its step size change in each iteration, at first by much. A record serves the
iterations until one of these numbers is a hundredth off. Where a record ends depends on the number
of the update alone, not on launches: however a run is cut, an iteration has the same record.
"""

import numpy as np

from hw.learner.play.contract import segment_of
from hw.learner.records import HYPERPARAMETERS, STEP

__all__ = ["CLOSE", "segment_records"]

#: Share by which a number may be off at the end of what a record serves.
CLOSE = 0.01
#: Numbers that an optimizer changes from update to update.
_CHANGING = "rate", "floor"
_RECORDS = {record.dtype: record for record in (HYPERPARAMETERS, STEP)}


def segment_records(record_of, first, count):
    """SEGMENT records for updates ``first``, from 1 on, to ``first + count - 1``; at least one.

    ``record_of(update)`` gives the record [1] of an update.
    """
    found, begin = [], 1
    while True:
        record = record_of(begin)
        length = _length(record_of, record, begin, first + count - begin)
        end = begin + length
        if end > first or begin >= first + count - 1:
            segment = record.view(segment_of(_RECORDS[record.dtype]).dtype).copy()
            segment["repeat"] = max(min(end, first + count) - max(begin, first), 1)
            found.append(segment)
        if end >= first + count:
            return np.concatenate(found)
        begin = end


def _length(record_of, record, begin, most):
    """Updates from ``begin`` on that ``record`` serves, up to ``most``; by bisection, since
    ``floor`` never falls, and ``rate`` is its product with a number that never rises."""
    if most <= 1 or _near(record, record_of(begin + most - 1)):
        return max(most, 1)
    low, high = 1, most  # it serves ``low``, and not ``high``
    while high - low > 1:
        middle = (low + high) // 2
        if _near(record, record_of(begin + middle - 1)):
            low = middle
        else:
            high = middle
    return low


def _near(one, other):
    """Whether the numbers that change are close."""
    return all(np.allclose(other[name], one[name], rtol=CLOSE, atol=0) for name in _CHANGING)
