"""Commands of the kernel ``gae`` that must be refused, each with its error."""

import numpy as np

from hw.gae.commands import Opcode
from hw.gae.records import Error, Kind

__all__ = ["BAD"]

#: What a program ends in -> the error that it must give.
BAD = {}


def _bad(error, before=False):
    def register(function):
        function.before = before
        BAD[function] = error
        return function

    return register


def _one(source, kind=Kind.TERMINAL.value):
    kinds = np.full((1, source.gae.rows), kind)
    return kinds, np.zeros(kinds.shape), np.zeros(kinds.shape)


@_bad(Error.OPCODE)
def unknown_opcode(source, program):
    program.raw(source.random.choice([0, 7, 255, 0x0100_0001]))


@_bad(Error.COUNT)
def no_slots(source, program):
    opcode = source.random.choice([Opcode.PUSH, Opcode.PUSH_CODES, Opcode.STATISTICS, Opcode.PULL])
    program.raw(opcode, count=source.random.choice([0, 1 << 16, 0xFFFF_FFFF]))


@_bad(Error.PHASE)
def push_on_results(source, program):
    program.push(Opcode.PUSH_CODES, *_one(source))


@_bad(Error.PHASE)
def estimate_twice(source, program):
    program.raw(Opcode.ESTIMATE, **source.estimate_fields())


@_bad(Error.PHASE, before=True)
def pull_codes(source, program):
    program.pull(1)


@_bad(Error.COUNT)
def pull_too_many(source, program):
    program.pull(source.fill + 1)


@_bad(Error.COUNT)
def estimate_nothing(source, program):
    source.clear(program)
    program.raw(Opcode.ESTIMATE, **source.estimate_fields())


@_bad(Error.FULL)
def too_many_slots(source, program):
    source.clear(program)
    source.fill = source.gae.depth + 2
    program.raw(Opcode.PUSH_CODES, count=source.fill)


@_bad(Error.FULL)
def steps_in_the_last_slot(source, program):
    source.clear(program)
    kinds = np.full((source.gae.depth + 1, source.gae.rows), Kind.TERMINAL.value)
    program.push(Opcode.PUSH_CODES, kinds, np.zeros(kinds.shape), np.zeros(kinds.shape))


@_bad(Error.FIELD)
def coefficient_over_one(source, program):
    source.clear(program)
    source.push(program, 3, True)
    name = source.random.choice(["gamma", "decay", "decay_power"])
    over = (1 << source.gae.coefficient.fraction) + source.random.choice([1, 1 << 31])
    program.raw(Opcode.ESTIMATE, **{name: over & 0xFFFF_FFFF})


@_bad(Error.FIELD)
def factor_out_of_range(source, program):
    source.clear(program)
    name, value = source.random.choice(
        [
            ("exponent", 151),
            ("exponent", -151),
            ("mean", 1 << 26),
            ("mean", -(1 << 26) - 1),
            ("factor", 1 << 26),
            ("shift", 0),
            ("shift", 54),
        ]
    )
    fields = source.push_fields()
    fields[f"{source.random.choice(['reward', 'value'])}_{name}"] = value
    program.push(Opcode.PUSH, *_one(source), **fields)


@_bad(Error.FIELD)
def bits_that_no_code_has(source, program):
    source.clear(program)
    bits = source.random.choice([1, 2, source.gae.most_code_bits + 1, 33, 1 << 31])
    program.push(Opcode.PUSH, *_one(source), **source.push_fields() | {"code_bits": bits})


@_bad(Error.KIND)
def unknown_kind(source, program):
    source.clear(program)
    kinds, *numbers = _one(source)
    kinds[0, source.random.randrange(source.gae.rows)] = source.random.choice([4, 7, 255])
    program.push(Opcode.PUSH_CODES, kinds, *numbers)


@_bad(Error.KIND)
def bootstrap_of_nothing(source, program):
    source.clear(program)
    program.push(Opcode.PUSH_CODES, *_one(source, Kind.BOOTSTRAP.value))


@_bad(Error.UNFINISHED)
def step_before_nothing(source, program):
    source.clear(program)
    program.push(Opcode.PUSH_CODES, *_one(source, Kind.STEP.value))
    program.push(Opcode.PUSH_CODES, *_one(source, Kind.NONE.value))


@_bad(Error.UNFINISHED)
def estimate_open(source, program):
    source.clear(program)
    kinds, *numbers = _one(source)
    kinds[0, source.random.randrange(source.gae.rows)] = Kind.STEP.value
    program.push(Opcode.PUSH_CODES, kinds, *numbers)
    program.raw(Opcode.ESTIMATE, gamma=1)


@_bad(Error.NUMBER)
def not_a_number(source, program):
    source.clear(program)
    kinds, *numbers = _one(source)
    plane = source.random.choice(numbers)
    plane[0, source.random.randrange(source.gae.rows)] = source.random.choice([np.nan, -np.inf])
    if source.random.random() < 0.5:
        program.push(Opcode.PUSH, kinds, *numbers, **source.push_fields())
    else:
        program.statistics(kinds, *numbers)


@_bad(Error.CODE)
def code_without_negative(source, program):
    source.clear(program)
    kinds, *codes = _one(source)
    plane = source.random.choice(codes)
    plane[0, source.random.randrange(source.gae.rows)] = -source.gae.code_limit - 1
    program.push(Opcode.PUSH_CODES, kinds, *codes)


@_bad(Error.OPERANDS)
def operands_left(source, program):
    source.clear(program)
    program.push(Opcode.PUSH_CODES, *_one(source), source=source.random.choice([32, 1 << 30]))


@_bad(Error.RESULTS)
def results_left(source, program):
    program.statistics(*_one(source), destination=source.random.choice([32, 1 << 30]))
