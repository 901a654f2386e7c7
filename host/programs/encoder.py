"""Programs as they lie in memory: turns commands into bytes, with every field within its limits."""

import operator
from typing import NamedTuple

import numpy as np

from host.settings import unknown
from hw.errors import UsageError
from hw.shell.program import COMMAND_BYTES

__all__ = ["Encoder", "encode"]


def encode(commands, program, config):
    """A program as it lies in the card's memory, uint8 [number of commands, 64].

    commands : dict of opcode to Command, the commands that the kernel knows
    program : list of (opcode, dict); a field that the dict does not have has its default
        (``Command.blank``)
    config : the kernel's config, on which limits of fields depend

    UsageError for an opcode or a field that is unknown, for a field that is missing and has no
    default, and for one that is not an integer within its limits.
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
            if not isinstance(values, dict):
                raise UsageError(f"fields of {command.name} must be a dict, not {values!r}")
            raw += command.pack(plain.numbers(values) or _checked(command, ranges, values))
        return raw

    def _learned(self, opcode):
        """What the bytes of a command follow from, but for its fields' numbers."""
        if opcode not in self._commands:
            names = ", ".join(command.name for command in self._commands.values())
            raise UsageError(f"opcode must be one of {names}, not {opcode!r}")
        command = self._commands[opcode]
        ranges = {field.name: _Range.of(command, field, self._config)
                  for field in command.fields[1:]}  # behind the opcode  # fmt: skip
        known = self._known[opcode] = command, ranges, _Plain.of(command, ranges)
        return known


class _Range(NamedTuple):
    """The limits of a field, its count of numbers, and the number where it is not given."""

    low: int
    high: int
    count: int
    blank: int | None

    @classmethod
    def of(cls, command, field, config):
        limits = zip(field.limits(config), field.span, strict=True)
        low, high = (span if own is None else own for own, span in limits)
        return cls(low, high, field.count, command.blank(field, config))


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
        for name, (low, high, count, number) in ranges.items():
            if count == 1:
                places[name] = len(blank), low, high
            else:
                arrays[name] = len(blank), count, low, high
            blank += [number or 0] * count
        needed = (name for name, each in ranges.items() if each.blank is None)
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
    """The numbers of all fields in order; UsageError for the first that is not right."""
    numbers = [command.opcode.value]
    for name in values:
        if name not in ranges:
            raise unknown(name, list(ranges), before=f"{command.name}.")
    for name, (low, high, count, blank) in ranges.items():
        given = values.get(name, blank if count == 1 or blank is None else (blank,) * count)
        if given is None and name not in values:
            raise UsageError(f"{command.name}.{name} must be given, not missing")
        if count == 1:
            numbers.append(_within(command, name, given, low, high))
            continue
        if _count(given) != count:
            raise UsageError(f"{command.name}.{name} must be {count} numbers, not {_count(given)}")
        for place, number in enumerate(given):
            numbers.append(_within(command, f"{name}[{place}]", number, low, high))
    return numbers


def _count(given):
    """How many numbers an array has; anything else counts as one."""
    try:
        return len(given)
    except TypeError:
        return 1


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
