"""TRAIN: batches that the host sends; the same bytes as LEARN, and no more clocks."""

import numpy as np
import pytest
from faults import assert_same, failed, shell_of
from later import later
from learner.core_programs import without_clocks
from learner.fault_courses import REAL, Lesson, learner_status
from learner.learning import experiences, parameters
from learner.modelled import adam, kernel_config, opened
from learner.test_kernel import same
from replay.kernels import opened as cards

from host.learner.learning_replay import Diverged, LearningReplay
from hw.learner.config import PARAMETER_SETS
from hw.replay.commands import Opcode
from hw.replay.records import HEADER

LEARNER, BATCH, CAPACITY = REAL.learner, 16, 40
_LIMITED = r"in -2\*\*100\.\.2\*\*100, both excluded"


def buffers(kernel, rng):
    """A buffer that is filled and has parameters."""
    buffer = LearningReplay(kernel, capacity=CAPACITY, seed=3)
    buffer.add(**experiences(LEARNER, rng, CAPACITY))
    buffer.initialize(parameters(LEARNER, rng))
    return buffer


def drawn(buffer, steps):
    """HEADERs and experiences that LEARN will draw in one iteration, by a SAMPLE as it makes it."""
    state = buffer.state_dict()
    dtype = np.dtype([("header", HEADER.dtype), ("experience", buffer.dtype)])
    fields = dict(count=BATCH, stratum_width=buffer._stratum(BATCH), beta=int(steps["beta"][0]))
    results = buffer.launcher.run([(Opcode.SAMPLE, fields)], (), BATCH * dtype.itemsize)
    buffer.load_state_dict(state)
    return results[: BATCH * dtype.itemsize].view(dtype)


@pytest.mark.parametrize("card", ["sim", "model"])
def test_the_same_bytes_as_learn(card):
    """Parameters, reports but for the clocks; TD errors give the priorities that LEARN gave."""
    rng = np.random.default_rng(5)
    with cards(card, REAL) as kernel:
        buffer = buffers(kernel, rng)
        for number in range(3):
            steps = adam(1, 0.01, first=number + 1)
            batch, before = drawn(buffer, steps), buffer.state_dict()
            learned = buffer.learn(steps, batch_size=BATCH, store=PARAMETER_SETS)
            after = buffer.state_dict()
            buffer.load_state_dict(before)
            weights, sent = batch["header"]["weight"], batch["experience"]
            trained = buffer.train(
                steps,
                {name: sent[name] for name in buffer.dtype.names},
                batch_size=BATCH,
                weights=weights,
                store=PARAMETER_SETS,
            )
            same(trained.parameters, learned.parameters)
            for name in ("loss", "td", "value", "weight"):
                assert trained.reports[name].tobytes() == learned.reports[name].tobytes(), name
            # Neither tree nor storage was touched; with the TD errors, they are LEARN's.
            now = buffer.state_dict()
            same({k: now[k] for k in before if k != "parameters"},
                 {k: before[k] for k in before if k != "parameters"})  # fmt: skip
            buffer.sample(BATCH, beta=0.0)  # the generator goes on as in LEARN
            buffer.update_priorities(batch["header"]["index"], trained.td_errors[0])
            same(buffer.state_dict(), after)


def test_many_iterations_are_as_many_launches():
    """On ``sim`` all at once, on ``model`` one by one."""
    rng, count = np.random.default_rng(6), 5
    data = experiences(LEARNER, rng, count * BATCH)
    weights, steps = rng.random(count * BATCH, np.float32) + 0.1, adam(count, 0.01)
    values = parameters(LEARNER, rng)
    with cards("sim", REAL) as kernel, cards("model", REAL) as twin:
        left, right = (LearningReplay(k, capacity=CAPACITY) for k in (kernel, twin))
        for buffer in (left, right):
            buffer.initialize(values)
        got = left.train(steps, data, batch_size=BATCH, weights=weights)
        for k in range(count):
            part = slice(k * BATCH, (k + 1) * BATCH)
            sent = {name: array[part] for name, array in data.items()}
            one = right.train(steps[k : k + 1], sent, batch_size=BATCH, weights=weights[part])
            same(got.td_errors[k], one.td_errors[0])
            assert got.reports["loss"][k] == one.reports["loss"][0]
        same(left.store(), right.store())
        assert left.status["iterations"] == right.status["iterations"] == count
        # Each batch but the first is read while the one before it is trained on.
        draw, gather, step, whole = got.reports["cycles"].astype(int).T
    assert not draw.any() and not gather.any()
    assert (whole - step)[1:].max() <= 20 < (whole - step)[0]


def test_bad_arguments():
    """Nothing is sent, and what could be repeated is what it was."""
    rng = np.random.default_rng(7)
    data = experiences(LEARNER, rng, 2 * BATCH)
    with opened(REAL) as kernel:
        buffer = LearningReplay(kernel, capacity=CAPACITY)
        options = dict(batch_size=BATCH)
        with pytest.raises(ValueError, match="parameters must be loaded first"):
            buffer.train(adam(2, 0.01), data, **options)
        buffer.initialize(parameters(LEARNER, rng))
        before = buffer.state_dict()
        ones = np.ones(2 * BATCH)
        negative, nothing = ones - 2 * (np.arange(32) == 4), ones * (np.arange(32) < 16)
        for match, changes, extra in (
            (r"^experiences must be 48 \(3 batches of 16\), not 32", {}, dict(steps=adam(3, 0.01))),
            (r"^batch_size must be a multiple of 1", {}, dict(batch_size=17)),
            (r"^action must be in 0\.\.1, not 2 at position 3", {"action": (3, 2)}, {}),
            (r"^reward must be finite, not nan at position 5", {"reward": (5, np.nan)}, {}),
            (rf"^discount must be {_LIMITED}, not 1.26\d*e\+30 at", {"discount": (6, 2**100)}, {}),
            (r"^obs must be finite, not inf at \[31, 0\]", {"obs": (31, np.inf)}, {}),
            (r"^weights must have shape \(32,\), not \(3,\)", {}, dict(weights=ones[:3])),
            (r"^weights must not be negative, as -1.0 at position 4", {}, dict(weights=negative)),
            (r"^weights must not all be 0 in a batch, as in batch 1", {}, dict(weights=nothing)),
            (r"^weights must be finite, not nan at position 0", {}, dict(weights=ones * np.nan)),
        ):  # fmt: skip
            changed = {name: np.array(array) for name, array in data.items()}
            for name, (position, value) in changes.items():
                changed[name][position] = value
            arguments = dict(steps=adam(2, 0.01)) | options | extra
            with pytest.raises(ValueError, match=match):
                buffer.train(arguments.pop("steps"), changed, **arguments)
        same(buffer.state_dict(), before)


def test_a_batch_that_diverges():
    """The iterations before stand; the detail is the experience's position."""
    rng = np.random.default_rng(8)
    data = experiences(LEARNER, rng, 2 * BATCH)
    data["reward"][BATCH + 2] = data["discount"][BATCH + 2] = 3e38
    with opened(kernel_config("dqn", hidden=LEARNER.hidden)) as kernel:
        buffer = buffers(kernel, rng)
        with pytest.raises(Diverged, match=str(BATCH + 2)):
            buffer.train(adam(2, 0.01), data, batch_size=BATCH)
        assert buffer.status["iterations"] == 1


def test_a_batch_that_failed_is_forgotten():
    """A LEARN after a TRAIN of which memory failed a beat of the batch is as if there had been no
    TRAIN."""
    lesson = Lesson(REAL)
    program = lesson.program()
    program.train(lesson.steps[:1], lesson.source.batches(1, BATCH))
    course = lesson.course(lesson.before(), program.launch(), lesson.learn(0, 1))
    last = course.answers(1, "host", "R") - 1
    *_, trained, learned = course.fail(1, "host", "R", last)
    failed(trained, 0, last)
    expected = course.twin(lesson.before(), lesson.learn(0, 1))[1]
    assert shell_of(learned)["error"] == 0
    for outputs in (learned, expected):
        without_clocks(outputs, [0])
    assert_same(learned, expected, "after the failure")


@pytest.mark.parametrize("stride", [5, later(1)])
def test_memory_that_fails(stride):
    """Whatever is read: iterations before stand, that one and those behind it are not begun. A
    REPORT or list that is lost ends nothing."""
    lesson, count = Lesson(REAL), 3
    steps, sent = lesson.steps, lesson.source.batches(count, BATCH)

    def launches(iterations):
        program, store = lesson.program(), lesson.program()
        program.train(steps[:iterations], sent[:iterations])
        lesson.source.store(store, 15)
        return lesson.before(), program.launch(), store.launch()

    course = lesson.course(*launches(count))
    # Without an iteration it is what was loaded.
    stores = [lesson.course(lesson.before(), launches(1)[2]).run()[1]["results"]]
    for iterations in range(1, count + 1):
        stores.append(lesson.course(*launches(iterations)).run()[2]["results"])
    seen = []
    reads = course.answers(1, "host", "R")
    of_steps = range(1, reads, reads // count)  # behind the program, each before its batch
    for beat in sorted({*range(1, reads, stride), *of_steps, reads - 1}):
        outputs = course.fail(1, "host", "R", beat)
        failed(outputs[1], 0, beat)
        seen.append(int(learner_status(outputs[1])["iterations"]))
        assert (outputs[2]["results"] == stores[seen[-1]]).all(), f"beat {beat}"
    assert set(seen) == set(range(count))
    for answer in range(course.answers(1, "host", "B") - 1):  # all but the status
        outputs = course.fail(1, "host", "B", answer)
        failed(outputs[1], 0, answer)
        assert (outputs[2]["results"] == stores[count]).all()
