"""Priorities that experiences bring with them: checked, and as INSERT and LEARN read them.

Actors compute them (CF'22 2.1.1; cpprb's ``add(priorities=)``); without them an experience enters
with the largest priority so far.
"""

from typing import NamedTuple

import numpy as np

from host.runtime.experience import in_runs
from hw.replay.commands import Given
from hw.replay.records import ITEM

__all__ = ["Entering", "entering", "finite", "raw_priorities"]


def finite(name, values):
    """``values`` as float32; ValueError names the first that is infinite or NaN."""
    values = np.asarray(values, np.float32)
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"{name} must be finite, not {values[bad]} at position {bad}")
    return values


def raw_priorities(replay, values):
    """``values`` in the format of a ReplayConfig, uint32; ValueError for one outside of it."""
    highest = replay.priority_limit / (1 << replay.priority_fraction)
    right = np.isfinite(values) & (values >= 0) & (values <= highest)
    if not right.all():
        bad = int(np.argmin(right))
        raise ValueError(
            f"priorities must be finite and in 0..{highest:g}, not {values[bad]} at position {bad}"
        )
    raw = np.floor(values * (1 << replay.priority_fraction) + 0.5)
    return np.minimum(raw, replay.priority_limit).astype(np.uint32)


class Entering(NamedTuple):
    """``values`` uint32 [n], raw priorities or the bits of TD errors; ``fields`` of the command."""

    values: np.ndarray
    fields: dict

    def part(self, begin, end):
        return self._replace(values=self.values[begin:end])

    def put(self, operands, offset, runs=1):
        """Append the list, in ``runs`` that each begin on 64 bytes, to operands at ``offset``;
        return the fields of its command."""
        items = np.zeros(len(self.values), ITEM.dtype)
        items["value"] = self.values
        operands.append((offset, in_runs(items, runs)))
        return {**self.fields, "priorities": offset}


def entering(count, replay, *, priorities, td_errors, **power):
    """``Entering`` of ``count`` experiences, or None where neither is given.

    ``power``: alpha and epsilon as the card has them. ValueError for both, for another number of
    them, and for one that is not finite or outside of the format.
    """
    if priorities is None and td_errors is None:
        return None
    if priorities is not None and td_errors is not None:
        raise ValueError("priorities must not be given together with td_errors")
    name, given = ("td_errors", td_errors) if priorities is None else ("priorities", priorities)
    given = np.asarray(given, np.float64)
    if count == 1 and given.shape == ():  # of one experience, which has no axis either
        given = given[None]
    if given.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), not {given.shape}")
    if priorities is None:
        return Entering(
            finite(name, given).view(np.uint32), {"given": Given.TD_ERRORS.value, **power}
        )
    return Entering(raw_priorities(replay, given), {"given": Given.PRIORITIES.value})
