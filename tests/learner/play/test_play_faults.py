"""The faults of PLAY and the commands around it, in the twin: each by name, and what stands."""

import numpy as np
import pytest
from learner.play.play_programs import bad_images, image
from learner.play.played import (
    BATCH,
    CONFIG,
    FRESH,
    LEARN,
    Begins,
    EndsAtOnce,
    Played,
    Runaway,
    playing,
    segments_of,
)

from hw.learner.commands import LearnOpcode
from hw.learner.play.commands import PlayOpcode
from hw.learner.play.play_contract import PLAY_SETTINGS, SAVED, PlayError, saved_words
from hw.learner.records import LearnError
from hw.replay.records import Error
from hw.shell.errors import ShellError

NONE = (0, 0)


def played(steps=20, config=CONFIG):
    kernel = Played(config)
    assert kernel.play(steps, LEARN | FRESH) == NONE
    return kernel


BAD = [
    ("period", 0), ("period", 1 << 16), ("iterations", 1 << 16), ("n", 0), ("n", 5),
    ("discount", (1 << 31) + 1), ("target_interval", 0),
]  # fmt: skip
#: fields whose rule compares them with another one
BESIDE = [
    ("end", dict(explore=5, end=6)),
    ("phase", dict(period=3, phase=3)),
    ("target_phase", dict(target_interval=2, target_phase=2)),
    ("window", dict(window=8)),
    ("period", dict(period=0, n=0, window=9)),
    ("n", dict(n=0, window=9)),
]


@pytest.mark.parametrize("name, own", [(name, {name: value}) for name, value in BAD] + BESIDE)
def test_settings(name, own):
    """The first field that is wrong; also with FRESH nothing has changed."""
    kernel = played()
    state, words = kernel.state, kernel.save()
    for flags in (LEARN, LEARN | FRESH, FRESH):
        refused = PlayError.SETTINGS, PLAY_SETTINGS.offsets[name]
        assert kernel.play(5, flags, settings=own) == refused
        assert kernel.state == state and (kernel.save() == words).all()


GOOD = dict(period=(1 << 16) - 1, iterations=(1 << 16) - 1, n=4, discount=1 << 31, window=7)
EDGES = [{name: value} for name, value in GOOD.items()]
EDGES += [dict(explore=7, end=7), dict(period=3, phase=2), dict(discount=0, scale=(1 << 32) - 1)]
EDGES += [dict(target_interval=(1 << 32) - 1, target_phase=(1 << 32) - 2), dict(goal=-(1 << 63))]


@pytest.mark.parametrize("own", EDGES)
def test_settings_at_their_limits(own):
    assert played().play(1, settings=own) == NONE


def test_n_and_the_capacity():
    """With LEARN all windows of all environments fit; the capacity is that of SETUP."""
    config = playing(environments=5, longest=12)
    kernel = Played(config)  # SETUP has 64
    assert kernel.play(1, LEARN | FRESH, settings=dict(n=12)) == NONE
    kernel = Played(config)
    kernel.core.replay._ring.capacity = 59
    refused = PlayError.SETTINGS, PLAY_SETTINGS.offsets["n"]
    assert kernel.play(1, LEARN | FRESH, settings=dict(n=12)) == refused
    assert kernel.play(1, FRESH, settings=dict(n=12)) == NONE


@pytest.mark.parametrize("fields, flags, error", [
    (dict(segments_=0), LEARN, (ShellError.FIELD, 36)),
    (dict(episodes=3), LEARN, (ShellError.FIELD, 40)),
    (dict(reports=5), 0, (ShellError.FIELD, 44)),
    (dict(destination=(1 << 16) - 64), LEARN, (ShellError.RESULTS, 0)),
    (dict(source=(1 << 16) - 64), LEARN, (ShellError.OPERANDS, 0)),
    (dict(batch=3), LEARN, (LearnError.BATCH, 0)),
])  # fmt: skip
def test_rules_of_the_command(fields, flags, error):
    kernel = played()
    state = kernel.state
    none = segments_of(CONFIG, [0])[: fields.pop("segments_", 1)]
    assert kernel.play(5, flags, segments=none, **fields) == error and kernel.state == state


def test_what_must_come_before():
    """A task, environments that have begun, parameters, experiences of the learner's size."""
    kernel = Played(ready=False)
    assert kernel.play(1, FRESH) == (LearnError.UNLOADED, 0)
    assert kernel.play(1, LEARN | FRESH) == (LearnError.RECORD, 0)
    kernel.setup()
    for code, fields in ((PlayOpcode.SAVE, {}), (PlayOpcode.RESUME, {})):
        assert kernel.run(code, **fields) == (PlayError.BEGUN, 0)
    assert kernel.play(1, FRESH) == (PlayError.BEGUN, 0)
    assert kernel.task() == NONE
    assert kernel.run(PlayOpcode.SAVE) == (PlayError.BEGUN, 0)
    assert kernel.play(1, 0) == (PlayError.BEGUN, 0)
    assert kernel.play(1, FRESH) == NONE and kernel.play(1, 0) == NONE
    kernel.core.missing = 0b0010
    assert kernel.play(1, LEARN) == (LearnError.UNLOADED, 0) and kernel.play(1, 0) == NONE
    assert kernel.task() == NONE and kernel.play(1, 0) == (PlayError.BEGUN, 0)


def test_task():
    """No task is loaded then; the generator is as before, and a right one is taken."""
    kernel = played()
    for words, wrong in bad_images():
        before = kernel.status["play_state"].copy()
        assert kernel.task(words=words, state=[1, 2, 3, 4]) == (PlayError.TASK, wrong)
        assert kernel.status["ready"] == 0
        np.testing.assert_array_equal(kernel.status["play_state"], before)
        assert kernel.play(1, FRESH) == (PlayError.BEGUN, 0)
        assert kernel.task() == NONE and kernel.play(1, FRESH) == NONE


def test_an_image_whose_longest_state_is_right():
    words, _ = image(STATE=32)
    words[0] |= 1 << 35  # a header's upper bits are not looked at
    raised = [word | 1 << 60 for word in words]
    assert Played().task(words=raised) == NONE


def test_sizes_of_the_task():
    kernel = Played()
    for name in ("observation", "actions"):
        command = dict(count=1, state=[0] * 4, shift=0, observation=4, actions=2) | {name: 3}
        with pytest.raises(ValueError, match=f"PROGRAM.{name} must be"):
            kernel.run(PlayOpcode.PROGRAM, **command)


def test_environment():
    """The vector step stands, with its experiences; the environment is named, and marked."""
    kernel = Played()
    assert kernel.task(Runaway) == NONE
    error, number = kernel.play(50, LEARN | FRESH, settings=dict(iterations=0, n=1))
    assert error == PlayError.ENVIRONMENT
    status = kernel.status
    assert status["clipped"] >> number & 1 and not status["clipped"] & ((1 << number) - 1)
    assert 0 < status["step"] < 9 and kernel.core.fill == 3 * status["step"]
    words = kernel.save()
    marked = int(status["clipped"])
    kernel.play(1, LEARN, settings=dict(iterations=0))
    assert int(kernel.status["clipped"]) & marked == marked, "marks stay"
    assert kernel.resume(words) == NONE and kernel.status["clipped"] == 0
    assert kernel.play(50, LEARN, settings=dict(iterations=0))[0] == PlayError.ENVIRONMENT
    assert kernel.status["clipped"] and kernel.task() == NONE and kernel.status["clipped"]
    assert kernel.play(1, LEARN | FRESH) == NONE and kernel.status["clipped"] == 0


def test_an_environment_that_begins_wrong():
    kernel = Played()
    assert kernel.task(Begins, seed=3) == NONE
    error, number = kernel.play(50, LEARN | FRESH)
    status = kernel.status
    assert error == PlayError.ENVIRONMENT and status["clipped"] >> number & 1
    assert (status["step"], status["ready"], kernel.core.fill) == (0, 3, 0)


def test_an_episode_that_begins_wrong_after_others():
    """As if its step had been wrong: the vector step stands, its experiences too."""
    kernel = Played()
    seed = next(seed for seed in range(9) if begins(kernel, seed))
    assert kernel.task(EndsAtOnce, seed=seed) == NONE
    error, number = kernel.play(99, LEARN | FRESH, settings=dict(iterations=0))
    status = kernel.status
    assert error == PlayError.ENVIRONMENT and status["clipped"] >> number & 1
    assert 0 < status["step"] < 99 and status["episodes"] == kernel.core.fill == 3 * status["step"]


def test_an_episode_that_ends_wrong():
    """Its last step leaves the format, the next episode begins right."""

    class EndsWrong(Runaway):
        def step(self, state, action, random):
            a, *rest = state
            return [a + 1.9, *rest], 1.0, True

    kernel = Played()
    assert kernel.task(EndsWrong) == NONE
    error, number = kernel.play(50, LEARN | FRESH, settings=dict(iterations=0))
    assert error == PlayError.ENVIRONMENT and kernel.status["clipped"] >> number & 1


def begins(kernel, seed):
    """Whether no environment begins wrong at first."""
    kernel.task(EndsAtOnce, seed=seed)
    kernel.core.stop = True
    begun = kernel.play(1, FRESH) == NONE
    kernel.core.stop = False
    return begun


def test_errors_of_iterations():
    """DIVERGED in the third: two stand, and their vector steps; FILL before as many are stored."""
    kernel = played(8)
    segments = segments_of(CONFIG, [1, 1, 0], rate=np.array([[0.01] * 2, [3e38] * 2, [0.01] * 2]))
    own = dict(period=1, iterations=3)
    error, _ = kernel.play(5, LEARN, segments=segments, settings=own)
    assert error == LearnError.DIVERGED
    assert kernel.core.iterations == 4 and kernel.status["step"] == 9
    kernel = Played()
    few = dict(starts=4, period=1, n=3)
    assert kernel.play(9, LEARN | FRESH, settings=few) == (Error.FILL, 0)
    assert kernel.core.iterations == 0 and 0 < kernel.core.fill < BATCH
    record = segments_of(CONFIG, [0])
    record["beta"] = 1 << 16
    assert played().play(9, LEARN, segments=record)[0] == ShellError.FIELD


@pytest.mark.parametrize("word, value, wrong", [
    (0, 0, 0), (0, 5, 0), (1, 8, 1), (2, (1 << 31) + 1, 2),
])  # fmt: skip
def test_saved(word, value, wrong):
    kernel = played()
    words = kernel.save()
    bad = words.copy()
    bad[word] = value
    assert kernel.resume(bad) == (PlayError.SAVED, wrong) and kernel.status["ready"] == 1
    assert kernel.play(1, LEARN) == (PlayError.BEGUN, 0)
    assert kernel.resume(words) == NONE and kernel.play(1, LEARN) == NONE


def test_saved_windows():
    """A count that is not below n, of the second environment."""
    kernel = played()
    words, sizes = kernel.save(), saved_words(CONFIG)
    begin = sum(sizes[name] for name in ("saved", "states", "observations", "running"))
    place = begin + sizes["windows"] // 3
    words[place] = 3
    assert kernel.resume(words) == (PlayError.SAVED, place) and kernel.status["ready"] == 1
    words[place] = 2
    assert kernel.resume(words) == NONE
    np.testing.assert_array_equal(kernel.save()[: SAVED.size // 4], words[: SAVED.size // 4])


def test_more_bits_than_are_held():
    """Sums of 48 bits and steps of 16 of an episode under way: SAVE gives what RESUME has taken."""
    kernel = played()
    words, sizes = kernel.save(), saved_words(CONFIG)
    begin = sum(sizes[name] for name in ("saved", "states", "observations"))
    words[begin : begin + 6] = 7, 0x1234_7FFF, 0x5_0003, 9, 0x1234_8000, 0xFFFF_FFFF
    assert kernel.resume(words) == NONE
    running = kernel.save()[begin : begin + 6]
    assert running.tolist() == [7, 0x7FFF, 3, 9, 0xFFFF_8000, 0xFFFF]


def test_save_needs_room():
    kernel = played()
    assert kernel.run(PlayOpcode.SAVE, destination=(1 << 16) - 64) == (ShellError.RESULTS, 0)
    assert kernel.run(PlayOpcode.RESUME, source=(1 << 16) - 64) == (ShellError.OPERANDS, 0)
    assert kernel.run(LearnOpcode.STORE, count=0, sets=1)[0] == LearnError.IMAGE


def test_a_segment_that_is_wrong():
    """The second of three, whose largest norm is 0: PLAY ends after the vector step that it
    follows, and the iterations before it stand."""
    config = playing(environments=2, clip_norm=True, batch=8)
    segments = segments_of(config, [2, 1, 0])
    segments["max_norm"][1] = 0, 1
    kernel, alone = Played(config), Played(config)
    refused = LearnError.STEP, segments.dtype.fields["max_norm"][1]
    assert kernel.play(40, LEARN | FRESH, segments=segments) == refused
    played = int(kernel.status["step"])
    assert alone.play(played - 1, LEARN | FRESH, segments=segments) == NONE
    assert kernel.status["iterations"] == alone.status["iterations"] == 2
    assert (kernel.core.learner.store() == alone.core.learner.store()).all()
