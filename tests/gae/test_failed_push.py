"""A PUSH that memory fails: the stack is as before, and the same PUSH may be repeated."""

import numpy as np
import pytest
from faults import assert_same, failed, shell_of
from gae.fault_courses import (
    BOOTSTRAP,
    CONFIGS,
    NAMES,
    PUSH,
    STEP,
    TERMINAL,
    course,
    failing_reads,
    finishing,
    own_status,
    program_beats,
    pushing,
)
from gae.gae_programs import NARROW, GaeProgram, status_of

from hw.gae.commands import Opcode
from hw.gae.records import Error, Phase


@pytest.mark.parametrize("opcode", [Opcode.PUSH, Opcode.PUSH_CODES])
@pytest.mark.parametrize("name", NAMES)
def test_a_failed_push_leaves_the_stack(name, opcode):
    """The same PUSH again, and all is as if none had failed."""
    config = CONFIGS[name]
    first = pushing(config, opcode, STEP, STEP, TERMINAL, STEP, clear=True)
    again = pushing(config, opcode, BOOTSTRAP, STEP, STEP, seed=2)
    last = finishing(config, BOOTSTRAP, count=8)
    faulty = course(config, first, again, again, last)
    begun, pushed, finished = faulty.twin(*(faulty.launches[k] for k in (0, 1, 3)))
    assert shell_of(finished)["error"] == Error.NONE
    for beat, outputs in failing_reads(faulty, 1, config):
        status = status_of(outputs[1]["status"])[1]
        assert (status["fill"], status["phase"]) == (4, Phase.CODES.value), beat
        np.testing.assert_array_equal(own_status(outputs[1]), own_status(begun))
        assert_same(outputs[2], pushed, beat)
        assert_same(outputs[3], finished, beat)


@pytest.mark.parametrize("opcode", [Opcode.PUSH, Opcode.PUSH_CODES])
def test_a_failed_push_leaves_what_is_open(opcode):
    """Rows that it would have finished are unfinished; those that it would have begun are not."""
    config = NARROW
    begun = pushing(config, opcode, STEP, clear=True)
    ended = pushing(config, opcode, TERMINAL, clear=True)
    faulty = course(
        config,
        begun, pushing(config, opcode, BOOTSTRAP), finishing(config, count=1),
        ended, pushing(config, opcode, STEP), finishing(config, count=1),
    )  # fmt: skip
    expected = faulty.twin(faulty.launches[3], faulty.launches[5])[1]
    for _, outputs in failing_reads(faulty, 1, config):
        shell = shell_of(outputs[2])
        assert (shell["error"], shell["executed"]) == (Error.UNFINISHED, 0)
    for beat, outputs in failing_reads(faulty, 4, config):
        assert shell_of(outputs[5])["error"] == Error.NONE
        assert_same(outputs[5], expected, beat)


@pytest.mark.parametrize("name", NAMES)
def test_the_last_slot_is_written_anew(name):
    """A failed PUSH up to the slot above the memory, then another one."""
    config = CONFIGS[name]
    depth, opcode = config.gae.depth, Opcode.PUSH_CODES
    first = pushing(config, opcode, *[STEP] * (depth - 1), clear=True)
    wrong, right = (pushing(config, opcode, STEP, BOOTSTRAP, seed=seed) for seed in (2, 3))
    faulty = course(config, first, wrong, right, finishing(config, count=depth + 1))
    expected = faulty.twin(*(faulty.launches[k] for k in (0, 2, 3)))[2]
    for beat, outputs in failing_reads(faulty, 1, config):
        assert status_of(outputs[1]["status"])[1]["fill"] == depth - 1
        assert_same(outputs[3], expected, beat)


def _spoilt(opcode, kind, number):
    """A PUSH of one slot with this kind and this number."""
    program, shape = GaeProgram(NARROW), (1, NARROW.gae.rows)
    fields = PUSH if opcode == Opcode.PUSH else {}
    program.push(opcode, np.full(shape, kind), *np.full((2, *shape), number), **fields)
    return program


@pytest.mark.parametrize(
    "error, opcode, kind, number, beat",
    [
        (Error.KIND, Opcode.PUSH, 7, 0.0, 0),
        (Error.KIND, Opcode.PUSH_CODES, BOOTSTRAP, 0, 0),
        (Error.NUMBER, Opcode.PUSH, TERMINAL, np.nan, 1),
        (Error.NUMBER, Opcode.PUSH, TERMINAL, np.inf, 4),
        (Error.CODE, Opcode.PUSH_CODES, TERMINAL, -128, 1),
    ],
)
def test_axi_wins_over_what_a_failed_beat_holds(error, opcode, kind, number, beat):
    """A beat that says SLVERR may hold anything: the host's data are not to blame."""
    begin = GaeProgram(NARROW)
    begin.raw(Opcode.CLEAR)
    faulty = course(NARROW, begin, _spoilt(opcode, kind, number))
    assert shell_of(faulty.twin(*faulty.launches)[1])["error"] == error
    failed(faulty.fail(1, "host", "R", program_beats(NARROW) + beat)[1], 0, beat)


def test_axi_wins_over_a_full_stack():
    """A kind that a failed beat brought: a STEP where only bootstraps may lie."""
    depth = NARROW.gae.depth
    first = pushing(NARROW, Opcode.PUSH_CODES, *[STEP] * depth, clear=True)
    faulty = course(NARROW, first, pushing(NARROW, Opcode.PUSH_CODES, TERMINAL))
    assert shell_of(faulty.twin(*faulty.launches)[1])["error"] == Error.FULL
    for _, outputs in failing_reads(faulty, 1, NARROW):
        assert status_of(outputs[1]["status"])[1]["fill"] == depth
