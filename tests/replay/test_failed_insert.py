"""An INSERT that memory fails: nothing half written can be drawn, and it may be repeated."""

import numpy as np
import pytest
from faults import assert_same, failed, shell_of
from later import crossed
from replay.fault_courses import GRANULES, PROGRAM_BEATS, SLOW, course, launch_of, records
from replay.programs import Program, status_of

from hw.replay.commands import Opcode
from hw.replay.records import HEADER, Error

CAPACITY = 10
#: Where five experiences go from position 8 on, in two writes; the places that are left.
TOUCHED, LEFT = [8, 9, 0, 1, 2], [3, 4, 5, 6, 7]
LIST = [50, 60, 40, 30, 20]
WAYS = {
    "largest": {},
    "one priority": dict(priority=33),
    "priorities": dict(priorities=LIST),
    "TD errors": dict(td_errors=[0.1, -0.2, 0.3, 0.05, 0.15], alpha=1 << 15, epsilon=7),
}
#: Beats of 16 bytes: experiences of 48, then items of 8.
RECORD_BEATS, LIST_BEATS = 15, 3


def before(granules=GRANULES):
    """Ten places of priorities 10 to 19; the next experience goes to number 8."""
    one = Program(granules)
    one.setup(CAPACITY, granules, 7)
    one.raw(Opcode.SEED, state=[1, 2, 3, 4])
    one.insert(records(10, granules), priority=9)
    one.insert(records(8, granules, seed=2), priority=9)
    one.listed(Opcode.SET, [(place, 10 + place) for place in range(10)])
    return one.launch()


def insert(way, count=5, granules=GRANULES):
    return launch_of("insert", records(count, granules, seed=3), **WAYS[way])


def found():
    """Priorities, and what is found at every position of the mass that places 3 to 7 have."""
    one = Program(GRANULES)
    one.listed(Opcode.GET, range(CAPACITY))
    one.listed(Opcode.FIND, range(13 + 14 + 15 + 16 + 17))
    return one.launch()


def drawn():
    one = Program(GRANULES)
    one.listed(Opcode.GET, range(CAPACITY))
    one.sample(10, beta=1 << 15)
    return one.launch()


def headers(outputs, count, offset=0, size=HEADER.size):
    raw = outputs["results"][offset : offset + count * size].reshape(count, size)
    return np.ascontiguousarray(raw[:, : HEADER.size]).view(HEADER.dtype)[:, 0]


def assert_undone(outputs, label):
    """``outputs`` of ``found``: as before, but that the touched places have priority 0."""
    shell, status = shell_of(outputs), status_of(outputs["status"])[1]
    assert shell["error"] == Error.NONE, label
    assert (status["position"], status["fill"], status["total"]) == (8, 10, 75), label
    expected = [0, 0, 0, 13, 14, 15, 16, 17, 0, 0]
    assert headers(outputs, CAPACITY)["priority"].tolist() == expected, label
    records_ = headers(outputs, 75, 192, HEADER.size + 16 * GRANULES)
    assert np.bincount(records_["index"]).tolist() == [0, 0, 0, 13, 14, 15, 16, 17], label


def answers_of(way, faulty):
    """Every answer of the INSERT but those to the program and of the status."""
    listed = LIST_BEATS if way in ("priorities", "TD errors") else 0
    assert faulty.answers(1, "host", "R") == PROGRAM_BEATS + RECORD_BEATS + listed
    assert faulty.answers(1, "storage", "B") == 2
    for beat in range(RECORD_BEATS + listed):
        yield "host", "R", PROGRAM_BEATS + beat
    yield "storage", "B", 0  # up to the end of the ring
    yield "storage", "B", 1  # and from its beginning


@pytest.mark.parametrize("memory, way", crossed({"fast": {}, "slow": SLOW}, list(WAYS)))
def test_a_failed_insert_is_undone_and_may_be_repeated(way, memory):
    """Slow: the list's first items have their priorities when its last beat fails."""
    launches = [before(), insert(way), found(), insert(way), drawn()]
    faulty = course(*launches, **memory)
    inserted, after = faulty.twin(before(), insert(way), drawn())[1:]
    assert status_of(inserted["status"])[1]["position"] == 3
    for master, channel, number in list(answers_of(way, faulty))[:: 3 if memory else 1]:
        label = master, channel, number
        outputs = faulty.fail(1, master, channel, number)
        failed(outputs[1], 0, label)
        assert_undone(outputs[2], label)
        if way in ("largest", "one priority"):
            assert status_of(outputs[2]["status"])[1]["maximum"] == 19, label
        assert shell_of(outputs[3])["error"] == Error.NONE, label
        assert_same(outputs[3], inserted, label, ["storage", "status"])
        assert_same(outputs[4], after, label)


@pytest.mark.parametrize(
    "beat, maximum", [(RECORD_BEATS, 19), (RECORD_BEATS + 1, 60), (RECORD_BEATS - 1, 19)]
)
def test_the_largest_priority_may_have_risen(beat, maximum):
    """By items before the failure, as the command's description says; their places have 0."""
    faulty = course(before(), insert("priorities"), found(), **SLOW)
    outputs = faulty.fail(1, "host", "R", PROGRAM_BEATS + beat)
    failed(outputs[1], 0, beat)
    assert_undone(outputs[2], beat)
    assert status_of(outputs[2]["status"])[1]["maximum"] == maximum


def test_places_that_were_never_filled_stay_empty():
    """Eight of ten places, and an INSERT of five over the end: position and fill stay 8."""
    one = Program(GRANULES)
    one.setup(CAPACITY, GRANULES, 7)
    one.insert(records(8), priority=9)
    two = Program(GRANULES)
    two.listed(Opcode.GET, range(8))
    faulty = course(one.launch(), insert("largest"), two.launch())
    for master, channel, number in answers_of("largest", faulty):
        outputs = faulty.fail(1, master, channel, number)
        failed(outputs[1], 0, number)
        status = status_of(outputs[2]["status"])[1]
        assert (status["position"], status["fill"], status["total"]) == (8, 8, 45)
        assert headers(outputs[2], 8)["priority"].tolist() == [0, 0, 0, 9, 9, 9, 9, 9]


@pytest.mark.parametrize("count, undone", [(1, [8]), (2, [8, 9]), (10, range(10))])
def test_as_many_places_as_the_command_has(count, undone):
    """One, to the end of the ring, the whole ring; of experiences without bytes, by their list."""
    one = Program(0)
    one.listed(Opcode.GET, range(CAPACITY))
    launch = launch_of(
        "insert", np.zeros((count, 0), np.uint8), priorities=[50 + k for k in range(count)]
    )
    faulty = course(before(granules=0), launch, one.launch())
    for beat in range(-(-count // 2)):
        outputs = faulty.fail(1, "host", "R", PROGRAM_BEATS + beat)
        failed(outputs[1], 0, beat)
        expected = [0 if place in undone else 10 + place for place in range(CAPACITY)]
        assert headers(outputs[2], CAPACITY)["priority"].tolist() == expected
        assert status_of(outputs[2]["status"])[1]["position"] == 8
