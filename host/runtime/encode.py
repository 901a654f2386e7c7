"""Programs as they lie in memory: turns commands into bytes, with every field within its limits."""

import operator
from typing import NamedTuple

import numpy as np

from hw.errors import UsageError
from hw.shell.program import COMMAND_BYTES

__all__ = ["Encoder", "encode"]


def encode(commands, program, config):
    """A program as it lies in the card's memory, uint8 [number of commands, 64].

    commands : dict of opcode to Command, the commands that the kernel knows
    program : list of (opcode, dict); fields that are not named are 0
    config : the kernel's config, on which limits of fields depend

    ValueError for a field that is unknown, or that is not an integer within its limits.
    """
    raw = Encoder(commands, config)(program)
    return np.frombuffer(raw, np.uint8).reshape(-1, COMMAND_BYTES)


class Encoder:
    """A callable: takes a program and returns its bytes, as ``encode`` does, for the commands and
    the config of one kernel. The limits of a command's fields are found once and then kept."""

    def __init__(self, commands, config):
        self._commands, self._config, self._known = commands, config, {}

    def __call__(self, program):
        raw = bytearray()
        for opcode, values in program:
            command, ranges, plain = self._known.get(opcode) or self._learned(opcode)
            raw += command.pack(plain.numbers(values) or _checked(command, ranges, values))
        return raw

    def _learned(self, opcode):
        """What the bytes of a command follow from, but for its fields' numbers."""
        command = self._commands[opcode]
        ranges = _ranges(command, self._config)
        known = self._known[opcode] = command, ranges, _Plain.of(command, ranges)
        return known


class _Plain(NamedTuple):
    """The usual command, whose fields are ints within their limits, and arrays of such.

    ``blank``: its numbers where no field is given; ``needed``: fields that must be; ``places``:
    field to its position and limits, and ``arrays``: to its position, count and limits.
    """

    blank: list
    needed: frozenset
    places: dict
    arrays: dict

    @classmethod
    def of(cls, command, ranges):
        blank, places, arrays = [command.opcode.value], {}, {}
        for name, (low, high, zero) in ranges.items():
            if zero == 0:
                places[name] = len(blank), low, high
                blank.append(0)
            else:
                arrays[name] = len(blank), len(zero), low, high
                blank.extend(zero)
        needed = (name for name, (low, high, _) in ranges.items() if not low <= 0 <= high)
        return cls(blank, frozenset(needed), places, arrays)

    def numbers(self, values):
        """The fields' numbers in order; None where ``values`` are not usual, or not right."""
        if not self.needed <= values.keys():
            return None
        numbers = self.blank.copy()
        for name, number in values.items():
            place, low, high = self.places.get(name, _NOWHERE)
            if type(number) is int and low <= number <= high:
                numbers[place] = number
            elif not self._lay(numbers, *self.arrays.get(name, _NO_ARRAY), number):
                return None
        return numbers

    @staticmethod
    def _lay(numbers, place, count, low, high, given):
        """Put an array of ``count`` into ``numbers``; False where it is not usual, or not right."""
        given = given.tolist() if isinstance(given, np.ndarray) else given
        if type(given) not in (list, tuple) or len(given) != count:
            return False
        for number in given:
            if type(number) is not int or not low <= number <= high:
                return False
        numbers[place : place + count] = given
        return True


_NOWHERE = 0, 1, 0
_NO_ARRAY = 0, -1, 0, 0


def _checked(command, ranges, values):
    """The numbers of all fields in order; ValueError for the first that is not right."""
    numbers = [command.opcode.value]
    if not values.keys() <= ranges.keys():
        raise UsageError(f"no field of name {next(n for n in values if n not in ranges)}")
    for name, (low, high, blank) in ranges.items():
        given = values.get(name, blank)
        if blank == 0:
            numbers.append(_within(command, name, given, low, high))
            continue
        count = _count(given)
        if count != len(blank):
            raise UsageError(f"{command.name}.{name} must be {len(blank)} numbers, not {count}")
        for place, number in enumerate(given):
            numbers.append(_within(command, f"{name}[{place}]", number, low, high))
    return numbers


def _count(given):
    """How many numbers an array has; anything else counts as one."""
    try:
        return len(given)
    except TypeError:
        return 1


def _ranges(command, config):
    """``{field: (low, high, blank)}``: its limits, and its value if it is not given."""
    ranges = {}
    for field in command.fields[1:]:  # behind the opcode
        limits = zip(field.limits(config), field.span, strict=True)
        low, high = (span if own is None else own for own, span in limits)
        ranges[field.name] = low, high, (0,) * field.count if field.count > 1 else 0
    return ranges


def _within(command, name, number, low, high):
    """``number`` as an int; ValueError unless it is one in low..high."""
    try:
        whole = operator.index(number)
    except TypeError:
        whole = None
    if whole is None or not low <= whole <= high:
        rule = f"in {low}..{high}" if low < high else low
        raise UsageError(f"{command.name}.{name} must be {rule}, not {number}")
    return whole
