"""host.replay.tree_memory: its batches are those of the card's buffer, byte for byte, whatever is
done; and on card model those by programs."""

import warnings

import numpy as np
import pytest
from replay.kernels import WIDE, kernel_config, opened

from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.replay.tree_memory import TreeMemory
from tests.host.replay_buffers import FIELDS, equal, experiences, make

CAPACITY = 37


def same(one, other):
    """Batches, or lists of them, or None: equal in names, types and bytes."""
    assert type(one) is type(other)
    if isinstance(one, list):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            same(*pair)
    elif one is not None:
        assert list(one) == list(other)
        for name in one:
            assert one[name].dtype == other[name].dtype and one[name].flags.c_contiguous
            assert one[name].tobytes() == other[name].tobytes(), name


def same_states(card, tree):
    """But for what says of which memory a state is."""
    states = card.state_dict(), tree.state_dict()
    for state, name in zip(states, ("config_hash", "memory"), strict=True):
        del state[name]
    assert sorted(states[0]) == sorted(states[1])
    equal(*states)


#: How a caller may have the indexes and TD errors of an update: as the ring takes them at once, and
#: as they are looked at again.
FORMS = [
    lambda indexes, errors: (indexes, errors.astype(np.float32)),
    lambda indexes, errors: (indexes, errors),
    lambda indexes, errors: (indexes.astype(np.uint8), errors),
    lambda indexes, errors: (indexes.tolist(), errors.tolist()),
    lambda indexes, errors: (np.repeat(indexes, 2)[::2], np.broadcast_to(errors, errors.shape)),
    lambda indexes, errors: (indexes.astype(">i8"), errors.astype(">f8")),
]


def any_step(rng, fill, first):
    """``(arguments, options)`` of a ``step`` at random, on a memory that holds ``fill``."""
    arguments, options = [None, None, None], {}
    if fill and rng.random() < 0.6:
        count = int(rng.integers(0, 12))
        errors = rng.normal(size=count) * rng.choice([0, 1e-6, 1, 1e3, 1e9])
        arguments[1] = FORMS[rng.integers(len(FORMS))](rng.integers(fill, size=count), errors)
    if not fill or rng.random() < 0.5:
        count = int(
            rng.choice([0, 1, 2, 7, CAPACITY, CAPACITY + 5], p=[0.1, 0.3, 0.3, 0.2, 0.05, 0.05])
        )
        arguments[0] = experiences(count, first)
        fill = min(fill + count, CAPACITY)
        kind = rng.integers(3)
        if kind == 1:
            options["priorities"] = rng.uniform(0.001, 255, count)
        elif kind == 2:
            options["td_errors"] = rng.normal(size=count) * rng.choice([1, 1e6])
    if fill and rng.random() < 0.7:
        draws = [(int(rng.integers(1, fill + 1)), float(rng.choice([0, 0.4, 1]))) for _ in range(3)]
        arguments[2] = draws[0] if rng.random() < 0.5 else draws[: rng.integers(1, 4)]
    return arguments, options


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    "fanout, options", [(4, dict(stratified=False)), (16, {}), (64, dict(alpha=1.0, epsilon=0.0))]
)
def test_a_thousand_steps_are_the_cards(fanout, options):
    """Updates, insertions and draws in any combination, wraps, repeated indexes, priorities and TD
    errors that are given, clipped ones, checkpoints in between."""
    rng, options = np.random.default_rng(fanout), dict(capacity=CAPACITY, seed=fanout) | options
    config = kernel_config(512, capacity=3000, fanout=fanout)
    with opened("model", config) as kernel, opened("model", config) as other:
        card = PrioritizedReplayBuffer(kernel, FIELDS, by_programs=True, **options)
        ring = PrioritizedReplayBuffer(other, FIELDS, **options)
        tree = TreeMemory(FIELDS, fanout=fanout, **options)
        drawn, launches = 0, ring.launches
        for k in range(1000):
            arguments, given = any_step(rng, len(card), 3 * k)
            if k % 5 == 0 and arguments[1] and not (arguments[0] or arguments[2]):
                for memory in (card, ring, tree):
                    memory.update_priorities(*arguments[1])
                continue
            batches = [memory.step(*arguments, **given) for memory in (card, ring, tree)]
            same(*batches[:2])
            same(*batches[1:])
            drawn += batches[0] is not None
            assert len(card) == len(ring) == len(tree) and card.status == ring.status
            if k % 100 == 50:
                assert ring.launches == launches and card.launches > k / 2
                raw = rng.uniform(0, 255, len(card))
                for memory in (card, ring, tree):
                    memory.set_priorities(np.arange(len(card)), raw)
                launches = ring.launches
            if k % 250 == 125:
                same_states(card, tree)
                equal(card.state_dict(), ring.state_dict())
                state, tree = tree.state_dict(), TreeMemory(FIELDS, **options)
                tree.step(experiences(9), sample=(3, 0.5))
                tree.load_state_dict(state)
                card.load_state_dict(ring.state_dict())
                ring.load_state_dict(card.state_dict())
                launches = ring.launches
            if k % 400 == 399:
                card.clear(), ring.clear(), tree.clear()
                launches = ring.launches
        assert drawn > 400
        same_states(card, tree)
        equal(card.state_dict(), ring.state_dict())
        same(ring.get_all_transitions(), tree.get_all_transitions())
        assert np.array_equal(ring.priorities(), tree.priorities())


@pytest.mark.parametrize("count", [1, 7, CAPACITY])
@pytest.mark.parametrize("begin", [0, CAPACITY - 1, CAPACITY - 3])
def test_states_meet(begin, count):
    """Of the ring and of programs: each takes up where the other stopped, on any place."""
    with opened("model", WIDE) as kernel:
        buffer = make(kernel, capacity=CAPACITY)
        buffer.add(**experiences(begin), td_errors=np.linspace(-3, 9, begin))
        states = []
        for first in (True, False):
            buffer.load_state_dict(states[0] if states else buffer.state_dict())
            states = states or [buffer.state_dict()]
            for k in range(4):
                buffer.by_programs = (k % 2 == 0) == first
                buffer.step(experiences(count, 50 * k), sample=(min(count, 9), 0.4))
                buffer.update_priorities(np.arange(count), np.arange(float(count)) * k)
            states.append(buffer.state_dict())
        equal(*states[1:])


def filled(kind=TreeMemory, **options):
    """A memory with 60 experiences of different priorities."""
    memory = kind(FIELDS, **{"capacity": 100, **options})
    memory.add(**experiences(60))
    memory.update_priorities(np.arange(60), np.linspace(-2, 3, 60))
    return memory


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(capacity=1), r"capacity must be an integer in 2\.\.16777216, not 1"),
        (dict(capacity=(1 << 24) + 1), r"capacity must be an integer in 2\.\.16777216, not 167.*"),
        (dict(capacity=9.0), r"capacity must be an integer in 2\.\.16777216, not 9\.0"),
        (dict(fanout=1), r"fanout must be an integer in 2\.\.64, not 1"),
        (dict(fanout=12), "fanout must be a power of two, not 12"),
        (dict(alpha=1.1), r"alpha must be in 0\.\.1, not 1\.1"),
        (dict(epsilon=1.0), r"epsilon must be in 0\.\.0\.999985, not 1\.0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        TreeMemory(FIELDS, **{"capacity": 9, **options})


def test_an_epsilon_that_vanishes_is_told():
    with pytest.warns(RuntimeWarning, match="1e-06 becomes 0$") as told:
        TreeMemory(FIELDS, 9, epsilon=1e-6)
    assert told[0].filename == __file__


def test_the_largest_capacity():
    """Nothing is written before it is used."""
    memory = TreeMemory({"x": (np.uint32, ())}, np.int64(1 << 24))
    memory.add(x=[7], priorities=[255.0])
    assert memory.sample(1)["x"].tolist() == [7] and memory.capacity == 1 << 24


def test_nothing_to_draw():
    """No random number is spent; what came before the draw stays."""
    memory = filled()
    memory.set_priorities(np.arange(60), np.zeros(60))
    state = memory.state_dict()
    with pytest.raises(ValueError, match="^priorities must not all be 0 in a memory that is drawn"):
        memory.sample(5)
    equal(memory.state_dict(), state)
    with pytest.raises(ValueError, match="^priorities must not all be 0"):
        memory.step(experiences(2), sample=(5, 0.4), priorities=[0, 0])
    assert len(memory) == 62


def test_clipped_ones_are_counted():
    """As the card counts them; a memory that is emptied begins again."""
    with opened("model", WIDE) as kernel:
        card, tree = make(kernel), TreeMemory(FIELDS, 100)
        for memory in (card, tree):
            memory.add(**experiences(5), td_errors=[1e6, 1, 2, -1e9, 0])
            memory.update_priorities([0, 1, 1], [1e5, 1e6, 1.0])
        assert tree.saturations == int(card.status["saturations"]) == 4
        card.clear(), tree.clear()
        assert tree.saturations == int(card.status["saturations"]) == 0


@pytest.mark.parametrize("where", ["programs", "ring", "tree"])
def test_many_clipped_ones_are_told_once(where):
    """Of all TD errors, also those of first priorities; a memory that is emptied begins again."""

    def given(count, clipped):
        return [1e9] * clipped + [1.0] * (count - clipped)

    with opened("model", WIDE) as kernel, warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = TreeMemory(FIELDS, 100)
        memory = tree if where == "tree" else make(kernel, by_programs=where == "programs")
        state = memory.state_dict()
        for begin in ("empty", "again", "restored"):
            for _ in range(2):
                memory.add(**experiences(100), td_errors=given(100, 1))
            memory.add(**experiences(9), priorities=np.ones(9))
            memory.update_priorities(np.arange(100), given(100, 1))
            with pytest.warns(RuntimeWarning, match="^priorities are saturated: 4 of 301 TD err"):
                memory.update_priorities([0], [1e9])
            memory.add(**experiences(5), td_errors=given(5, 5))
            assert memory.clipped_priorities == 9
            memory.clear() if begin == "empty" else memory.load_state_dict(state)
            assert memory.clipped_priorities == 0


@pytest.mark.parametrize("kept", [1, 64])
def test_weights_as_they_are_drawn(kept):
    """``(N P(i))**-beta``; ``step`` divides them by the largest of the batch."""
    one, other = (filled(seed=kept) for _ in range(2))
    drawn, batch = one.draw(kept % 60, 1 << 14), other.sample(kept % 60, 0.5)
    raw = one.priorities().astype(float)
    expected = (60 * raw[drawn.indexes] / raw.sum()) ** -0.5
    np.testing.assert_allclose(drawn.weights, expected, rtol=2**-15)
    assert (drawn.weights / drawn.weights.max()).tobytes() == batch["weights"].tobytes()
    assert drawn.records["action"].tolist() == batch["action"].tolist() == drawn.indexes.tolist()


@pytest.mark.parametrize("change", [dict(alpha=0.5), dict(capacity=99), dict(stratified=False)])
def test_states_of_other_options_are_refused(change):
    (name,) = change
    with pytest.raises(ValueError, match=f"^{name} must be that of this buffer"):
        filled(**change).load_state_dict(filled().state_dict())


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(priorities=np.ones(59, np.uint32)), r"priorities must be one an experience"),
        (dict(position=100), "position and experiences must be in a memory of 100, not 100 and 60"),
        (dict(position=-1), "position and experiences must be in a memory of 100, not -1 and 60"),
        (dict(memory="RingMemory"), "memory must be that of this buffer"),
    ],
)
def test_wrong_states_change_nothing(changes, message):
    memory = filled()
    state = memory.state_dict()
    with pytest.raises(ValueError, match=f"^{message}"):
        memory.load_state_dict(state | changes)
    equal(memory.state_dict(), state)


def test_a_state_through_a_file(tmp_path):
    """The largest priority of all time is in it."""
    memory, other = filled(seed=3), filled(seed=4)
    memory.update_priorities([5], [200.0])
    memory.update_priorities([5], [0.1])
    np.savez(tmp_path / "memory.npz", **memory.state_dict())
    with np.load(tmp_path / "memory.npz") as state:
        other.load_state_dict(state)
    for each in (memory, other):
        each.add(**experiences(3, 60))
    equal(memory.state_dict(), other.state_dict())
    equal(memory.sample(30), other.sample(30))
    assert memory.priorities()[62] == memory.priorities().max()


def test_it_stands_where_a_cards_buffer_stands():
    """Size, repr, the end of a ``with`` block; there are no clocks and no launch to give up."""
    with filled(capacity=60) as memory:
        assert memory.is_full() and memory.get_stored_size() == 60
        assert memory.device_cycles is None and memory.abort() is None
        assert repr(memory) == f"TreeMemory(capacity=60, fields={list(FIELDS)})"
        assert memory.step() is None and memory.step(sample=[]) == []


def test_arguments_that_the_ring_takes_at_once():
    """Among them a batch's own indexes, whose dtype is numba's; all others are looked at again."""
    memory = filled()
    for indexes in (memory.sample(9)["indexes"], memory.draw(9, 0).indexes, np.arange(9)):
        for errors in (np.ones(9, np.float32), np.ones(9)):
            assert memory.ring.takes(indexes, errors)
    indexes, errors = np.arange(9), np.ones(9)
    fixed = errors.copy()
    fixed.flags.writeable = False
    for other in (indexes.astype(np.int32), indexes.tolist(), indexes[::2], indexes[None]):
        assert not memory.ring.takes(other, errors)
    for other in (fixed, errors[None], np.ma.array(errors), errors.astype(">f8"), [1.0] * 9):
        assert not memory.ring.takes(indexes, other)
    for place, wrong in ((0, -1), (8, 60), (4, 1 << 40)):
        assert not memory.ring.takes(np.where(indexes == place, wrong, indexes), errors)
        for bad in (np.nan, np.inf, 1e300):
            assert not memory.ring.takes(indexes, np.where(indexes == place, bad, errors))


def test_saturated_priorities_are_told_once():
    """When they are more than 1 % of all TD errors: few are a training's outliers."""
    memory = TreeMemory({"x": (np.float32, ())}, capacity=256)
    memory.add(x=np.zeros(256))
    errors = np.ones(200)
    for largest, clipped in (([1e6], 1), ([3e5, 1e9, 1e6], 4)):  # 4 of 400
        errors[: len(largest)] = largest
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            memory.update_priorities(np.arange(200), errors)
        assert memory.clipped_priorities == clipped
    with pytest.warns(RuntimeWarning, match="^priorities are saturated: 5 of 401 TD errors"):
        memory.update_priorities([7], [1e6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory.update_priorities([7], [1e6])
