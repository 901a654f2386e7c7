"""host.replay.prioritized_buffer on the simulated cards: what a user of the buffer can see."""

import numpy as np
import pytest
from replay.kernels import NARROW, WIDE, kernel_config, opened

from host.replay.experience import record_dtype
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from tests.host.replay_buffers import CARDS, FIELDS, ONE, equal, experiences, filled, make


@CARDS
def test_ring_keeps_the_last(card):
    """Additions over the end, of exactly the capacity, and of more than it."""
    with opened(card, WIDE) as kernel:
        buffer, added = make(kernel, capacity=10), 0
        for count in (7, 7, 1, 10, 23):
            buffer.add(**experiences(count, added))
            added += count
            fill = min(added, 10)
            assert len(buffer) == fill
            batch = buffer.sample(fill)
            # All priorities are equal: one draw in each of ``fill`` strata is every experience.
            assert sorted(batch["indexes"]) == list(range(fill))
            assert sorted(batch["action"]) == list(range(added - fill, added))
            for name, values in experiences(added).items():
                np.testing.assert_array_equal(batch[name], values[batch["action"]])
                assert batch[name].dtype == FIELDS[name][0]


@CARDS
def test_new_experiences_have_the_highest_priority_so_far(card):
    with opened(card, NARROW) as kernel:
        buffer, one = make(kernel, capacity=30), 1 << NARROW.replay.priority_fraction
        buffer.add(**experiences(2))
        assert buffer.priorities().tolist() == [one, one]
        buffer.set_priorities([0], [2.5])
        buffer.add(**experiences(1))
        buffer.set_priorities([0, 2], [0.5, 0.25])  # the maximum is of all time
        buffer.add(**experiences(1))
        assert (buffer.priorities() / one).tolist() == [0.5, 1, 0.25, 2.5]


@CARDS
@pytest.mark.parametrize("alpha, epsilon", [(0.6, 1e-4), (1.0, 0.0), (0.0, 0.5)])
def test_priorities_are_the_formula(card, alpha, epsilon):
    """In float64; alpha, epsilon, |td| and the priority itself are fixed point."""
    with opened(card, WIDE) as kernel:
        buffer = make(kernel, alpha=alpha, epsilon=epsilon)
        buffer.add(**experiences(50))
        errors = np.concatenate([[0.0, -1.0, 40.0], np.random.default_rng(1).normal(size=47)])
        buffer.update_priorities(np.arange(50), errors)
        near = np.round(np.abs(errors) * ONE) / ONE + round(epsilon * 2**16) / 2**16
        expected = near ** (round(alpha * 2**15) / 2**15) * ONE
        expected = np.maximum(1, expected)  # at least one unit, so that it can be drawn
        np.testing.assert_allclose(buffer.priorities(), expected, rtol=1e-5, atol=1)


@CARDS
@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("stratified", [True, False])
def test_weights_are_the_formula(card, beta, stratified):
    """``(N P(i))**-beta`` over its maximum in the batch, in float64."""
    with opened(card, WIDE) as kernel:
        buffer = filled(kernel, stratified=stratified)
        raw = buffer.priorities().astype(float)
        for _ in range(3):
            batch = buffer.sample(32, beta)
            weights = (len(buffer) * raw[batch["indexes"]] / raw.sum()) ** -beta
            np.testing.assert_allclose(batch["weights"], weights / weights.max(), rtol=2**-15)
            assert batch["weights"].dtype == np.float32 and batch["weights"].max() == 1
            np.testing.assert_array_equal(batch["action"], batch["indexes"])


@CARDS
def test_step_updates_then_inserts_then_samples(card):
    """One launch equals three; what the update sets, the insert and the draws see."""
    with opened(card, WIDE) as kernel, opened(card, WIDE) as other:
        together, apart = filled(kernel), filled(other)
        indexes, errors = [3, 59, 3], [100.0, 0.25, 70.0]
        launches = together.launches + (card != "model")
        batch = together.step(experiences(5, 60), (indexes, errors), (64, 0.7))
        assert together.launches == launches
        apart.update_priorities(indexes, errors)
        apart.add(**experiences(5, 60))
        equal(batch, apart.sample(64, 0.7))
        assert together.step() is None and together.launches == launches
        equal(together.state_dict(), apart.state_dict())
        raw = together.priorities()
        # The last of equal indexes holds; the highest of all is the new ones'.
        assert raw[3] < raw[60] == raw[64] == raw.max()


@CARDS
def test_batches_of_a_list_are_drawn_one_after_the_other(card):
    """In one launch, of any sizes; as so many samples."""
    with opened(card, WIDE) as kernel, opened(card, WIDE) as other:
        together, apart = filled(kernel), filled(other)
        draws, launches = [(5, 0.7), (32, 0.0), (3, 1.0)], together.launches + (card != "model")
        batches = together.step(None, ([1, 2], [50.0, 9.0]), draws)
        assert together.launches == launches and len(batches) == 3
        apart.update_priorities([1, 2], [50.0, 9.0])
        for batch, draw in zip(batches, draws, strict=True):
            equal(batch, apart.sample(*draw))
        equal(together.state_dict(), apart.state_dict())
        assert len(together.step(experiences(1, 60), sample=[(61, 0.5)])) == 1, "with the new one"
        for draws in ([(5, 0.7), (62, 0.7)], [(5, 0.7), (5, 1.1)]):
            with pytest.raises(ValueError, match="^(batch_size|beta) must be "):
                together.step(sample=draws)


@CARDS
def test_strata_and_seeds(card):
    """Stratified draws are spread; equal seeds draw equally, others do not."""
    with opened(card, WIDE) as kernel:
        batches = []
        for seed, stratified in ((1, True), (1, True), (2, True), (1, False)):
            buffer = make(kernel, seed=seed, stratified=stratified)
            buffer.add(**experiences(64))
            buffer.set_priorities(np.arange(64), np.ones(64))
            batches.append(buffer.sample(32))
        equal(batches[0], batches[1])
        for batch in batches[::2]:
            np.testing.assert_array_equal(batch["indexes"] // 2, np.arange(32))
        assert (batches[0]["indexes"] != batches[2]["indexes"]).any()
        assert len(set(batches[3]["indexes"] // 2)) < 32


@CARDS
def test_zero_priority_is_never_drawn(card):
    with opened(card, WIDE) as kernel:
        buffer = filled(kernel)
        buffer.set_priorities(np.arange(60), np.arange(60) % 5 == 0)
        for _ in range(5):
            assert (buffer.sample(60)["indexes"] % 5 == 0).all()


@pytest.mark.parametrize(
    "saved, loaded", [("model", "model"), ("sim", "sim"), ("sim", "model"), ("model", "sim")]
)
def test_loaded_state_draws_the_same_batches(saved, loaded):
    """Across cards too; the buffer that loads has held other things before."""
    with opened(saved, WIDE) as kernel, opened(loaded, WIDE) as other:
        buffer = filled(kernel, 130, seed=8)
        buffer.sample(20)
        for error in (100.0, 0.1):  # the largest priority so far is nobody's now
            buffer.update_priorities([5], [error])
        state = buffer.state_dict()
        twin = filled(other, 10, seed=9)
        twin.load_state_dict(state)
        equal(twin.state_dict(), state)
        for k in range(5):
            update = (np.arange(k, 100), np.linspace(0, 2, 100 - k) * k)
            equal(*(b.step(experiences(7, 200 + k), update, (50, 0.5)) for b in (buffer, twin)))
        equal(twin.state_dict(), buffer.state_dict())


@CARDS
def test_empty_state(card):
    with opened(card, WIDE) as kernel:
        buffer = make(kernel)
        state = buffer.state_dict()
        assert len(buffer) == 0 and buffer.priorities().size == 0
        buffer.add(**experiences(3))
        buffer.load_state_dict(state)
        assert len(buffer) == 0
        equal(buffer.state_dict(), state)


def test_device_cycles_are_counted_where_there_are_any():
    with opened("sim", WIDE) as kernel:
        buffer = make(kernel)
        before = buffer.device_cycles
        buffer.add(**experiences(5))
        assert buffer.device_cycles > before > 0
    with opened("model", WIDE) as kernel:
        assert make(kernel).device_cycles is None


def test_record_dtype_is_whole_granules():
    dtype = record_dtype(FIELDS)
    assert dtype.itemsize == 32 and dtype.names == tuple(FIELDS)
    assert dtype.fields["done"][1] == 20
    assert record_dtype({"x": (np.uint8, (4095 * 16,))}).itemsize == 4095 * 16


def test_one_experience_at_a_time():
    """Without the first axis, as cpprb and torchrl take it: the same bytes as with it."""
    with opened("model", WIDE) as kernel, opened("model", WIDE) as other:
        singly, together = make(kernel), make(other)
        for k in range(7):
            one = {name: values[0] for name, values in experiences(1, k).items()}
            singly.add(**one, **({"priorities": 2.0} if k == 3 else {}))
            together.add(**experiences(1, k), **({"priorities": [2.0]} if k == 3 else {}))
        singly.step({"observation": [7, 7.5, -7], "action": 7, "done": False}, ([0], [1.0]))
        together.step(experiences(1, 7), ([0], [1.0]))
        equal(singly.state_dict(), together.state_dict())
        assert len(singly) == 8


def test_many_experiences_at_once():
    """70 000 of a granule are two INSERTs, of which the second has its own place in operands, and
    as many items two SETs and two UPDATEs."""
    count = 70_000
    with opened("model", kernel_config(512, capacity=1 << 17)) as kernel:
        own = PrioritizedReplayBuffer(kernel, {"x": (np.uint32, ())}, capacity=1 << 17)
        own.add(x=np.arange(count))
        assert len(own) == count
        own.set_priorities(np.arange(count), np.arange(count) % 200)
        np.testing.assert_array_equal(own.priorities() >> 16, np.arange(count) % 200)
        own.update_priorities(np.arange(count)[::-1], np.where(np.arange(count) < 10, 1e4, 0))
        raw = own.priorities()
        assert (np.flatnonzero(raw == raw.max()) == np.arange(count - 10, count)).all()
        batch = own.sample(60_000)
        np.testing.assert_array_equal(batch["x"], batch["indexes"])
        assert batch["indexes"].max() > 65_535
