"""A kernel that plays, from Python, on card ``model``."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from learner.modelled import equal, kernel_config, opened, weights
from learner.play.played import segments_of

from host.play.playing_replay import PlayingReplay, _latest
from hw.environment.tasks.cartpole import CartPole
from hw.environment.tasks.mountain_car import MountainCar
from hw.environment.tasks.pendulum import Pendulum
from hw.learner.play.config import PlayConfig
from hw.learner.play.play_contract import SAVED
from hw.shell.control_map import STOP

SIZES = dict(observation=4, action=2, hidden=(6,), capacity=200)
CONFIG = replace(kernel_config("dqn", **SIZES), play=PlayConfig(environments=3, longest=4))
SETTINGS = dict(
    period=4, iterations=2, starts=8, n=3, discount=1 << 30, scale=1 << 30, explore=1 << 31,
    decrement=1 << 20, end=1 << 28, target_interval=3, step=0, phase=0, target_phase=0, window=0,
    goal=0,
)  # fmt: skip


def filled(kernel, seed=5, task=CartPole):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of epsilon
        buffer = PlayingReplay(kernel, capacity=200, seed=seed)
    buffer.initialize(weights(CONFIG))
    buffer.program(task, 500, 9)
    return buffer


def play(buffer, count, done, updates, **options):
    explore = int(buffer.status["explore"]) if done else SETTINGS["explore"]
    own = dict(step=done, phase=done % 4, target_phase=updates % 3, explore=explore)
    return buffer.play(
        count, SETTINGS | own, segments_of(CONFIG, [0]), batch_size=8, iterations=2 * count,
        fresh=not done, **options,
    )  # fmt: skip


def test_what_comes_back():
    """Every episode and report once, in order, whatever the launches."""
    with opened(CONFIG) as kernel, opened(CONFIG) as second:
        one, other = filled(kernel), filled(second)
        whole = play(one, 120, 0, 0, store=("online",))
        parts, done, updates = [], 0, 0
        for count in (1, 30, 49, 40):
            parts.append(play(other, count, done, updates))
            done, updates = done + parts[-1].steps, updates + len(parts[-1].reports)
        assert whole.steps == done == 120 and len(whole.reports) == updates == 58
        for name in ("episodes", "reports"):
            joined, all_of = (getattr(part, name) for part in parts), getattr(whole, name)
            assert b"".join(each.tobytes() for each in joined) == all_of.tobytes()
            assert len(all_of) > 3
        assert (np.diff(whole.episodes["step"].astype(int)) >= 0).all()
        assert whole.episodes["length"].sum() <= 360
        equal(whole.parameters, one.store(("online",)))
        assert parts[-1].parameters is None
        equal(one.state_dict(), other.state_dict())


def test_a_state_goes_on_to_the_bit():
    with opened(CONFIG) as kernel, opened(CONFIG) as second:
        one, other = filled(kernel), filled(second, seed=6)
        play(one, 50, 0, 0)
        play(other, 9, 0, 0)
        state = one.state_dict()
        other.load_state_dict(state)
        updates = int(one.status["iterations"])
        first = play(one, 60, 50, updates)
        # Epsilon and counts are the run's: PlayLearner keeps them.
        own = dict(step=50, phase=2, target_phase=updates % 3, explore=state["explore"])
        again = other.play(60, SETTINGS | own, segments_of(CONFIG, [0]), batch_size=8,
                           iterations=120)  # fmt: skip
        assert first.episodes.tobytes() == again.episodes.tobytes()
        for name in ("loss", "td", "value", "position"):
            np.testing.assert_array_equal(first.reports[name], again.reports[name])
        mine, its = one.state_dict(), other.state_dict()
        equal(mine, its)


def test_a_state_of_before_the_first_play():
    """Goes on to the bit, on a card that has played; nothing has begun."""
    with opened(CONFIG) as kernel, opened(CONFIG) as second:
        one, other = filled(kernel), filled(second)
        play(other, 9, 0, 0)
        state = one.state_dict()
        assert not state["play"].size
        other.program(CartPole, 500, 9)
        other.load_state_dict(state)
        first, again = (play(each, 40, 0, 0) for each in (one, other))
        assert first.episodes.tobytes() == again.episodes.tobytes() != b""
        equal(one.state_dict(), other.state_dict())


def test_a_fresh_play_counts_its_own_episodes():
    """After one that has left others, also others' places in a ring of as many."""
    with opened(CONFIG) as kernel:
        buffer = filled(kernel)
        before = play(buffer, 60, 0, 0, greedy=True).episodes
        found = play(buffer, 60, 0, int(buffer.status["iterations"])).episodes
        assert len(before) != len(found) == int(buffer.status["episodes"]) > 3
        assert (np.diff(found["step"].astype(int)) >= 0).all() and found["length"].all()


def test_counters_that_wrap_in_a_launch():
    """Steps and episodes of 32 bits."""
    with opened(CONFIG) as kernel:
        buffer, last = filled(kernel), (1 << 32) - 1
        buffer.program(CartPole, 4, 9)
        play(buffer, 4, 0, 0, learn=False)
        state = buffer.state_dict()
        state["play"][: SAVED.size // 4].view(SAVED.dtype)["episodes"] = last
        buffer.load_state_dict(state)
        settings = SETTINGS | dict(step=last, phase=0, explore=1 << 31)
        found = buffer.play(8, settings, segments_of(CONFIG, [0]), batch_size=8, iterations=0,
                            learn=False)  # fmt: skip
        assert found.steps == 8 and int(buffer.status["step"]) == 7
        assert found.episodes["step"].tolist() == [2] * 3 + [6] * 3
        assert int(buffer.status["episodes"]) == 5


def test_what_is_counted_of_iterations(monkeypatch):
    """A TD error for each sample, and the numbers that the last iteration has clipped so far."""
    errors, clipped = [], []
    monkeypatch.setattr(PlayingReplay, "_count_errors", lambda _, count: errors.append(count))
    monkeypatch.setattr(
        PlayingReplay, "_count_saturations", lambda _, counts: clipped.append(counts.tolist())
    )
    with opened(CONFIG) as kernel:
        buffer = filled(kernel)
        play(buffer, 1, 0, 0)
        assert errors == clipped == []
        run = PlayingReplay._played

        def played(*args):
            results, reports, parameters = run(*args)
            reports["saturations"] = np.arange(reports["saturations"].size).reshape(
                reports["saturations"].shape
            )
            return results, reports, parameters

        monkeypatch.setattr(PlayingReplay, "_played", played)
        reports = play(buffer, 27, 1, 0).reports
        assert len(reports) == 12 and errors == [96]
        assert clipped == [reports["saturations"][-1].tolist()]


def test_a_ring_of_one_episode():
    """REPORTs begin at a multiple of 64 bytes after it."""
    config = replace(CONFIG, play=PlayConfig(environments=1, longest=4))
    with opened(config) as kernel:
        buffer = filled(kernel)
        own = SETTINGS | dict(iterations=0)
        buffer.play(20, own, segments_of(CONFIG, [0]), batch_size=8, iterations=0, fresh=True)
        state = SETTINGS | dict(step=20, period=1)
        found = buffer.play(1, state, segments_of(CONFIG, [0]), batch_size=8, iterations=2)
        assert config.engine.beat_bytes < 64 and len(found.reports) == 2
        assert np.isfinite(found.reports["loss"]).all() and found.reports["loss"].min() > 0


def test_greedy_stores_nothing():
    with opened(CONFIG) as kernel:
        buffer = filled(kernel)
        played = play(buffer, 40, 0, 0, learn=False, greedy=True)
        assert len(buffer) == 0 and len(played.reports) == 0 and len(played.episodes) > 0


def test_the_limit_of_an_episode():
    with opened(CONFIG) as kernel:
        buffer = filled(kernel)
        buffer.program(CartPole, 7, 9)
        episodes = play(buffer, 29, 0, 0, learn=False).episodes
        assert episodes["length"].max() == 7 and len(episodes) == 12
        assert (episodes["end"] == 2).sum() >= 10


def test_stop():
    """Until it is cleared; a new buffer on the kernel clears it."""
    with opened(CONFIG) as kernel:
        buffer = filled(kernel)
        buffer.stop()
        assert play(buffer, 5, 0, 0).steps == 0
        buffer.close()
        assert play(filled(kernel), 5, 0, 0).steps == 5


def test_what_is_refused():
    with opened(CONFIG) as kernel:
        buffer = PlayingReplay(kernel, capacity=200, epsilon=0.01)
        with pytest.raises(ValueError, match="^task must be loaded first"):
            play(buffer, 1, 0, 0)
        for task, message in (
            (MountainCar, "observation must be 4 as in the kernel, not 2"),
            (Pendulum, "observation must be 4 as in the kernel, not 3"),
        ):
            with pytest.raises(ValueError, match=f"^{message}$"):
                buffer.program(task, 200, 1)
        with pytest.raises(
            ValueError, match=r"^limit must be an integer in 1\.\.65535, not 65536$"
        ):
            buffer.program(CartPole, 65_536, 1)
        buffer.initialize(weights(CONFIG))
        buffer.program(CartPole, 65_535, 1)
        with pytest.raises(ValueError, match="^play must be 464 words, not "):
            buffer.load_state_dict({"play": np.zeros(3, np.uint32)})
    with opened(kernel_config("dqn", **SIZES)) as kernel:
        with pytest.raises(ValueError, match="^kernel must be one that plays"):
            PlayingReplay(kernel, capacity=200)


def test_the_latest_of_a_ring():
    ring = np.arange(8)
    assert _latest(ring, 0, 3).tolist() == [0, 1, 2]
    assert _latest(ring, 6, 4).tolist() == [6, 7, 0, 1]
    assert _latest(ring, 2, 11).tolist() == [5, 6, 7, 0, 1, 2, 3, 4]
    assert _latest(ring, 5, 0).tolist() == []


def test_the_stop_bit_of_other_cards(monkeypatch):
    """A register, which is written before a launch, and while it is under way."""
    with opened(CONFIG) as kernel:
        filled(kernel).close()
        written, waits = [], []

        def wait(milliseconds):
            waits.append(len(written))
            kernel.stop(len(waits) < 3)
            return 4 if len(waits) == 4 else 8  # completed, or not yet

        run = SimpleNamespace(start=lambda: None, wait=wait, set_arg=lambda *_: None)
        monkeypatch.setattr(type(kernel), "twin", None)
        monkeypatch.setattr(kernel, "_run", run)
        handle = SimpleNamespace(write_register=lambda *words: written.append(words))
        monkeypatch.setattr(kernel, "_handle", handle)
        monkeypatch.setattr(kernel, "_set", lambda *_: None)
        kernel.launch(command_count=0)
        assert written == [(STOP.offset, 1), (STOP.offset, 0)] and waits == [0, 1, 1, 2]
        kernel.stop()
        del handle.write_register  # a card without
        waits.clear()
        kernel.launch(command_count=0)
        assert len(written) == 2
