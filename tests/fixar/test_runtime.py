"""host.fixar.fixar_replay on card ``model``: precision, states and noise, as a user sees them."""

import json

import numpy as np
import pytest
from fixar.kernels import SMALL, kernel_config, precision_of
from learner.modelled import DDPG, adam, equal, experiences, opened, weights
from learner.modelled import filled as filled_ddpg

from host import checkpoint
from host.cards import CardError
from host.fixar.fixar_replay import FixarReplay
from hw.fixar.precision import Precision, slots

ACTIVATIONS, ERRORS = slots(SMALL.learner)
#: Nothing is clipped, which would be told.
SHIFTS = dict(frame=9, activation=9, error=8)
HALF = precision_of(SMALL, "half", **SHIFTS)


@pytest.fixture
def buffer():
    with opened(SMALL, "fixar") as kernel:
        yield filled(kernel, SMALL)


def filled(kernel, config, seed=5):
    buffer = FixarReplay(kernel, capacity=40, seed=seed)
    buffer.initialize(weights(config))
    buffer.add(**experiences(config, 30))
    return buffer


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(activation_shifts=(1,) * (ACTIVATIONS - 1)), "activation_shifts must be 5 numbers"),
        (dict(activation_shifts=(0,) * 4 + (17,)), r"activation_shifts must be .* 0\.\.16, not 17"),
        (dict(activation_shifts=(-1,) * 5), r"activation_shifts must be .* in 0\.\.16, not -1"),
        (dict(error_shifts=(1,) * (ERRORS + 1)), "error_shifts must be 6 numbers, not 7"),
        (dict(error_shifts=(12,) + (0,) * 5), r"error_shifts must be .* in 0\.\.11, not 12"),
    ],
)
def test_precisions_that_the_kernel_does_not_have(buffer, values, message):
    buffer.set_precision(HALF)
    launches = buffer.launches
    with pytest.raises(ValueError, match=f"^{message}"):
        buffer.set_precision(Precision(activations=True, errors=True, **values))
    assert buffer.launches == launches and buffer.precision == HALF


def test_a_switch_that_fails_is_none(buffer, monkeypatch):
    """tests H12: ``precision`` is what the card has, also in a state, where FORMAT has failed."""
    buffer.set_precision(HALF)

    def fail(*_):
        raise CardError("memory must answer, not fail")

    with monkeypatch.context() as patched:
        patched.setattr(buffer.launcher, "run", fail)
        with pytest.raises(CardError):
            buffer.set_precision(Precision())
    assert buffer.precision == HALF and buffer.state_dict()["precision"] == HALF.to_json()


def test_a_new_buffer_has_full_precision(buffer):
    """Whatever the kernel's last user had switched to, and had it see."""
    seen = np.random.default_rng(1).normal(size=(20, 3))
    full = buffer.act(seen)
    buffer.learn(adam(1, 0.0), batch_size=16)
    buffer.set_precision(HALF)
    other = FixarReplay(buffer.launcher.kernel, capacity=40, takeover=True)
    assert other.precision == Precision() and (other.ranges[0][:, 0] > other.ranges[0][:, 1]).all()
    other.initialize(weights(SMALL))
    np.testing.assert_array_equal(other.act(seen), full)


def test_errors_are_half_only_with_activations():
    with pytest.raises(ValueError, match="^errors must be full where activations are, not half$"):
        Precision(errors=True)


def test_a_precision_is_what_acts_and_changes_nothing_stored(buffer):
    seen = np.random.default_rng(1).normal(size=(20, 3))
    before, full = buffer.store(), buffer.act(seen)
    buffer.set_precision(HALF)
    coarse = buffer.act(seen)
    assert (coarse != full).mean() > 0.3
    # A code is off by 2^8 * 2^-20 at most, a few of them by less than this.
    np.testing.assert_allclose(coarse, full, atol=2**-9)
    equal(buffer.store(), before)
    buffer.set_precision(Precision())
    np.testing.assert_array_equal(buffer.act(seen), full)


def test_ranges(buffer):
    """None at first; low, high of what was learned from; forgotten with ``clear`` alone."""
    none = [[(1 << 31) - 1, -(1 << 31)]]
    activations, errors = buffer.ranges
    assert activations.tolist() == none * ACTIVATIONS and errors.tolist() == none * ERRORS
    buffer.act(np.full((3, 3), 100))
    assert buffer.ranges[0].tolist() == none * ACTIVATIONS
    buffer.learn(adam(2, 0.01), batch_size=16)
    seen = np.concatenate(buffer.ranges)
    assert (seen[:, 0] <= seen[:, 1]).all() and (seen[1:ACTIVATIONS, 0] >= 0).all()
    buffer.set_precision(HALF)
    equal(np.concatenate(buffer.ranges), seen)
    buffer.set_precision(HALF, clear=True)
    assert np.concatenate(buffer.ranges).tolist() == none * (ACTIVATIONS + ERRORS)


@pytest.mark.parametrize("kind", ["mixed", "half"])
def test_a_state_goes_on_in_its_precision(tmp_path, kind):
    """Through a file, on a kernel that has computed in another."""
    with opened(SMALL, "fixar") as kernel, opened(SMALL, "fixar") as second:
        buffer, other = filled(kernel, SMALL), filled(second, SMALL, seed=1)
        buffer.set_precision(precision_of(SMALL, kind, **SHIFTS))
        buffer.learn(adam(3, 0.01), batch_size=16)
        other.set_precision(HALF if kind == "mixed" else Precision())
        other.learn(adam(2, 0.1), batch_size=16)
        state = buffer.state_dict()
        checkpoint.save(tmp_path / "a.npz", "training", {}, state)
        other.load_state_dict(checkpoint.load(tmp_path / "a.npz", "training")[1])
        assert other.precision == buffer.precision == precision_of(SMALL, kind, **SHIFTS)
        assert (other.ranges[0][:, 0] > other.ranges[0][:, 1]).all()
        equal(other.state_dict(), state)
        steps, new = adam(5, 0.01, first=4), experiences(SMALL, 10, seed=4)
        equal(*(b.learn(steps, batch_size=16, experiences=new)[:1] for b in (buffer, other)))
        equal(other.state_dict(), buffer.state_dict())
        seen = np.ones((3, 3))
        equal(*(b.act(seen, noise=0.1, seed=3) for b in (buffer, other)))


def test_states_of_others_are_refused(buffer):
    wider = kernel_config(observation=3, action=2, hidden=(8, 7), batch=16, side=4)
    state = buffer.state_dict()
    with opened(wider, "fixar") as kernel:
        other = filled(kernel, wider)
        before = other.state_dict()
        with pytest.raises(
            ValueError, match=r"^learner must be that of .*\[8,7\].*, not .*\[6,4\]"
        ):
            other.load_state_dict(state)
        equal(other.state_dict(), before)
    with opened(DDPG) as kernel:
        other = filled_ddpg(kernel, DDPG)
        with pytest.raises(ValueError, match="^learner must be that of this buffer"):
            other.load_state_dict(state)
        with pytest.raises(ValueError, match="^learner must be that of this buffer"):
            buffer.load_state_dict(other.state_dict())
    deep = Precision(activations=True, activation_shifts=(1,) * 7)
    with pytest.raises(ValueError, match="^activation_shifts must be 5 numbers, not 7"):
        buffer.load_state_dict({**state, "precision": deep.to_json()})
    with pytest.raises(ValueError, match="^errors must be full where activations are, not half"):
        buffer.load_state_dict({**state, "precision": json.dumps({"errors": True})})
    equal(buffer.state_dict(), state)


def test_noise(buffer):
    """Around what is done without, of the deviation asked for; the same with the same seed."""
    seen = np.zeros((4000, 3))
    still = buffer.act(seen[:1])
    noisy = buffer.act(seen, noise=0.01, seed=(1 << 64) - 1) - still
    assert abs(noisy.mean()) < 4 * 0.01 / np.sqrt(noisy.size)
    assert noisy.std() == pytest.approx(0.01, rel=0.05)
    equal(buffer.act(seen[:20], noise=0.01, seed=7), buffer.act(seen[:20], noise=0.01, seed=7))
    assert (
        buffer.act(seen[:20], noise=0.01, seed=8) != buffer.act(seen[:20], noise=0.01, seed=7)
    ).all()
    # Commands of one call have noise of their own.
    rows = buffer.act(seen[:32], noise=0.01, seed=np.uint64(7))
    assert (rows[:16] != rows[16:]).all()
    for none in (0, -0.0, 1e-60, np.float32(0)):
        equal(buffer.act(seen[:1], noise=none, seed=3), still)
    assert set(np.abs(buffer.act(seen[:50], noise=3e38)).ravel().tolist()) == {1.0}


@pytest.mark.parametrize("noise", [-1, -1e-60, np.nan, np.inf, -np.inf, 1e39, "0.1", None, [0.1]])
def test_noise_that_is_none(buffer, noise):
    launches = buffer.launches
    with pytest.raises(ValueError, match=r"^noise must be a number of at least 0 .*, not"):
        buffer.act(np.zeros((1, 3)), noise=noise)
    assert buffer.launches == launches


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, None, True])
def test_seeds_that_are_none(buffer, seed):
    launches = buffer.launches
    with pytest.raises(ValueError, match=r"^seed must be an integer in 0\.\.18446744073709551615"):
        buffer.act(np.zeros((1, 3)), noise=0.1, seed=seed)
    assert buffer.launches == launches
