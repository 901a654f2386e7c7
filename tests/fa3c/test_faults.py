"""Memory that fails one answer of a ROUND or of a LOAD: which state is left, and which is not.

Launches of ``training``: a LOAD of both images; a ROUND that makes snapshots and rollouts; the
ROUND in which an answer fails; this ROUND again, which must be as the first time if the fault came
while its list was still checked; all of it from the start, which after executed tasks must give the
same as a twin that never saw the failed ROUND; an INFER. ``inferring`` fails a ROUND without a
TRAIN, after which theta and squares are whole, and checks all other state.
"""

import functools

import pytest
from fa3c.kernel_programs import RandomRounds, Rig
from fa3c.tasks import blank_task
from fa3c.test_kernel import SMALL
from faults import Course, assert_same, failed, shell_of
from marks import long_but
from programs import status_of
from replay.kernels import opened

from hw.fa3c.records import A3C_STATUS, Error

INFER, TRAIN, SYNC = 0, 1, 2
WATCHED, BOOTSTRAPPED = 4, 5
IMAGES, BEFORE, FAILING, ONCE_MORE, AGAIN, PROBE = range(6)
#: Of a row, a task or a command.
BEATS = 512 // SMALL.engine.data_width


def infer(unit, snapshot, agents, step, place):
    return blank_task(
        INFER,
        unit=unit,
        snapshot=snapshot,
        step=step,
        count=len(agents),
        agents=[*agents, *[0] * (8 - len(agents))],
        results=512 * place,
    )


def train(source, unit, snapshot, agent):
    constants = source.constants()
    return blank_task(
        TRAIN, unit=unit, snapshot=snapshot, count=1, agents=[agent] + [0] * 7, **constants
    )


def before(step):
    return [
        blank_task(SYNC, snapshot=0),
        blank_task(SYNC, snapshot=1),
        infer(0, 0, [0, 1], step, 0),
        infer(0, 1, [2], step, 1),
    ]


def course(launches):
    rig = functools.partial(Rig, config=SMALL)
    # Three agents keep a unit busy for thousands of clocks without a word of memory.
    limits = dict(max_cycles=40_000, max_idle=10_000)
    return Course(functools.partial(opened, config=SMALL), rig, launches, **limits)


@functools.cache
def training():
    source = RandomRounds(SMALL, seed=1)
    failing = [
        blank_task(SYNC, snapshot=1),
        infer(0, 1, [3], 0, 0),
        train(source, 1, 0, 0),
        train(source, 0, 0, 1),
        train(source, 1, 0, 2),
        infer(0, 0, [WATCHED], 1, 2),
        infer(0, 1, [BOOTSTRAPPED], SMALL.steps, 3),
    ]
    failed = source.round(failing)
    launches = [
        source.images(),
        source.round([*before(0), infer(0, 0, [WATCHED], 0, 2)]),
        failed,
        failed,
        source.images(before(0)),
        source.round([infer(0, 0, [WATCHED], 0, 0)]),
    ]
    return course(launches), failing


@functools.cache
def inferring():
    """And what its launches come to."""
    source = RandomRounds(SMALL, seed=2)
    touched = [3, WATCHED, BOOTSTRAPPED]
    failing = [
        blank_task(SYNC, snapshot=1),
        infer(0, 1, [3], 0, 0),
        infer(0, 0, [WATCHED], 1, 1),
        infer(0, 0, [BOOTSTRAPPED], SMALL.steps, 2),
    ]
    rounds = [
        ([*before(0), infer(0, 0, [WATCHED, BOOTSTRAPPED], 0, 2)], Error.NONE),
        (failing, Error.AXI),
        ([infer(0, 1, [6], 0, 0)], Error.SNAPSHOT),
        # One that had kept its rollout, or a step more, would refuse them all.
        ([infer(0, 0, touched, 0, 0)], Error.NONE),
        ([infer(0, 0, [0, 1], 1, 0)], Error.NONE),
    ]
    launches = [source.images(), *(source.round(tasks) for tasks, _ in rounds)]
    return course(launches), [Error.NONE, *(error for _, error in rounds)]


def own(outputs):
    return status_of(outputs["status"], A3C_STATUS)[1]


def clean(outputs):
    """Without what tells of earlier launches: rollouts, and counts of rounds."""
    left = {name: data for name, data in outputs.items() if not name.startswith("local")}
    left["status"] = outputs["status"].copy()
    record = left["status"][64:128].view(A3C_STATUS.dtype)[0]
    record["rounds"] = record["tasks"] = 0
    return left


def fail(master, channel, number, loaded, synced):
    """All outputs; after the launch that failed these are loaded and synced."""
    outputs = training()[0].fail(FAILING, master, channel, number)
    label = f"{master} {channel} {number}"
    failed(outputs[FAILING], 0, label)
    status = own(outputs[FAILING])
    assert (status["loaded"], status["synced"], status["overflow"]) == (loaded, synced, 0), label
    assert (status["rounds"], status["tasks"]) == (1, 5), label
    return outputs, label


def check_unchanged(master, channel, number):
    """The ROUND was still being checked: it might not have been."""
    faulty, _ = training()
    outputs, label = fail(master, channel, number, 3, 0b11)
    others = IMAGES, BEFORE, ONCE_MORE, AGAIN, PROBE
    expected = faulty.twin(*(faulty.launches[k] for k in others))
    for place, wanted in zip(others, expected, strict=True):
        assert_same(outputs[place], wanted, f"{label}, launch {place}")
    assert not any(shell_of(outputs[k])["error"] for k in others), label


def check_broken(master, channel, number):
    """Its tasks were executed."""
    outputs, label = fail(master, channel, number, 0, 0b01)
    assert shell_of(outputs[ONCE_MORE])["error"] == Error.MISSING, label
    assert_same(clean(outputs[AGAIN]), clean(twin_again()), label)
    assert shell_of(outputs[AGAIN])["error"] == Error.NONE, label


@functools.cache
def twin_again():
    faulty, _ = training()
    (expected,) = faulty.twin(faulty.launches[AGAIN])
    return expected


def test_nothing_fails():
    """The ROUND itself is right, and its agents' rollouts are as they should be."""
    faulty, failing = training()
    expected = faulty.twin(*faulty.launches)
    assert len(faulty._totals) == 7
    for got, wanted in zip(faulty.healthy, expected, strict=True):
        assert_same(got, wanted, "healthy")
    assert [int(shell_of(each)["error"]) for each in faulty.healthy] == [0, 0, 0, Error.STEP, 0, 0]
    assert own(faulty.healthy[FAILING])["tasks"] == 5 + len(failing)


def executed(failing):
    """The first answer of the host that no command, task or error row is."""
    return BEATS * (1 + len(failing) + 3 * SMALL.map_rows[-1])


@pytest.mark.parametrize("ends", ["last", pytest.param("first", marks=pytest.mark.long)])
def test_while_the_list_is_checked(ends):
    """A task, or an error row: nothing has changed."""
    _, failing = training()
    tasks = BEATS * (1 + len(failing))
    for number in {"first": (BEATS, tasks), "last": (tasks - 1, executed(failing) - 1)}[ends]:
        check_unchanged("host", "R", number)


def numbers(master, channel, stride):
    """Answers of the executed tasks: the last; with a ``stride`` the first too, and some."""
    faulty, failing = training()
    answers = faulty.answers(FAILING, master, channel)
    first = executed(failing) if (master, channel) == ("host", "R") else 0
    answers -= (master, channel) == ("host", "B")  # the status
    assert answers - first > 2
    return {answers - 1, *(range(first, answers, stride) if stride else ())}


PLACES = [(m, c) for m in ("host", "global", "local0", "local1") for c in "RB"]


#: Each master, and each channel twice.
QUICK = [(0, "host", "R"), (0, "global", "B"), (0, "local0", "R"), (0, "local1", "B")]


@pytest.mark.parametrize(
    "stride, master, channel", long_but(QUICK, [(s, *place) for s in (0, 23) for place in PLACES])
)
def test_while_tasks_are_executed(stride, master, channel):
    """Whatever it was, theta and g are missing, SYNCs are not made, rollouts are empty."""
    for number in numbers(master, channel, stride):
        check_broken(master, channel, number)


@pytest.mark.parametrize("master, channel", [("host", "R"), ("local0", "B")])
def test_inferences_that_fail(master, channel):
    """Survivor F5: rollouts of the ROUND's agents are empty, also of one that a bootstrap did not
    lengthen; its SYNC is not made; nothing else is lost."""
    faulty, errors = inferring()
    outputs = faulty.fail(FAILING, master, channel, faulty.answers(FAILING, master, channel) - 1)
    assert [int(shell_of(each)["error"]) for each in outputs] == errors
    status = own(outputs[FAILING])
    assert (status["loaded"], status["synced"]) == (3, 0b01)


@pytest.mark.parametrize(
    "image, numbers",
    long_but([(0, (1200,)), (1, (1280,))], [(0, (80,)), (0, (1200,)), (1, (1280,)), (1, (2400,))]),
)
def test_failed_load(image, numbers):
    """The image is missing until its next LOAD; the other is there; no snapshot is."""
    faulty, _ = training()
    for number in numbers:
        outputs = faulty.fail(AGAIN, "host", "R", number)
        failed(outputs[AGAIN], image, number)
        status = own(outputs[AGAIN])
        assert (status["loaded"], status["synced"]) == (3 & ~(1 << image), 0)
        assert shell_of(outputs[PROBE])["error"] == Error.MISSING
