"""host.replay.buffer_state: all of a replay memory at once, under the names that cpprb's users
know."""

import numpy as np
import pytest
from replay.kernels import NARROW, WIDE, opened

from host.programs.launcher import CommandError
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.replay.commands import COMMANDS, Opcode
from hw.replay.records import REPLAY_ERRORS, Error
from tests.host.replay_buffers import CARDS, equal, experiences, filled, make


@CARDS
@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 17])
def test_size_and_all_transitions(card, count):
    """By index: beyond the end, the newest lie first."""
    with opened(card, WIDE) as kernel:
        own = make(kernel, capacity=10)
        for begin, end in ((0, min(count, 7)), (7, count)):
            if end > begin:
                own.add(**experiences(end - begin, begin))
        fill = min(count, 10)
        assert own.get_stored_size() == len(own) == fill
        assert own.is_full() == (count >= 10)
        everything = own.get_all_transitions()
        kept = sorted(range(count - fill, count), key=lambda k: k % 10)
        equal(everything, {name: values[kept] for name, values in experiences(count).items()})
        if fill:
            batch = own.sample(fill)
            for name, values in everything.items():
                np.testing.assert_array_equal(batch[name], values[batch["indexes"]])


@CARDS
def test_clear(card):
    """As new, but for the generator, which goes on: the same draws as of a buffer that never held
    the others."""
    with opened(card, WIDE) as kernel, opened(card, WIDE) as other:
        own, fresh = filled(kernel, 60, seed=4), make(other, seed=4)
        own.clear()
        assert len(own) == 0 and not own.is_full() and own.priorities().size == 0
        with pytest.raises(ValueError, match=r"at most the fill \(0\), not 1"):
            own.sample(1)
        for each in (own, fresh):
            each.add(**experiences(5))
        equal(own.state_dict(), fresh.state_dict())
        equal(own.sample(5), fresh.sample(5))
        own.sample(5)
        own.clear()
        own.add(**experiences(5))
        assert (own.state_dict()["random"] != fresh.state_dict()["random"]).any()


@pytest.mark.parametrize("size", [1, 200, 600, 1 << 24])
def test_however_much_is_read_at_a_time(monkeypatch, size):
    with opened("model", WIDE) as kernel:
        own = filled(kernel, 17)
        monkeypatch.setattr("host.replay.buffer_state._PART_BYTES", size)
        everything = own.get_all_transitions()
        equal(everything, experiences(17))


def test_a_state_through_a_file(tmp_path):
    with opened("model", WIDE) as kernel, opened("model", WIDE) as other:
        own, twin = filled(kernel, 60, seed=4), make(other)
        np.savez(tmp_path / "replay.npz", **own.state_dict())
        with np.load(tmp_path / "replay.npz") as state:
            twin.load_state_dict(state)
        equal(own.state_dict(), twin.state_dict())
        equal(own.sample(30), twin.sample(30))


@pytest.mark.parametrize("change", [dict(alpha=0.5), dict(epsilon=0.01), dict(stratified=False)])
def test_states_of_other_options_are_refused(change):
    """They say what the priorities mean, and which batch is next."""
    with opened("model", WIDE) as kernel, opened("model", WIDE) as other:
        state, (name,) = filled(kernel).state_dict(), change
        with pytest.raises(ValueError, match=f"^{name} must be that of this buffer"):
            make(other, **change).load_state_dict(state)


@pytest.mark.parametrize("count", [0, 59, 61])
def test_a_state_with_priorities_of_others_is_refused(count):
    """Before anything is changed."""
    with opened("model", WIDE) as kernel:
        own = filled(kernel, 60)
        state = own.state_dict()
        wrong = state | {"priorities": np.resize(state["priorities"], count)}
        with pytest.raises(ValueError, match=rf"must be one an experience \(60\), not {count}$"):
            own.load_state_dict(wrong)
        equal(own.state_dict(), state)


@pytest.mark.parametrize("epsilon, becomes", [(1e-6, "0"), (1e-8, "0"), (1e-5, "1.52588e-05")])
def test_an_epsilon_that_vanishes_is_told(epsilon, becomes):
    with opened("model", NARROW) as kernel:
        with pytest.warns(RuntimeWarning, match=f"2\\*\\*-16: {epsilon:g} becomes {becomes}$"):
            make(kernel, capacity=5, epsilon=epsilon)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 2**-16, 0.01, 0.5])
def test_an_epsilon_that_is_near_is_not(epsilon):
    with opened("model", NARROW) as kernel:
        make(kernel, capacity=5, epsilon=epsilon)


@pytest.mark.parametrize("name", ["weights", "indexes", "priorities", "td_errors"])
def test_names_that_a_batch_or_add_has(name):
    with (
        opened("model", NARROW) as kernel,
        pytest.raises(ValueError, match=f"not be called {name}"),
    ):
        PrioritizedReplayBuffer(kernel, {name: (np.float32, ())}, capacity=9)


def test_an_error_of_memory_says_what_it_left():
    insert, sample = (COMMANDS[opcode] for opcode in (Opcode.INSERT, Opcode.SAMPLE))
    error = CommandError(Error.AXI, REPLAY_ERRORS, 3, 0, insert.name, insert.doc)
    assert "An INSERT that memory fails leaves position and fill as they were" in str(error)
    assert "the same INSERT may be repeated" in str(error)
    assert "memory fails" not in str(
        CommandError(Error.AXI, REPLAY_ERRORS, 3, 0, "SAMPLE", sample.doc)
    )
    assert "memory fails" not in str(
        CommandError(Error.COUNT, REPLAY_ERRORS, 3, 0, "X", insert.doc)
    )
