"""LEARN of the kernel ``fixar`` and a memory that fails one answer: nothing is left over."""

import pytest
from faults import EVERYWHERE, failed
from fixar.kernels import SMALL, status_of
from learner.fault_courses import Lesson, Trial, swept

#: Beats of what the host's master reads for a LEARN of three iterations, in order. HYPERPARAMETERS
#: are fetched one ahead; two experiences are eight beats.
READS = [
    ("program", 0, 4), ("step", 0, 4), ("step", 1, 4), ("insert", 0, 8), ("step", 2, 4),
    ("insert", 1, 8), ("insert", 2, 8),
]  # fmt: skip
#: A batch's experiences, of four beats each.
BATCH = 4 * SMALL.learner.batch


def answers(quick):
    """``(master, channel, number, what, iteration)``; where ``quick`` one of each kind."""
    number = 0
    for what, iteration, beats in READS:
        for beat in range(0, beats, beats if quick else 1):
            yield "host", "R", number + beat, what, iteration
        number += beats
    for beat in [0, BATCH, 3 * BATCH - 1] if quick else range(3 * BATCH):
        yield "storage", "R", beat, "batch", beat // BATCH
    for place in range(3):
        yield "host", "B", place, "report", place


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.long)])
def test_an_iteration_stands_or_falls(quick):
    """What was reported is of iterations that are whole; what comes after goes on from them."""
    trial = Trial(SMALL, False)
    assert trial.course.answers(1, "host", "R") == sum(beats for _, _, beats in READS)
    assert trial.course.answers(1, "storage", "R") == 3 * BATCH
    for answer in answers(quick):
        trial.check(*answer)


@pytest.mark.parametrize("stride", [67, pytest.param(1, marks=pytest.mark.long)])
def test_nothing_is_left_over(stride):
    """Whichever answer fails: the next launch of the same program is as if it were the first. Only
    ranges stay, and what is counted since reset."""
    assert swept(SMALL, 2, stride) == EVERYWHERE


def test_a_batch_that_failed_is_in_no_range():
    """The first, of which a beat failed, and the second."""
    lesson = Lesson(SMALL)
    course = lesson.course(lesson.before(), lesson.learn(0, 2))
    one = course.twin(lesson.before(), lesson.learn(0, 1))
    for beat, expected in ((BATCH // 2, one[0]), (BATCH + BATCH // 2, one[1])):
        outputs = course.fail(1, "storage", "R", beat)
        failed(outputs[1], 0, beat)
        found, expected = status_of(outputs[1]), status_of(expected)
        for kind in ("activation_ranges", "error_ranges"):
            assert found[kind].tolist() == expected[kind].tolist(), beat
