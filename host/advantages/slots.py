"""Rollouts as the stack of ``gae`` takes them: trajectories in rows, a slot a time step.

A row holds trajectories one after another. One that does not terminate is followed by a BOOTSTRAP,
which takes a slot of its row.
"""

from dataclasses import dataclass

import numpy as np

from host.values import array_of, cast, check_finite
from hw.errors import UsageError
from hw.gae.records import Kind

__all__ = ["Placement", "check_fit", "flags", "floats", "follows", "numbers", "pack", "place"]
__all__ += ["records"]


@dataclass(frozen=True)
class Placement:
    """Where the elements of a rollout lie on the stack, slot 0 at its bottom.

    ``steps`` and ``bootstraps`` are pairs of index arrays, (slots, rows): the places of the steps
    and of the BOOTSTRAPs. ``kinds`` is uint8 [slots, rows], the Kind of each place.
    """

    steps: tuple
    bootstraps: tuple
    kinds: np.ndarray

    def cells(self, numbers, bootstraps):
        """float32 [slots, rows] with ``numbers`` at the places of the steps, ``bootstraps`` at the
        places of the BOOTSTRAPs, and 0 elsewhere."""
        cells = np.zeros(self.kinds.shape, np.float32)
        cells[self.steps], cells[self.bootstraps] = numbers, bootstraps
        return cells


def follows(terminated, truncated):
    """bool [steps, rows]: whether a step is followed by a BOOTSTRAP: a truncated one, and the last
    one unless it terminated the episode."""
    result = truncated & ~terminated
    result[-1] |= ~terminated[-1]
    return result


def place(terminated, truncated):
    """The Placement of vectorised environments, each of which has a row.

    terminated, truncated : bool [steps, rows]
        Whether the episode ended with the step, and how; if both are True, it terminated.

    BOOTSTRAPs come in the order of the True places of ``follows``, time step by time step.
    """
    steps, rows = terminated.shape
    extra = follows(terminated, truncated)
    slots = np.arange(steps)[:, None] + np.cumsum(extra, axis=0) - extra
    row = np.broadcast_to(np.arange(rows), slots.shape)
    kinds = np.zeros((int((slots + extra).max()) + 1, rows), np.uint8)
    kinds[slots, row] = np.where(terminated, Kind.TERMINAL.value, Kind.STEP.value)
    after = slots[extra] + 1, row[extra]
    kinds[after] = Kind.BOOTSTRAP.value
    return Placement((slots, row), after, kinds)


def pack(lengths, ends, rows):
    """The Placement of trajectories of unequal length in ``rows`` rows.

    In their order, each trajectory goes to the row with the fewest slots taken so far, the lowest
    of several such rows, as if rows took the next one as soon as they are free (HEPPO III-C). Rows
    are filled from the top of the stack, which the kernel reads first, downwards.

    lengths : int [trajectories]
        Steps of each.
    ends : bool [trajectories]
        Whether the last step terminated the episode, so that no BOOTSTRAP is needed.

    ``steps`` of the result are in the order of the trajectories, and of time in each trajectory;
    ``bootstraps`` are in the order of the trajectories that need one.
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
    """The slots of a rollout as they lie in operands: uint8 [slots, bytes of a slot].

    A slot has the kinds of all rows, then their rewards, then their values, each padded with zeros
    to whole beats.

    config : GaeKernelConfig
    placement : Placement, of which the kinds are used
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
    """``values`` as a float32 array. UsageError unless it has ``shape``, by default any number of
    values in one dimension, and float32 holds all. The error's text calls the values ``name``."""
    given = array_of(name, values)
    found = floats(name, given, (given.size,) if shape is None else shape)
    check_finite(name, found, given)
    return found


def floats(name, values, shape):
    """As ``numbers``, but values may be, or become, infinite or NaN; in C order."""
    array = array_of(name, values)
    if array.shape != tuple(shape):
        raise UsageError(f"{name} must be of shape {list(shape)}, not {list(array.shape)}")
    return np.ascontiguousarray(cast(name, array, np.float32))


def flags(name, values, shape):
    """``values`` as an array of bool in C order; UsageError for another dtype or shape."""
    array = array_of(name, values)
    if array.shape != shape or array.dtype != bool:
        raise UsageError(
            f"{name} must be bool of shape {list(shape)}, not {array.dtype} {list(array.shape)}"
        )
    return np.ascontiguousarray(array)


def check_fit(kinds, depth):
    """ValueError unless ``kinds`` [slots, rows] has at most ``depth`` slots, or one more that has
    no steps, only BOOTSTRAPs."""
    last = kinds[depth:]
    steps = (last == Kind.STEP.value) | (last == Kind.TERMINAL.value)
    if len(kinds) > depth + 1 or steps.any():
        raise UsageError(
            f"steps must fit the kernel's stack of {depth} slots (and one of bootstraps), "
            f"not {len(kinds)}: an episode that is truncated takes one more"
        )
