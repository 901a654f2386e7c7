"""Buffers of recognizable experiences for the tests of ``host.replay.prioritized_buffer``."""

import numpy as np
import pytest
from replay.kernels import WIDE

from host.replay.prioritized_buffer import PrioritizedReplayBuffer

FIELDS = {"observation": (np.float32, (3,)), "action": (np.int64, ()), "done": (np.bool_, ())}
CARDS = pytest.mark.parametrize("card", ["model", "sim"])
ONE = 1 << WIDE.replay.priority_fraction
CAPACITY = 100


def make(kernel, **options):
    """A buffer that takes the kernel over from the one before it."""
    return PrioritizedReplayBuffer(
        kernel, FIELDS, **{"capacity": CAPACITY, "takeover": True, **options}
    )


def experiences(count, first=0):
    """Recognizable: experience k holds k in every field."""
    k = np.arange(first, first + count)
    return {
        "observation": np.stack([k, k + 0.5, -k], axis=1).astype(np.float32),
        "action": k,
        "done": k % 3 == 0,
    }


def filled(kernel, count=60, **options):
    """A buffer with ``count`` experiences of different priorities."""
    return rated(make(kernel, **options), count)


def rated(memory, count=60):
    """``memory`` with ``count`` experiences of different priorities."""
    memory.add(**experiences(count))
    fill = len(memory)
    memory.update_priorities(np.arange(fill), np.linspace(-2, 3, fill))
    return memory


def equal(a, b):
    """Two states or batches hold the same names and values."""
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def bad_calls(most=65535):
    """``(method, arguments, message)``; every call leaves a memory of 60 experiences, which draws
    ``most`` at a time, as it was."""
    inf, nan = float("inf"), float("nan")

    def without(name):
        return {key: value for key, value in experiences(2).items() if key != name}

    update, put = "update_priorities", "set_priorities"
    yield update, ([0, 1], [1, nan]), r"td_errors must be finite, not nan at position 1"
    yield update, ([0], [-inf]), r"td_errors must be finite, not -inf at position 0"
    yield update, ([0], [1e300]), r"td_errors must be a number that float32 holds, not 1e\+300"
    yield update, ([0, 60], [1, 1]), r"indexes must be in 0\.\.59 \(what is stored\), not 0\.\.60"
    yield update, ([-1, 3], [1, 1]), r"indexes must be in 0\.\.59 .*, not -1\.\.3"
    yield update, ([2**32], [1]), r"indexes must be in 0\.\.59"
    yield update, ([0.5], [1]), r"indexes must be a list of integers, not float64 of shape \(1,\)"
    yield update, ([[0]], [[1]]), r"indexes must be a list of integers, not int64 of shape \(1, 1\)"
    yield update, ([0, 1], [1]), r"td_errors must have shape \(2,\), not \(1,\)"
    top = r"priorities must be finite and in 0\.\.256, not "
    yield put, ([0, 1], [1, -0.001]), top + r"-0\.001 at position 1"
    yield put, ([0], [nan]), top + "nan at position 0"
    yield put, ([0], [inf]), top + "inf at position 0"
    yield put, ([0], [256.0]), top + r"256\.0 at position 0"
    yield put, ([60], [1]), r"indexes must be in 0\.\.59"
    yield put, ([0], [[1]]), r"priorities must have shape \(1,\), not \(1, 1\)"
    yield "sample", (61,), r"batch_size must be at most the fill \(60\), not 61"
    yield "sample", (0,), rf"batch_size must be an integer in 1\.\.{most}, not 0"
    yield "sample", (1.5,), rf"batch_size must be an integer in 1\.\.{most}, not 1\.5"
    yield "sample", (1, 1.01), r"beta must be in 0\.\.1, not 1\.01"
    yield "sample", (1, nan), r"beta must be in 0\.\.1, not nan"
    for name in FIELDS:
        yield "add", without(name), f"{name} must be given, not missing"
    yield (
        "add",
        {**experiences(2), "reward": [1, 2]},
        ("reward must be one of observation, action, done, not unknown"),
    )
    yield (
        "add",
        {**experiences(2), "observation": np.zeros((2, 4))},
        (r"observation must have shape \(2, 3\), not \(2, 4\)"),
    )
    yield (
        "add",
        {**experiences(2), "action": np.zeros(3)},
        (r"action must have shape \(2,\), not \(3,\)"),
    )
    yield "add", {**experiences(2), "observation": 1.0}, "observation must have shape"
    one = {name: values[0] for name, values in experiences(1).items()}
    yield (
        "add",
        {**one, "done": [False, True]},
        r"observation must have shape \(3, 3\), not \(3,\): every field has a first axis of n "
        "experiences, or, of one alone, none has",
    )
    yield "add", {**one, "priorities": [1.0, 2.0]}, r"priorities must have shape \(1,\), not \(2,\)"
    # All of a step is checked before any of it runs.
    good = ([0], [1.0])
    yield "step", (experiences(3), good, (64, 0.5)), r"at most the fill \(63\), not 64"
    yield "step", (without("done"), good, None), "done must be given"
