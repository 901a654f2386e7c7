"""Inserts of a LEARN that bring priorities, worked out by hand, on the cards ``model`` and ``sim``.

Priorities have 24 bits, 16 of them behind the point: 1.0 is 65536. 32768 is an exponent of 1.
"""

import numpy as np
import pytest
from learner.core_programs import LearnProgram
from learner.test_limits import opened_bench
from replay.programs import items_of, status_of

from hw.learner.records import HYPERPARAMETERS, LEARNER_STATUS
from hw.replay.commands import Opcode
from hw.replay.records import HEADER

PRIORITY, TD = 20, 21
NOTHING, PRIORITIES, TD_ERRORS = 0, 1, 2
ONE = 32768


@pytest.fixture(scope="module", params=["model", "sim"])
def rig(request):
    with opened_bench(request.param) as bench:
        bench.run([("SETUP", {}), ("LOAD", {})])
        yield bench.rig


def run(rig, given, lists, **fields):
    """A LEARN of two inserts an iteration into a memory of which only place 0 can be drawn: the
    shell's outcome, priorities of all six or eight places, and the status."""
    program = LearnProgram(granules=3)
    program.setup(10, 3, 9)
    program.insert(np.zeros((4, 48), np.uint8), priorities=[65536, 0, 0, 0])
    items = np.zeros((len(lists), 64), np.uint8)
    for row, values in zip(items, lists, strict=True):
        row[:16] = items_of([(2**32 - 1, value) for value in values]).view(np.uint8)
    program.learn(
        np.zeros(len(lists), HYPERPARAMETERS.dtype),
        np.zeros((2 * len(lists), 48), np.uint8),
        **dict(
            batch=2, stratum_width=2**48, alpha=ONE, given=given, priorities=program.operand(items)
        ),
        **fields,
    )
    outputs = rig.run(program.launch())
    shell, _ = status_of(outputs["status"])
    program, count = LearnProgram(granules=3), 4 + 2 * len(lists)
    program.listed(Opcode.GET, range(count))
    results = rig.run(program.launch())["results"]
    learner = outputs["status"][64:256].view(LEARNER_STATUS.dtype)[0]
    headers = results[: 16 * count].view(HEADER.dtype)
    outcome = int(shell["error"]), int(shell["error_detail"])
    return outcome, headers["priority"].tolist(), learner


def bits(*numbers):
    return np.array(numbers, np.float32).view(np.uint32).tolist()


def test_given(rig):
    """The TD error of place 0, which is drawn, is 0: 1 is the least that it can have."""
    for given, lists, priorities in (
        (PRIORITIES, [[7, 0]], [1, 0, 0, 0, 7, 0]),
        (PRIORITIES, [[0, 0], [16777215, 3]], [1, 0, 0, 0, 0, 0, 16777215, 3]),
        (TD_ERRORS, [bits(-1.5, 0.0)], [1, 0, 0, 0, 98304, 1]),
        # Without a list what lies there is not read: the largest so far.
        (NOTHING, [[7, 8]], [1, 0, 0, 0, 65536, 65536]),
    ):
        outcome, found, status = run(rig, given, lists)
        assert (outcome, found) == ((0, 0), priorities)
        assert status["total"] == sum(priorities)
        assert status["position"] == status["fill"] == len(priorities)


@pytest.mark.parametrize(
    "given, good, bad, error",
    [
        (PRIORITIES, 3, 16777216, PRIORITY),
        (PRIORITIES, 3, 2**32 - 1, PRIORITY),
        (TD_ERRORS, *bits(3 / 65536, np.nan), TD),
        (TD_ERRORS, *bits(3 / 65536, -np.inf), TD),
    ],
)
def test_a_bad_item(rig, given, good, bad, error):
    """The iteration has learned and stored, its bad experience cannot be drawn, and it is the
    last."""
    _, _, before = run(rig, NOTHING, [[0, 0]])
    outcome, found, status = run(rig, given, [[good, bad], [good, good]])
    assert outcome == (error, 1)
    assert found[:6] == [1, 0, 0, 0, 3, 0]
    assert (status["position"], status["fill"], status["total"]) == (6, 6, 4)
    assert status["iterations"] == before["iterations"] + 1
