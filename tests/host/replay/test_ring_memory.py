"""host.replay.ring_memory: uniform draws of what is stored; nothing else decides them."""

import numpy as np
import pytest

from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory
from tests.host.replay_buffers import FIELDS, bad_calls, equal, experiences


def uniform(counts):
    """Whether chi square has p > 0.01, by Wilson and Hilferty's approximation (1931)."""
    free, expected = len(counts) - 1, np.mean(counts)
    limit = free * (1 - 2 / (9 * free) + 2.326 * (2 / (9 * free)) ** 0.5) ** 3
    return ((counts - expected) ** 2).sum() / expected < limit


def filled(count=60, **options):
    memory = RingMemory(FIELDS, **{"capacity": 100, **options})
    memory.add(**experiences(count))
    return memory


@pytest.mark.parametrize("count, size", [(3, 2), (60, 37), (230, 100)])
def test_draws_are_uniform(count, size):
    """Chi square over 100 draws an experience; a batch may have one twice."""
    memory = filled(count)
    fill, drawn = len(memory), []
    for _ in range(100 * fill // size):
        batch = memory.sample(size)
        drawn.append(batch["indexes"])
        for name, values in memory.get_all_transitions().items():
            np.testing.assert_array_equal(batch[name], values[batch["indexes"]])
        assert batch["weights"].dtype == np.float32 and (batch["weights"] == 1).all()
        assert batch["indexes"].dtype == np.int64
    counts = np.bincount(np.concatenate(drawn), minlength=fill)
    assert len(counts) == fill and uniform(counts)
    assert any(len(set(each)) < size for each in drawn)


@pytest.mark.parametrize("size, limit", [(3, 9.210), (100, 134.642)])
def test_the_judge_of_uniform(size, limit):
    """By the limits that tables have."""
    for share, passes in ((0.99, True), (1.01, False)):
        counts = np.full(size, 100.0)
        counts[:2] += np.array([1, -1]) * (share * limit * 100 / 2) ** 0.5
        assert uniform(counts) == passes


@pytest.mark.parametrize("kind", [RingMemory, TreeMemory])
def test_records_with_gaps_are_stored(kind):
    """Every other one of an array, or one of its fields, by a memory's own ``insert`` too."""
    plain, gaps, direct = (kind(FIELDS, capacity=100) for _ in range(3))
    plain.add(**experiences(9))
    records = plain.records_of(experiences(9))
    pairs = np.zeros(9, [("number", np.int64), ("experience", plain.dtype)])
    pairs["experience"] = records
    gaps.step(np.repeat(records, 2)[::2])
    direct.insert(np.repeat(records, 3)[::3][:4])
    direct.insert(pairs["experience"][4:])
    for memory in (gaps, direct):
        equal(memory.state_dict(), plain.state_dict())


def test_draws_are_independent():
    """Of each other: pairs of one batch are uniform, too."""
    memory = filled(4, seed=2)
    pairs = np.concatenate([memory.sample(4)["indexes"].reshape(2, 2) for _ in range(2000)])
    assert uniform(np.bincount(4 * pairs[:, 0] + pairs[:, 1], minlength=16))


def test_seeds():
    one, two, three = (filled(seed=seed).sample(50) for seed in (1, 1, 2))
    equal(one, two)
    assert (one["indexes"] != three["indexes"]).any()


def test_priorities_have_no_effect():
    """Nor alpha, epsilon, strata, or what an experience brings."""
    plain = filled()
    told = filled(alpha=1.0, epsilon=0.5, stratified=True)
    told.set_priorities(np.arange(60), np.arange(60))
    told.update_priorities([3], [1e5])
    plain.add(**experiences(5, 60))
    told.add(**experiences(5, 60), priorities=np.zeros(5))
    equal(plain.sample(64, 0.0), told.sample(64, 1.0))
    assert (told.priorities() == 1 << 16).all() and len(told.priorities()) == 65
    assert told.priorities().dtype == np.uint32


def test_bad_calls_are_refused_and_change_nothing():
    """As those of a prioritized memory, in the same words."""
    memory = filled()
    state = memory.state_dict()
    for method, arguments, message in bad_calls(most=100):
        with pytest.raises(ValueError, match=f"^.*{message}"), np.errstate(over="ignore"):
            call = getattr(memory, method)
            call(**arguments) if isinstance(arguments, dict) else call(*arguments)
    equal(memory.state_dict(), state)
    with pytest.raises(ValueError, match=r"^capacity must be an integer in 2\.\.16777216, not 1$"):
        RingMemory(FIELDS, 1)


def test_a_cleared_memory_goes_on_drawing():
    memory, fresh = filled(seed=3), RingMemory(FIELDS, 100, seed=3)
    memory.clear()
    assert len(memory) == memory.position == 0
    for each in (memory, fresh):
        each.add(**experiences(5))
    equal(memory.sample(5), fresh.sample(5))
