"""The compiled loops of ``sim.model.replay`` against plain lists, and what keeps their indexes
inside the arrays: they look at no bounds themselves."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay.kernels import NARROW, WIDE, opened

from host.programs.launcher import CommandError, Launcher
from hw.replay.commands import Opcode
from hw.replay.config import ReplayConfig
from sim.model.replay.tree.loops import store, write_batch
from sim.model.replay.tree.manager import UNIFORM, ReplayManager

ONES = (1 << 64) - 1


class Memory:
    """A twin, and what it should hold."""

    def __init__(self, capacity, fanout):
        config = ReplayConfig(
            capacity=capacity, fanout=fanout, priority_width=8, priority_fraction=0
        )
        self.twin, self.limit = ReplayManager(config), config.priority_limit
        self.leaves, self.largest = [0] * capacity, 0

    def put(self, place, priority):
        self.leaves[place] = priority
        self.largest = max(self.largest, priority)

    def check(self):
        twin = self.twin
        assert twin.priorities.tolist() == self.leaves
        assert (twin.total, twin.maximum) == (sum(self.leaves), self.largest)
        ends = np.cumsum(self.leaves)
        targets = np.arange(0, sum(self.leaves), 7, dtype=np.uint64)
        expected = np.searchsorted(ends, targets, side="right")
        assert twin.find(targets)[0].tolist() == expected.tolist()


def operation(memory, rng):
    """A command on both: its answer, and that of the lists."""
    twin, limit, capacity = memory.twin, memory.limit, len(memory.leaves)
    ring = rng.choice([2, capacity, rng.randint(2, capacity)])  # the capacity of a SETUP
    begin, count = rng.choice([0, ring - 1, rng.randrange(ring)]), rng.randint(1, ring)
    fill = rng.choice([0, 1, capacity])
    values = rng.choices([0, 1, limit, limit + 1, 1 << 31, (1 << 32) - 1, 50], k=count)
    indexes = rng.choices([0, fill - 1 & ONES >> 32, fill, (1 << 32) - 1, 1 << 31], k=count)
    longer = np.full(2 * count + 6, 1, np.uint32)  # whole beats
    longer[: 2 * count] = np.array([indexes, values], np.uint32).T.reshape(-1)
    bits, saturated, invalid = (rng.choices([0, 1], k=count) for _ in range(3))
    found = [value % (limit + 1) for value in values]
    arrays = np.array(found), np.array(saturated, bool), np.array(invalid, bool)
    kind = rng.choice(["items", "updates", "enter items", "enter updates", "fill", "clear"])
    if kind == "clear":
        twin.clear()
        memory.leaves, memory.largest = [0] * capacity, 0
        return None, None
    if kind == "fill":
        twin.fill(begin, count, ring, found[0])
        for k in range(count):
            memory.put((begin + k) % ring, found[0])
        return None, None
    of_items = "items" in kind
    wrong = [value > limit for value in values] if of_items else invalid
    if kind.startswith("enter"):
        for k in range(count):
            priority = values[k] if of_items else found[k]
            memory.put((begin + k) % ring, 0 if wrong[k] else priority)
    else:
        wrong = [bad or index >= fill for bad, index in zip(wrong, indexes, strict=True)]
        for k in range(count):
            if not wrong[k]:
                memory.put(indexes[k], values[k] if of_items else found[k])
    first = list(map(bool, wrong)).index(True) if any(wrong) else -1
    clipped = sum(s and not w for s, w in zip(saturated, wrong, strict=True))
    answer = {
        "items": lambda: twin.set_items(longer, count, fill),
        "updates": lambda: twin.update_items(longer, fill, *arrays),
        "enter items": lambda: twin.enter_items(begin, ring, longer, count),
        "enter updates": lambda: twin.enter_updates(begin, ring, *arrays),
    }[kind]()
    return answer, first if of_items else (first, clipped)


@pytest.mark.parametrize("capacity, fanout", [(2, 2), (5, 4), (64, 64), (65, 64), (300, 4)])
def test_lists_of_items(capacity, fanout):
    """Rings that wrap, items at every limit, lists that end in what is no item."""
    memory, rng = Memory(capacity, fanout), random.Random(capacity)
    for number in range(400):
        answer, expected = operation(memory, rng)
        assert answer == expected, number
        memory.check()


@pytest.mark.parametrize("begin, count", [(0, 1), (4, 1), (2, 5), (4, 2), (0, 5)])
def test_records_in_a_ring(begin, count):
    """Five places of four words with three each: zeros fill the rest, and nothing else changes."""
    storage = np.full(24, 9, np.uint32)
    records = np.arange(100, 100 + 3 * count + 2, dtype=np.uint32)
    expected = storage.reshape(-1, 4).copy()
    for k in range(count):
        expected[(begin + k) % 5] = [*records[3 * k : 3 * k + 3], 0]
    store(storage, records, begin, count, 5, 4, 3)
    assert storage.reshape(-1, 4).tolist() == expected.tolist()
    # And back, the last place first; zeros fill the batch.
    out, places = (
        np.full(7 * count + 3, 9, np.uint32),
        [(begin + k) % 5 for k in range(count)][::-1],
    )
    priorities, weights = np.arange(count, dtype=np.uint64) + 50, np.arange(count, dtype=np.uint32)
    write_batch(out, storage, 4, 3, np.array(places), priorities, weights)
    rows = [[place, 50 + k, k, 0, *expected[place][:3]] for k, place in enumerate(places)]
    assert out.tolist() == [word for row in rows for word in row] + [0] * 3


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, ONES), min_size=4, max_size=4), st.integers(1, 40))
def test_any_state_goes_on_as_numpys(state, count):
    generator = np.random.SFC64(0)
    whole = generator.state
    whole["state"]["state"] = np.array(state, np.uint64)
    generator.state = whole
    twin = ReplayManager(ReplayConfig(capacity=4, fanout=2))
    twin.set([0, 1, 2, 3], [3, 5, 7, 1])
    twin.seed(state)
    fractions = [int(number) >> 16 for number in generator.random_raw(count)]
    expected = np.searchsorted([3, 8, 15, 16], [f * 16 >> 48 for f in fractions], side="right")
    assert twin.sample(count, stratum_width=UNIFORM)[0].tolist() == expected.tolist()
    assert twin.state == generator.state["state"]["state"].tolist()


def test_the_state_is_the_twins_own():
    """What seeded it, and what it showed, change nothing."""
    twin = ReplayManager(ReplayConfig(capacity=4, fanout=2))
    words = np.arange(4, dtype=np.uint64)
    twin.seed(words)
    words[:], shown = 9, twin.state
    shown[0] = 9
    assert twin.state == [0, 1, 2, 3]


@pytest.mark.parametrize("index", [-1, -4, -(1 << 62), 10, 1 << 62])
def test_no_leaf_outside(index):
    twin = ReplayManager(ReplayConfig(capacity=10, fanout=4))
    assert twin.set([index, 9], [5, 6]).tolist() == [True, False]
    assert twin.priorities.tolist() == [0] * 9 + [6] and twin.total == 6
    values, errors = twin.get([index, 9])
    assert values.tolist() == [0, 6] and errors.tolist() == [True, False]


# -- what stands before the loops: no launch reaches them with an index that is not inside


@pytest.fixture
def launch():
    with opened("model", NARROW) as kernel:
        pointers = {"storage": kernel.buffer("storage", 4096)}
        launcher = Launcher(kernel, pointers=pointers)
        begin = {"capacity": 20, "granules": 2, "priority": 5}
        launcher.run([(Opcode.SETUP, begin), (Opcode.INSERT, {"count": 7})], [(0, _bytes(224))])
        yield launcher


def _bytes(count):
    return np.ones(count, np.uint8)


def test_an_experience_begins_on_a_beat():
    """Experiences of 16 bytes where a beat has 64."""
    with opened("model", WIDE) as kernel:
        storage = kernel.buffer("storage", 4096)
        storage.view[:] = 7
        storage.to_device()
        launcher = Launcher(kernel, pointers={"storage": storage})
        begin = {"capacity": 20, "granules": 1, "priority": 5}
        records = np.arange(48, dtype=np.uint8)
        launcher.run([(Opcode.SETUP, begin), (Opcode.INSERT, {"count": 3})], [(0, records)])
        storage.from_device()
        places = storage.view[:256].reshape(4, 64)
        assert places[:3, :16].reshape(-1).tolist() == records.tolist()
        assert not places[:3, 16:].any() and (places[3] == 7).all()


@pytest.mark.parametrize(
    "opcode, fields, error",
    [
        (Opcode.INSERT, {"count": 21}, "count"),
        (Opcode.INSERT, {"count": 20, "source": 3584}, "operands"),
        (Opcode.INSERT, {"count": 9, "given": 1, "priorities": 4032}, "operands"),
        (Opcode.INSERT, {"count": 9, "given": 2, "priorities": 4032}, "operands"),
        (Opcode.SET, {"count": 9, "source": 4032}, "operands"),
        (Opcode.UPDATE, {"count": 9, "source": 4032}, "operands"),
        (Opcode.GET, {"count": 9, "source": 4032}, "operands"),
        (Opcode.FIND, {"count": 9, "source": 4032}, "operands"),
        (Opcode.GET, {"count": 5, "destination": 4032}, "results"),
        (Opcode.SAMPLE, {"count": 2, "stratum_width": UNIFORM, "destination": 4032}, "results"),
        (Opcode.SAMPLE, {"count": 8, "stratum_width": UNIFORM}, "fill"),
        (Opcode.RESTORE, {"position": 20, "fill": 20, "maximum": 0}, "restore"),
        (Opcode.RESTORE, {"position": 21, "fill": 21, "maximum": 0}, "restore"),
        (Opcode.SETUP, {"capacity": 37, "granules": 8, "priority": 5}, "buffer"),
    ],
    ids=str,
)
def test_refused_before_a_loop(launch, opcode, fields, error):
    before = launch.run([(Opcode.GET, {"count": 7})], [(0, _items(range(7)))], 112).tolist()
    storage, state = launch.pointers["storage"], launch.status.tobytes()
    storage.from_device()
    stored = storage.view.copy()
    with pytest.raises(CommandError, match=f"not {error}:"):
        launch.run([(opcode, fields)], [(0, _bytes(4096))], 4096)
    assert launch.status.tobytes() == state
    after = launch.run([(Opcode.GET, {"count": 7})], [(0, _items(range(7)))], 112).tolist()
    storage.from_device()
    assert after == before and storage.view.tolist() == stored.tolist()


def _items(indexes):
    items = np.zeros((len(indexes), 2), np.uint32)
    items[:, 0] = indexes
    return items


@pytest.mark.parametrize("size, program, operands", [
    ("storage_pages", [(Opcode.SETUP, {"capacity": 37, "granules": 8, "priority": 5}),
                       (Opcode.INSERT, {"count": 30})], 3840),
    ("operands_bytes", [(Opcode.SET, {"count": 1, "source": 1 << 24})], 64),
])  # fmt: skip
def test_a_buffer_that_is_smaller_than_the_launch_says(
    launch, monkeypatch, size, program, operands
):
    """The sizes that the table's checks go by are the launch's own: where they lie, the twin says
    so instead of writing beside the buffer."""
    real = launch.kernel.launch
    monkeypatch.setattr(launch.kernel, "launch", lambda **given: real(**given, **{size: 1 << 30}))
    with pytest.raises(IndexError, match="address must be inside a buffer"):
        launch.run(program, [(0, _bytes(operands))])
