"""The image of a task: the sections of words that LOAD brings into the machine.

A section is a header, then its words, which have the addresses ``first`` to ``last``. An image is
a list of sections; ``more`` is 0 in its last header. ::

    section     words                                          runs
    STEP        instructions                                   for all environments in turn
    RESET       instructions                                   the same
    BEGUN       a list: registers to send after RESET          for one environment after the other
    STEPPED     a list: registers to send after STEP           the same
    ACTIONS     a list: registers for the actions              the same
    STATE       a list: registers that SAVE and RESTORE move   the same
    CONSTANTS   constants

A word of a list is an instruction's word whose opcode is not looked at. To send, ``a`` is the
register and ``fraction`` says its fraction bits; to receive, ``destination`` is the register.
``b`` has the flags of STEPPED: in its last word, the reward's, the lowest bit of ``b`` says that
the step has terminated the episode; in the word before, a ``b`` that is not negative says that the
episode is truncated.

The program itself counts the steps of an episode, in a register that it leaves free: RESET begins
with minus the limit, and STEP adds 1.
"""

from dataclasses import dataclass
from enum import IntEnum

from amaranth.lib import data

from hw.config import check_range
from hw.environment.machine_ports import WORD_BITS
from hw.environment.task_program import (
    CONSTANT,
    CONSTANTS,
    INSTRUCTION,
    REGISTERS,
    WORDS,
    Opcode,
    encode,
)
from hw.environment.trace import HIGH, LOW
from hw.errors import UsageError

__all__ = ["HEADER", "Image", "Section", "image_of"]


class Section(IntEnum):
    """Sections of an image; the first two are functions."""

    STEP = 0
    RESET = 1
    BEGUN = 2
    STEPPED = 3
    ACTIONS = 4
    STATE = 5
    CONSTANTS = 6


#: section : a Section.
#: first, last : addresses, with ``last`` at least ``first``. Functions share the addresses of one
#:     memory, lists those of another, and constants have their own.
#: more : whether a further section follows.
HEADER = data.StructLayout({"section": 3, "first": 8, "last": 8, "more": 1, "reserved": 16})
assert HEADER.size == WORD_BITS


@dataclass(frozen=True, kw_only=True)
class Image:
    """Sections of an image.

    sections : ``{Section: (first, words)}``, in the order of loading.
    """

    sections: dict

    def __post_init__(self):
        for section in Section:
            if section not in self.sections:
                raise UsageError(f"sections must have {section.name}, not {list(self.sections)}")
            first, words = self.sections[section]
            check_range(f"{section.name}'s first address", first, 0, WORDS - 1)
            least, bounds = 1 + (section is Section.STEPPED), (0, (1 << WORD_BITS) - 1)
            check_range(f"{section.name}'s words", len(words), least, WORDS - first)
            if section is Section.CONSTANTS:
                bounds = LOW, HIGH
            for word in words:
                check_range(f"a word of {section.name}", word, *bounds)

    def length(self, section):
        """Words of a section."""
        return len(self.sections[section][1])

    @property
    def words(self):
        """All words in the order of LOAD, integers of 36 bits."""
        result, left = [], len(self.sections)
        for section, (first, words) in self.sections.items():
            left -= 1
            last = first + len(words) - 1
            header = dict(section=int(section), first=first, last=last, more=int(left > 0))
            result.append(HEADER.const(header).as_bits())
            result += [word & ((1 << WORD_BITS) - 1) for word in words]
        return result


def image_of(program, limit):
    """The Image of a Program, whose episodes are truncated after ``limit`` steps.

    UsageError if ``limit`` is none, or if the program leaves no register, word or constant for the
    count of steps.
    """
    check_range("limit", limit, 1, HIGH)
    step, reset = program.words[: program.reset_start], program.words[program.reset_start :]
    count, constants = _free(program), list(program.constants)
    one, start = _constant(constants, 1), _constant(constants, -limit)
    if len(constants) > CONSTANTS:
        raise UsageError(f"constants must be at most {CONSTANTS - 2}, not {len(program.constants)}")
    if len(program.words) > WORDS - 2:
        raise UsageError(f"words must be at most {WORDS - 2}, not {len(program.words)}")
    seen = [encode(Opcode.MAX, None, place, count, fraction=fraction)
            for place, fraction in program.observation]  # fmt: skip
    reward = encode(Opcode.MAX, None, program.reward, program.terminated,
                    fraction=program.reward_fraction)  # fmt: skip
    actions = range(program.state_count, program.state_count + program.action_count)
    state = [*range(program.state_count), count]
    functions = {
        Section.STEP: (*step, encode(Opcode.ADD, count, count, one)),
        Section.RESET: (*reset, encode(Opcode.MAX, count, start, start)),
    }
    lists = {
        Section.BEGUN: seen,
        Section.STEPPED: [*seen, reward],
        Section.ACTIONS: [encode(Opcode.MAX, place, place, place) for place in actions],
        Section.STATE: [encode(Opcode.MAX, place, place, place) for place in state],
    }
    return Image(
        sections=_placed(functions) | _placed(lists) | {Section.CONSTANTS: (0, tuple(constants))}
    )


def _placed(sections):
    """Sections one after the other, from address 0 on."""
    result, first = {}, 0
    for section, words in sections.items():
        result[section] = first, tuple(words)
        first += len(words)
    return result


def _constant(constants, value):
    """The operand of a constant, which joins the list if it is new."""
    if value not in constants:
        constants.append(value)
    return CONSTANT | constants.index(value)


def _free(program):
    """The highest register that no instruction and no list uses."""
    used = {*range(program.state_count + max(program.action_count, 2))}
    used |= {place for place, _ in program.observation}
    for word in program.words:
        fields = INSTRUCTION.from_bits(word)
        used |= {fields.destination, fields.a, fields.b}
    free = {*range(REGISTERS)} - used
    if not free:
        raise UsageError(f"a register of {REGISTERS} must be free to count steps, not all used")
    return max(free)
