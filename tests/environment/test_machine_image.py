"""Images: what is refused, where sections lie, and that the machine's twin plays a task as the
environments of gymnasium do."""

from dataclasses import replace

import numpy as np
import pytest
from environment.machine_courses import random_image, whole_image
from environment.task_cases import CASES, SHIPPED, Odd, words_of
from environment.test_arithmetic_unit import LITERAL
from environment.test_task_twin import actions_of, made

from hw.environment.machine_image import HEADER, Image, Section, image_of
from hw.environment.machine_ports import MachineConfig
from hw.environment.task import trace
from hw.environment.task_program import Opcode, assemble, encode
from hw.errors import UsageError
from sim.model.environment.machine import Machine
from sim.model.environment.twin import seeded

PROGRAM = assemble(trace(Odd()))
WORDS = image_of(PROGRAM, 7).words


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: MachineConfig(environments=0), "environments must be an integer in 1..64, not 0"),
        (lambda: MachineConfig(environments=65), "environments must be an .* 1..64, not 65"),
        (lambda: image_of(PROGRAM, 0), "limit must be an integer in 1..2147483647, not 0"),
        (lambda: image_of(PROGRAM, 1 << 31), "limit must be an integer in .*, not 2147483648"),
        (
            lambda: image_of(replace(PROGRAM, words=PROGRAM.words * 9), 7),
            r"words must be at most 254, not \d+",
        ),
        (
            lambda: image_of(replace(PROGRAM, constants=tuple(range(300, 555))), 7),
            "constants must be at most 254, not 255",
        ),
        (
            lambda: image_of(
                replace(PROGRAM, words=tuple(encode(Opcode.ADD, k, 0, 0) for k in range(32))), 7
            ),
            "a register of 32 must be free to count steps, not all used",
        ),
        (lambda: Image(sections={}), r"sections must have STEP, not \[\]"),
    ],
)
def test_refused(make, message):
    with pytest.raises(UsageError, match=f"^{message}$"):
        make()


@pytest.mark.parametrize(
    "section, first, words, message",
    [
        (Section.STEP, 0, (), "STEP's words must be an integer in 1..256, not 0"),
        (Section.STEP, 255, (1, 2), "STEP's words must be an integer in 1..1, not 2"),
        (Section.STATE, 256, (1,), "STATE's first address must be an integer in 0..255, not 256"),
        (Section.STEPPED, 0, (1,), "STEPPED's words must be an integer in 2..256, not 1"),
        (Section.RESET, 0, (-1,), "a word of RESET must be an integer in 0..68719476735, not -1"),
        (Section.BEGUN, 0, (1 << 36,), "a word of BEGUN must be an .*, not 68719476736"),
        (Section.CONSTANTS, 0, (-(1 << 31) - 1,), "a word of CONSTANTS must .*, not -2147483649"),
        (Section.CONSTANTS, 0, (1 << 31,), "a word of CONSTANTS must be .*, not 2147483648"),
    ],
)  # fmt: skip
def test_sections_that_are_refused(section, first, words, message):
    sections = image_of(PROGRAM, 7).sections
    with pytest.raises(UsageError, match=f"^{message}$"):
        Image(sections={**sections, section: (first, words)})


@pytest.mark.parametrize("place", ["destination", "a", "b"])
def test_the_count_of_steps_has_a_register_of_its_own(place):
    """The highest one that no instruction writes or reads, as its first or second operand."""
    for highest in (31, 30):
        used = [dict(destination=0, a=0, b=0) | {place: k} for k in range(highest + 1)]
        words = tuple(encode(Opcode.ADD, **fields) for fields in used if fields[place] != 20)
        image = image_of(replace(PROGRAM, words=words + PROGRAM.words), 7)
        _, state = image.sections[Section.STATE]
        own = encode(Opcode.MAX, *(3 * [20 if highest == 31 else 31]))
        assert state[-1] == own


@pytest.mark.parametrize(
    "words, message",
    [
        (WORDS[:-1], r"words must have a header at \d+, not 0x\w+"),
        ([*WORDS, 0], "words must end with the last section, not 1 later"),
        ([], "words must have a section more, not end after 0 words"),
        ([7], "words must have a header at 0, not 0x7"),
        ([1 << 3, 0], "words must have a header at 0, not 0x8"),
    ],
)
def test_words_that_the_twin_refuses(words, message):
    with pytest.raises(UsageError, match=f"^{message}$"):
        Machine(1).load(words)


def test_a_literal_image():
    """Of one word in each section, and two in STEPPED: by hand."""
    instruction = 5 | 6 << 3 | 257 << 8 | 31 << 17 | 7 << 26 | 1 << 29  # SELECT
    assert instruction == encode(Opcode.SELECT, 6, 256 | 1, 31, 31)
    words = {each: (k, (instruction,)) for k, each in enumerate(Section)}
    words |= {Section.STEPPED: (9, (1, 2)), Section.CONSTANTS: (255, (-2,))}
    found = Image(sections=words).words
    headers = [0 | 0 << 3 | 0 << 11 | 1 << 19, 1 | 1 << 3 | 1 << 11 | 1 << 19,
               2 | 2 << 3 | 2 << 11 | 1 << 19, 3 | 9 << 3 | 10 << 11 | 1 << 19,
               4 | 4 << 3 | 4 << 11 | 1 << 19, 5 | 5 << 3 | 5 << 11 | 1 << 19,
               6 | 255 << 3 | 255 << 11]  # fmt: skip
    assert found == [
        headers[0], instruction, headers[1], instruction, headers[2], instruction,
        headers[3], 1, 2, headers[4], instruction, headers[5], instruction,
        headers[6], (1 << 36) - 2,
    ]  # fmt: skip
    assert HEADER.size == 36


def numbers(items):
    """Words of Items as binary32."""
    return (items.word * np.ldexp(1.0, -items.fraction)).astype(np.float32)


@pytest.mark.parametrize("kind", CASES)
def test_the_twin_plays_as_the_environments(kind):
    """With the same random numbers, over the ends of episodes, to the bit."""
    limit, rng = 5, np.random.default_rng(0)
    task, _, theirs = made(kind, 1, limit)
    program, ours = assemble(trace(task)), Machine(1)
    ours.load(image_of(program, limit).words)
    ours.generator[:] = theirs.generator[:] = seeded([3])
    seen, items, ends = theirs.reset(), ours.begin([True]), 0
    for _ in range(20):
        np.testing.assert_array_equal(numbers(items)[:, : seen.shape[1]], seen)
        actions, words = actions_of(task, rng, 1)
        seen, reward, *flags, _, _ = theirs.step(actions, autoreset=False)
        items = ours.step(words.T)
        assert np.ldexp(float(items.word[0, -1]), -int(items.fraction[-1])) == reward[0]
        assert [items.terminated, items.truncated] == flags and not items.clipped.any()
        np.testing.assert_array_equal(numbers(items)[:, :-1], seen)
        np.testing.assert_array_equal(ours.save()[:, :-1], theirs.state.T)
        if flags[0] or flags[1]:
            ends += 1
            seen, items = theirs.reset([0]), ours.begin([True])
    assert ends >= 4


@pytest.mark.parametrize("case", LITERAL)
def test_literal_cases_in_the_twin(case):
    """One instruction after a LESS that sets the flag, in a machine with two environments."""
    opcode, shift, a, b, flag, result, clipped = case
    less = encode(Opcode.LESS, None, 256 + 1 - flag, 256 + flag)
    instruction = encode(opcode, 7, 258, 259, shift)
    sent = [encode(Opcode.ADD, None, 7, 7)] * 2
    machine = Machine(2)
    machine.load(whole_image([less, instruction], [less], sent, sent, [7], [0, 1, a, b]).words)
    items = machine.step(np.zeros((2, 2), np.int64))
    assert items.word.tolist() == [[result] * 2] * 2 and items.clipped.tolist() == [clipped] * 2
    assert not machine.begin([True, True]).clipped.any()


def test_environments_do_not_see_each_other():
    """Of a program without random numbers."""
    rng = np.random.default_rng(1)
    image = random_image(rng, 100, 100, draws=False)
    state, mask = words_of(rng, 6, 32), np.arange(6) % 2 == 0

    def played(which):
        machine = Machine(len(which))
        machine.load(image.words)
        machine.restore(state[which])
        stepped = machine.step(state[which][:, :2])
        begun = machine.begin(mask[which])
        return stepped, begun, machine.save()

    stepped, begun, saved = played(np.arange(6))
    assert stepped.clipped.any() and begun.word.shape == (3, 3)
    for e in range(6):
        one, other, kept = played(np.array([e]))
        np.testing.assert_array_equal(one.word[0], stepped.word[e])
        assert one.clipped[0] == stepped.clipped[e] and one.terminated[0] == stepped.terminated[e]
        np.testing.assert_array_equal(kept[0], saved[e])
        if mask[e]:
            np.testing.assert_array_equal(other.word[0], begun.word[e // 2])


@pytest.mark.parametrize("kind", SHIPPED)
def test_images_of_shipped_tasks_have_one_instruction_more(kind):
    program = assemble(trace(kind()))
    image = image_of(program, 500)
    assert image.length(Section.STEP) == program.reset_start + 1
    assert image.length(Section.RESET) == len(program.words) - program.reset_start + 1
    assert image.length(Section.STATE) == program.state_count + 1
    assert image.sections[Section.STEP][1][:-1] == program.words[: program.reset_start]
