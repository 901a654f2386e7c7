"""LOAD and STORE and a memory that fails one answer: sets are there as a whole, or not at all."""

import numpy as np
import pytest
from faults import assert_same, failed, shell_of
from learner.core_programs import without_clocks
from learner.fault_courses import (
    AT_ONCE,
    NARROW,
    REAL,
    WIDE,
    Lesson,
    learner_status,
)
from replay.programs import status_of

from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import sections
from hw.learner.records import LearnError
from hw.replay.records import Error

_SETS = {
    0b0001: PARAMETER_SETS[:1],
    0b0101: PARAMETER_SETS[:3:2],
    0b1010: PARAMETER_SETS[1::2],
    0b1111: PARAMETER_SETS,
}


def of_sets(lesson, sets, image):
    """The part of an image of every set that is that of ``sets``."""
    numbers = lesson.images[image]
    every = sections(lesson.config.learner)
    parts = [
        numbers[s.offset // 4 : (s.offset + s.size) // 4]
        for s in every
        if s.parameter_set in _SETS[sets]
    ]
    return np.concatenate(parts)


def load(lesson, sets, image):
    program = lesson.program()
    program.load(of_sets(lesson, sets, image), sets)
    return program.launch()


def store(lesson, sets):
    program = lesson.program()
    lesson.source.store(program, sets)
    return program.launch()


def stored(outputs, lesson, sets):
    return outputs["results"][: lesson.source.image(sets)].view(np.uint32)


@pytest.mark.parametrize("card", ["sim", "model"])
@pytest.mark.parametrize("config", [WIDE, REAL], ids=["wide", "real"])
def test_nothing_is_learned_before_the_first_load(card, config):
    """Nor stored; each kind counts by itself."""
    lesson = Lesson(config)
    refused = LearnError.UNLOADED
    program = lesson.program()
    lesson.begin(program)
    launch = program.launch()
    launch.program = launch.program[:-1]  # all but the LOAD
    launches = [
        (launch, Error.NONE, 0b0000),
        (lesson.learn(0, 1), refused, 0b0000),
        (store(lesson, 0b0001), refused, 0b0000),
        (load(lesson, 0b0101, 0), Error.NONE, 0b0101),
        (lesson.learn(0, 1), refused, 0b0101),
        (store(lesson, 0b1111), refused, 0b0101),
        (store(lesson, 0b0101), Error.NONE, 0b0101),
        (load(lesson, 0b1010, 0), Error.NONE, 0b1111),
        (lesson.learn(0, 1), Error.NONE, 0b1111),
    ]
    with lesson.course().opened(card) as kernel:
        rig = lesson.course().rig(kernel)
        for number, (launch, error, loaded) in enumerate(launches):
            outputs = rig.run(launch)
            assert shell_of(outputs)["error"] == error, number
            status = learner_status(outputs)
            assert status["loaded"] == loaded, number
            assert status["iterations"] == (number == len(launches) - 1)


@pytest.mark.parametrize(
    "config, stride", [(WIDE, 3), (NARROW, 11), (REAL, 7)], ids=["wide", "narrow", "real"]
)
def test_a_failed_load_leaves_its_sets_unloaded(config, stride):
    """The others are as before; another LOAD, and all is as if nothing had failed."""
    lesson, refused = Lesson(config), LearnError.UNLOADED
    after, reports = lesson.after()
    launches = [
        (lesson.before(), Error.NONE, 0b1111),
        (load(lesson, 0b0101, 1), Error.AXI, 0b1010),
        (lesson.learn(0, 1), refused, 0b1010),
        (store(lesson, 0b0001), refused, 0b1010),
        (store(lesson, 0b1111), refused, 0b1010),
        (store(lesson, 0b1010), Error.NONE, 0b1010),
        (load(lesson, 0b0001, 1), Error.NONE, 0b1011),
        (lesson.learn(0, 1), refused, 0b1011),
        (load(lesson, 0b0101, 1), Error.NONE, 0b1111),
        (after, Error.NONE, 0b1111),
    ]
    course = lesson.course(*(launch for launch, _, _ in launches))
    expected = course.twin(launches[0][0], launches[1][0], after)[-1]
    first = 64 // config.engine.beat_bytes
    beats = course.answers(1, "host", "R")
    assert (beats - first) * config.engine.beat_bytes == lesson.source.image(0b0101)
    for number in [*range(first, beats, stride), beats - 1]:
        outputs = course.fail(1, "host", "R", number)
        for position, (_, error, loaded) in enumerate(launches):
            label = number, position
            assert shell_of(outputs[position])["error"] == error, label
            assert learner_status(outputs[position])["loaded"] == loaded, label
        untouched = stored(outputs[5], lesson, 0b1010)
        np.testing.assert_array_equal(untouched, of_sets(lesson, 0b1010, 0))
        assert_same(without_clocks(outputs[-1], reports), expected, number)


@pytest.mark.parametrize("config", [WIDE, REAL], ids=["wide", "real"])
def test_a_load_that_was_not_read_loads_nothing(config):
    """A fault of the program itself: the sets are as before."""
    lesson = Lesson(config)
    course = lesson.course(lesson.before(), load(lesson, 0b1111, 1), store(lesson, 0b1111))
    outputs = course.fail(1, "host", "R", 0)
    failed(outputs[1], 0, "program")
    assert learner_status(outputs[1])["loaded"] == 0b1111
    np.testing.assert_array_equal(stored(outputs[2], lesson, 0b1111), lesson.images[0])


@pytest.mark.parametrize("config", [WIDE, NARROW, REAL], ids=["wide", "narrow", "real"])
def test_a_failed_store_leaves_the_parameters(config):
    """The next one brings them."""
    lesson = Lesson(config)
    after, reports = lesson.after()
    course = lesson.course(lesson.before(), store(lesson, 0b1111), after)
    expected = course.twin(*course.launches)[2]
    writes = course.answers(1, "host", "B") - 1  # and the status
    assert writes >= 1
    for number in range(writes):
        outputs = course.fail(1, "host", "B", number)
        failed(outputs[1], 0, number)
        assert learner_status(outputs[1])["loaded"] == 0b1111
        np.testing.assert_array_equal(stored(outputs[2], lesson, 0b1111), lesson.images[0])
        assert_same(without_clocks(outputs[2], reports), expected, number)


@pytest.mark.parametrize("memory", [AT_ONCE, {}], ids=["at once", "late"])
@pytest.mark.parametrize("config", [WIDE, NARROW, REAL], ids=["wide", "narrow", "real"])
def test_a_load_right_behind_a_store_loads(config, memory):
    """Of the first kind alone, after which the parameters' unit has the most left to do."""
    lesson = Lesson(config)
    program = lesson.program()
    lesson.begin(program)
    lesson.source.store(program, 0b0001)
    program.load(lesson.images[1], 0b1111)
    lesson.source.store(program, 0b1111)
    course = lesson.course(program.launch(), **memory)
    (outputs,), (expected,) = course.run(), course.twin(program.launch())
    assert_same(outputs, expected, "both")
    assert status_of(outputs["status"])[0]["executed"] == len(program)
    begin = -(-lesson.source.image(0b0001) // 64) * 64
    numbers = outputs["results"][begin:][: lesson.source.image(0b1111)].view(np.uint32)
    np.testing.assert_array_equal(numbers, lesson.images[1])
