"""STEPs that a kernel refuses, at each place of a LEARN and a TRAIN, on the cards ``sim`` and
``model`` alike; what was learned before them stands."""

from functools import partial

import numpy as np
import pytest
from faults import Course, failed, shell_of
from learner.core_programs import LearnPrograms, run_both
from learner.record_cases import BYTES, RIGHT, WRONG, outcome, stepped
from learner.stand_in_kernels import STEPS, opened
from replay.programs import Rig, status_of

from hw.replay.commands import Opcode
from sim.model.learner.core import LearnerCore

STEP, STORAGE_BYTES = 40, 1 << 14
#: Iterations of a command, and which of them is wrong: the first, a middle one, the last.
COUNT, PLACES = 5, (0, 2, 4)
COMMANDS = ("learn", "train")


def iterated(command, words=None, place=None, count=COUNT):
    """A program of one command, the same each time, of ``count`` iterations; the STEP at ``place``
    has ``words``, bits by byte."""
    source = LearnPrograms(STEPS, 9)
    first = source.first()[0]
    program, steps = source.PROGRAM(source.granules), source.steps(COUNT)
    if words:
        steps[place] = stepped(words, steps[place])
    fields = source.fields(8)
    records, sent = source.records(3 * COUNT), source.batches(COUNT, 8)
    if command == "learn":
        program.learn(steps[:count], records[: 3 * count], **fields)
    else:
        program.train(steps[:count], sent[:count])
    return first, program


def shown(source):
    """A program that shows parameters, and the priorities of experiences stored at first."""
    program = source.PROGRAM(source.granules)
    program.listed(Opcode.GET, range(source.capacity - 2))
    source.store(program, 15)
    return program


def test_both_cards_refuse_alike():
    """Each number with a rule, with several values, at each place."""
    values = {byte: iter(2 * WRONG[byte]) for byte in BYTES}
    with opened("sim", STEPS) as kernel, opened("model", STEPS) as twin:
        rigs = [Rig(each, STORAGE_BYTES) for each in (kernel, twin)]
        first, _ = iterated("learn")
        assert outcome(run_both(*rigs, first, (), "first")[0]) == (0, 0)
        done, source = 0, LearnPrograms(STEPS, 1)
        for command in COMMANDS:
            for byte in BYTES:
                # Numbers of one kind share the places.
                for place in PLACES if byte < BYTES[5] else PLACES[byte % 3 :][:1]:
                    _, program = iterated(command, {byte: next(values[byte])}, place)
                    label, done = f"{command}, {byte}, {place}", done + place
                    for each in (program, shown(source)):
                        shell, _, status = run_both(*rigs, each.launch(), each.reports, label)
                        expected = (STEP, byte) if each is program else (0, 0)
                        assert outcome(shell) == expected, label
                        assert status["iterations"] == done, label
            words = {byte: RIGHT[byte][0] for byte in BYTES}
            _, program = iterated(command, words, 2)
            shell, *_ = run_both(*rigs, program.launch(), program.reports, "right")
            assert outcome(shell) == (0, 0)
            done += COUNT


@pytest.mark.parametrize("command", COMMANDS)
def test_axi_wins_over_a_wrong_number(command):
    """Of a STEP whose first half memory failed; the wrong number is in the second. The detail names
    no byte."""
    first, program = iterated(command, {BYTES[2]: 0}, 0)
    kernel, launches = partial(opened, config=STEPS), (first, program.launch())
    course = Course(kernel, lambda kernel: Rig(kernel, STORAGE_BYTES), launches)
    assert outcome(shell_of(course.twin(*launches)[1])) == (STEP, BYTES[2])
    assert failed(course.fail(1, "host", "R", 1)[1], 0, command) == 0


def test_the_twin_on_a_ring_refuses_alike():
    """Before the ring is looked at."""

    class Ringless(LearnerCore):
        ring = None

    core = Ringless(STEPS)
    for byte in BYTES:
        step = stepped({byte: WRONG[byte][0]})
        assert core.learn(step, 8, 1, {}, (), {}) == (STEP, byte, None)


def test_the_twin_at_the_limits_of_every_rule():
    """A run on both cards has a few of these numbers."""
    core = LearnerCore(STEPS)
    for byte in BYTES:
        for bits in RIGHT[byte]:
            assert core._wrong_step(stepped({byte: bits})) is None, (byte, hex(bits))
        for bits in WRONG[byte]:
            assert core._wrong_step(stepped({byte: bits})) == (STEP, byte, None), (byte, hex(bits))


def test_the_twin_names_the_first_wrong_number():
    """As the hardware does, of a STEP with several."""
    core = LearnerCore(STEPS)
    for k, first in enumerate(BYTES):
        step = stepped({byte: WRONG[byte][0] for byte in BYTES[k:]})
        assert core._wrong_step(step) == (STEP, first, None)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", COMMANDS)
def test_iterations_before_it_are_those_alone(command, place):
    """Reports, parameters, priorities and the generator, of the twin; the other card is alike."""

    def results(*options, count=COUNT):
        first, program = iterated(command, *options, count=count or COUNT)
        with opened("model", STEPS) as twin:
            rig, found = Rig(twin, STORAGE_BYTES), []
            launches = [first, *([program.launch()] if count else ())]
            for launch in (*launches, shown(LearnPrograms(STEPS, 1)).launch()):
                found.append(rig.run(launch))
        return found

    refused = results({BYTES[2]: 0}, place)
    alone = results(count=place)
    (_, replay), (_, wanted) = (status_of(each[-1]["status"]) for each in (refused, alone))
    assert replay.tobytes() == wanted.tobytes()
    np.testing.assert_array_equal(refused[-1]["results"], alone[-1]["results"])
    np.testing.assert_array_equal(refused[-1]["storage"], alone[-1]["storage"])
    # REPORTs first, then a list of each iteration; what is not reached stays as it was.
    size = 64 * place
    if place:
        assert refused[1]["results"][:size].any()
        np.testing.assert_array_equal(refused[1]["results"][:size], alone[1]["results"][:size])
    rest = refused[1]["results"][size : 64 * COUNT]
    assert (rest == rest[0]).all()
