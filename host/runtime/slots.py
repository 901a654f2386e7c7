"""Rollouts as the stack of ``gae`` takes them: trajectories in rows, a slot a time step.

A row holds trajectories one after another. One that does not terminate is followed by a BOOTSTRAP,
which takes a slot of its row.
"""

from dataclasses import dataclass

import numpy as np

from hw.errors import UsageError
from hw.gae.records import Kind

__all__ = ["Placement", "check_fit", "flags", "numbers", "pack", "place", "records"]


@dataclass(frozen=True)
class Placement:
    """Where elements lie on the stack.

    ``steps``, ``bootstraps``: pairs of index arrays (slot, row); ``kinds``: u8 [slots, rows].
    """

    steps: tuple
    bootstraps: tuple
    kinds: np.ndarray

    def cells(self, numbers, bootstraps):
        """float32 [slots, rows] with ``numbers`` at the steps and ``bootstraps`` at theirs."""
        cells = np.zeros(self.kinds.shape, np.float32)
        cells[self.steps], cells[self.bootstraps] = numbers, bootstraps
        return cells


def place(terminated, truncated):
    """``(placement, follows)`` of vectorised environments, a row each.

    terminated, truncated : bool [steps, rows]
        A step that is neither, but the last one, is followed by the next.

    ``follows``, bool [steps, rows]: steps that a BOOTSTRAP follows, in the order of its
    ``bootstraps``.
    """
    steps, rows = terminated.shape
    follows = truncated & ~terminated
    follows[-1] |= ~terminated[-1]
    slots = np.arange(steps)[:, None] + np.cumsum(follows, axis=0) - follows
    row = np.broadcast_to(np.arange(rows), slots.shape)
    kinds = np.zeros((int((slots + follows).max()) + 1, rows), np.uint8)
    kinds[slots, row] = np.where(terminated, Kind.TERMINAL.value, Kind.STEP.value)
    after = slots[follows] + 1, row[follows]
    kinds[after] = Kind.BOOTSTRAP.value
    return Placement((slots, row), after, kinds), follows


def pack(lengths, ends, rows):
    """Placement of trajectories of unequal length, handed out in turn.

    Each goes to the row that is free first, the lowest of several: what handing out at run time
    would give (HEPPO III-C). As the stack is worked on from its top, where all rows end, the first
    handed out lie highest.

    lengths : int [trajectories]
    ends : bool [trajectories]
        Whether it terminated, and needs no BOOTSTRAP.

    Elements of ``steps`` are in the order of trajectories, and of time in each; those of
    ``bootstraps`` in the order of trajectories that need one.
    """
    extra = [0 if end else 1 for end in ends]
    taken, begins, row_of = np.zeros(rows, np.int64), [], []
    for length, more in zip(lengths, extra, strict=True):
        row = int(taken.argmin())
        row_of.append(row)
        begins.append(int(taken[row]))
        taken[row] += length + more
    slots = int(taken.max())
    kinds = np.zeros((slots, rows), np.uint8)
    steps, bootstraps = [], []
    for row, begin, length, more, end in zip(row_of, begins, lengths, extra, ends, strict=True):
        # Counted from the top: the trajectory's last slot is `begin` slots below it.
        last = slots - 1 - begin
        if more:
            kinds[last, row] = Kind.BOOTSTRAP.value
            bootstraps.append((last, row))
        own = np.arange(last - more - length + 1, last - more + 1)
        kinds[own, row] = Kind.STEP.value
        if end:
            kinds[last, row] = Kind.TERMINAL.value
        steps.append((own, np.full(length, row)))
    steps = tuple(np.concatenate(part) for part in zip(*steps, strict=True))
    after = np.array(bootstraps, np.int64).reshape(-1, 2)
    return Placement(steps, (after[:, 0], after[:, 1]), kinds)


def records(config, placement, rewards, values):
    """Slots of numbers as they lie in operands: uint8 [slots, bytes of a slot].

    config : GaeKernelConfig
    rewards, values : float32 [slots, rows], of at most ``config.gae.rows`` rows
    """
    beat, planes = config.engine.beat_bytes, config.slot_beats["numbers"]
    slots, rows = placement.kinds.shape
    raw = np.zeros((slots, sum(planes) * beat), np.uint8)
    begin = 0
    for array, beats in zip((placement.kinds, rewards, values), planes, strict=True):
        array = np.ascontiguousarray(array)
        raw[:, begin : begin + rows * array.itemsize] = array.view(np.uint8).reshape(slots, -1)
        begin += beats * beat
    return raw


def numbers(name, values, shape=None):
    """float32 array of ``shape``; ValueError for another, and for one that is not finite."""
    with np.errstate(over="ignore"):
        array = np.asarray(values, np.float32)
    shape = (array.size,) if shape is None else shape
    if array.shape != tuple(shape):
        raise UsageError(f"{name} must be of shape {list(shape)}, not {list(array.shape)}")
    wrong = ~np.isfinite(array)
    if wrong.any():
        place_of = tuple(int(x) for x in np.argwhere(wrong)[0])
        raise UsageError(f"{name} must be finite, not {array[place_of]} at {list(place_of)}")
    return array


def flags(name, values, shape):
    """bool array of ``shape``; ValueError for another."""
    array = np.asarray(values)
    if array.shape != shape or array.dtype != bool:
        raise UsageError(
            f"{name} must be bool of shape {list(shape)}, not {array.dtype} {list(array.shape)}"
        )
    return array


def check_fit(kinds, depth):
    """ValueError unless ``kinds`` [slots, rows] fit a stack of ``depth`` slots, and one more of
    bootstraps alone."""
    last = kinds[depth:]
    steps = (last == Kind.STEP.value) | (last == Kind.TERMINAL.value)
    if len(kinds) > depth + 1 or steps.any():
        raise UsageError(
            f"steps must fit the kernel's stack of {depth} slots (and one of bootstraps), "
            f"not {len(kinds)}: an episode that is truncated takes one more"
        )
