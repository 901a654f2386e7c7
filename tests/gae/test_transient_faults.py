"""Memory that fails one answer of STATISTICS or PULL, or any answer of a launch of ``gae``."""

import numpy as np
import pytest
from faults import EVERYWHERE, assert_same, failed, shell_of
from gae.fault_courses import (
    BOOTSTRAP,
    CONFIGS,
    ESTIMATE,
    NAMES,
    STEP,
    TERMINAL,
    Small,
    course,
    failing_reads,
    finishing,
    kinds_of,
    own_status,
    push,
    pushing,
    statistics,
)
from gae.gae_programs import GaeProgram
from later import later
from programs import BLANK
from replay.kernels import opened

from hw.gae.commands import Opcode
from hw.gae.records import MOMENTS, Error


@pytest.mark.parametrize("name", NAMES)
def test_failed_statistics_write_nothing(name):
    """A beat of the numbers; the stack is as before, and the next STATISTICS are right."""
    config = CONFIGS[name]
    first = pushing(config, Opcode.PUSH, STEP, STEP, clear=True)
    last = finishing(config, BOOTSTRAP, count=3)
    faulty = course(config, first, statistics(config), statistics(config, 6), last)
    begun, again, finished = faulty.twin(*(faulty.launches[k] for k in (0, 2, 3)))
    for beat, outputs in failing_reads(faulty, 1, config):
        assert (outputs[1]["results"] == BLANK).all(), beat
        np.testing.assert_array_equal(own_status(outputs[1]), own_status(begun))
        assert_same(outputs[2], again, beat)
        assert_same(outputs[3], finished, beat)


@pytest.mark.parametrize("name", NAMES)
def test_failed_results_can_be_had_again(name):
    """Those of a PULL are still there; STATISTICS leave the stack."""
    config = CONFIGS[name]
    first = pushing(config, Opcode.PUSH, STEP, TERMINAL, clear=True)
    last, again = finishing(config, count=2), GaeProgram(config)
    again.pull(2)
    faulty = course(config, first, statistics(config), last, again)
    expected = faulty.twin(*faulty.launches)
    for launch, command in ((1, 0), (2, 1)):
        writes = faulty.answers(launch, "host", "B") - 1  # and the status
        assert writes >= 1
        for number in range(writes):
            outputs = faulty.fail(launch, "host", "B", number)
            failed(outputs[launch], command, number)
            np.testing.assert_array_equal(own_status(outputs[launch]), own_status(expected[launch]))
            assert_same(outputs[3], expected[3], (launch, number))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_beyond_results(name):
    """Two MOMENTS, a slot of results: all of it, or nothing."""
    config = CONFIGS[name]
    slot = sum(config.slot_beats["results"]) * config.engine.beat_bytes
    stack = pushing(config, Opcode.PUSH, TERMINAL, clear=True)
    estimate, pull = GaeProgram(config), GaeProgram(config)
    estimate.raw(Opcode.ESTIMATE, **ESTIMATE)
    pull.pull(1)
    for card in ("sim", "model"):
        with opened(card, config) as kernel:
            rig = Small(kernel)
            for before in (stack, estimate):
                rig.run(before.launch())
            for program, size in ((statistics(config), 2 * MOMENTS.size), (pull, slot)):
                for room in (16, size - 1, size):
                    launch = program.launch()
                    launch.results_bytes = room
                    outputs = rig.run(launch)
                    short = room < size
                    wanted = Error.RESULTS if short else Error.NONE
                    assert shell_of(outputs)["error"] == wanted
                    assert (outputs["results"][0 if short else size :] == BLANK).all()
                    assert short or (outputs["results"][:size] != BLANK).any()


@pytest.mark.parametrize(
    "memory", [dict(read_latency=1, write_latency=1), later({})], ids=["at once", "late"]
)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_over(name, memory):
    """Whichever answer fails: the next launch of the same program is as if it were the first."""
    config = CONFIGS[name]
    program = statistics(config)
    program.raw(Opcode.CLEAR)
    push(program, Opcode.PUSH, kinds_of(config, STEP, BOOTSTRAP, STEP), 1)
    push(program, Opcode.PUSH_CODES, kinds_of(config, STEP, TERMINAL), 2)
    program.raw(Opcode.ESTIMATE, **ESTIMATE)
    program.pull(5)
    errors = course(config, program, program, **memory).sweep(0, again=1)
    assert errors == {each for each in EVERYWHERE if each[0] == "host"}
