"""LEARN and a memory that fails one answer: iterations stand or fall as a whole."""

import numpy as np
import pytest
from faults import EVERYWHERE, failed, shell_of
from later import later
from learner.fault_courses import NARROW, REAL, WIDE, Lesson, Trial, learner_status, swept

from hw.learner.records import LearnError
from hw.replay.records import Error

#: What the host's master reads for a LEARN of three iterations, in order: what, of which iteration,
#: in how many beats. HYPERPARAMETERS are fetched one ahead.
_WIDE_READS = [
    ("program", 0, 1), ("step", 0, 1), ("step", 1, 1), ("insert", 0, 2), ("step", 2, 1),
    ("insert", 1, 2), ("insert", 2, 2),
]  # fmt: skip
#: Experiences and a beat of priorities.
_NARROW_READS = [
    ("program", 0, 4), ("step", 0, 4), ("step", 1, 4), ("insert", 0, 6 + 1), ("step", 2, 4),
    ("insert", 1, 6 + 1), ("insert", 2, 6 + 1),
]  # fmt: skip
#: config, whether priorities are given, reads, beats of an experience, and how many of the answers
#: about batches are tried.
CASES = {
    "wide": (WIDE, False, _WIDE_READS, 1, 5),
    "narrow": (NARROW, True, _NARROW_READS, 3, 7),
    "real": (REAL, False, _WIDE_READS, 1, 9),
}


#: Every answer about a batch.
CASES |= {f"{name}, all": (*case[:-1], 1) for name, case in CASES.items()}


@pytest.fixture(
    scope="module", params=[later(name) if name.endswith(", all") else name for name in CASES]
)
def case(request):
    config, given, *sizes = CASES[request.param]
    return Trial(config, given), *sizes


def test_what_the_host_is_asked_for(case):
    """HYPERPARAMETERS, experiences, priorities: each beat of each."""
    trial, reads, _, _ = case
    assert trial.course.answers(1, "host", "R") == sum(beats for _, _, beats in reads)
    number = 0
    for what, iteration, beats in reads:
        for _ in range(beats):
            trial.check("host", "R", number, what, iteration)
            number += 1


def test_batches(case):
    """Nothing is learned from a batch of which a beat failed; the draw has been made."""
    trial, _, record_beats, stride = case
    batch = trial.lesson.fields["batch"] * record_beats
    assert trial.course.answers(1, "storage", "R") == 3 * batch
    for number in [*range(0, 3 * batch, stride), 3 * batch - 1]:
        trial.check("storage", "R", number, "batch", number // batch)


def test_writes_of_experiences(case):
    """The first insert is over the end of the ring: two writes."""
    trial, *_ = case
    assert trial.course.answers(1, "storage", "B") == 4
    for number, iteration in enumerate([0, 0, 1, 2]):
        trial.check("storage", "B", number, "insert", iteration)


def test_writes_of_reports(case):
    """All iterations have learned and stored."""
    trial, *_ = case
    assert trial.course.answers(1, "host", "B") == 3 + 1  # and the status
    for number in range(3):
        trial.check("host", "B", number, "report", number)


@pytest.mark.parametrize(
    "config, error, fields",
    [
        (WIDE, LearnError.NUMBER, dict(discount=np.nan)),
        (NARROW, LearnError.NUMBER, dict(discount=np.nan)),
        (NARROW, LearnError.DIVERGED, dict(reward=np.uint32(0x7F00_0000).view(np.float32))),
    ],
    ids=["wide", "narrow", "diverged"],
)
def test_axi_wins_over_what_a_failed_batch_holds(config, error, fields):
    """LEARN refuses every experience; where it trains on them, also hyperparameters that it does
    not need yet fail beside it."""
    lesson = Lesson(config)
    course = lesson.course(lesson.before(**fields), lesson.learn(0, 3), lesson.after()[0])
    assert shell_of(course.twin(*course.launches)[1])["error"] == error
    second_step = 2 * 64 // config.engine.beat_bytes  # behind the program and the first
    last = course.answers(1, "storage", "R") - 1
    ports = [("storage", "R", 0), ("storage", "R", last)]
    if error == LearnError.DIVERGED:
        ports.append(("host", "R", second_step))
    for port in ports:
        outputs = course.fail(1, *port)
        failed(outputs[1], 0, port)
        assert learner_status(outputs[1])["iterations"] == 0
        assert shell_of(outputs[2])["error"] == error


def test_axi_wins_over_a_bad_priority():
    """Of the list of an insert inside LEARN."""
    lesson = Lesson(NARROW, given=True)
    lesson.priorities["value"] = 0xFFFF_FFFF
    course = lesson.course(lesson.before(), lesson.learn(0, 1))
    assert shell_of(course.twin(*course.launches)[1])["error"] == Error.PRIORITY
    # Program, STEP, experiences.
    failed(course.fail(1, "host", "R", 4 + 4 + 6)[1], 0, "list")


@pytest.mark.parametrize("stride", [19, pytest.param(1, marks=pytest.mark.long)])
def test_nothing_is_left_over(stride):
    """Whichever answer fails: the next launch of the same program is as if it were the first."""
    assert swept(REAL, 3, stride) == EVERYWHERE
