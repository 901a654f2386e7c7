"""FIXAR's commands at and beyond their limits, on card ``model`` and alike on card ``sim``."""

import numpy as np
import pytest
from fixar.kernels import KINDS, SMALL, FixarProgram, FixarPrograms, pair, precision_of, status_of
from programs import Rig
from programs import status_of as statuses_of
from replay.kernels import opened
from replay.programs import CLOCKS

from hw.fixar.commands import COMMANDS, ERRORS, FIXAR_STATUS, FixarError, FixarOpcode
from hw.fixar.precision import Precision, slots
from hw.learner.commands import LearnOpcode
from hw.learner.records import LearnError
from hw.replay.commands import Opcode
from hw.replay.records import Error

ACTIVATIONS, ERROR_SLOTS = slots(SMALL.learner)
AT = COMMANDS[FixarOpcode.FORMAT].offsets
ACT_AT = COMMANDS[LearnOpcode.ACT].offsets
#: Bytes of a binary32.
BITS = {"-0": 0x8000_0000, "-1": 0xBF80_0000, "inf": 0x7F80_0000, "nan": 0x7FC0_0000}


def _format(source, program, **fields):
    program.raw(FixarOpcode.FORMAT, **{"activations": 1, "errors": 1, **fields})


def shifted(kind, slot, shift):
    """A FORMAT in which one shift is not 0."""
    shifts = np.zeros(12, np.uint8)
    shifts[slot] = shift
    return lambda s, p: _format(s, p, **{f"{kind}_shifts": shifts.view("<u4").tolist()})


def fields(**values):
    return lambda s, p: _format(s, p, **values)


def acting(**values):
    return lambda s, p: s.act(p, 3, **values)


def learning(**values):
    return lambda s, p: p.learn(s.steps(1), s.records(0), **{**s.fields(16), **values})


def seen(position, value):
    return lambda s, p: s.act(p, 7, bad=(position, value))


SHIFTS = {
    **{f"activation slot {k}": shifted("activation", k, 17) for k in range(ACTIVATIONS)},
    **{f"error slot {k}": shifted("error", k, 12) for k in range(ERROR_SLOTS)},
    **{f"no activation slot {k}": shifted("activation", k, 1) for k in range(ACTIVATIONS, 12)},
    **{f"no error slot {k}": shifted("error", k, 1) for k in range(ERROR_SLOTS, 12)},
    "a shift of 255": shifted("activation", 1, 255),
    # Not read, but not allowed either.
    "full": lambda s, p: p.raw(FixarOpcode.FORMAT, error_shifts=[12, 0, 0]),
}
#: Of a loaded kernel: what is refused, the error and its detail.
REFUSED = {
    **{name: (make, (FixarError.SHIFT, 0)) for name, make in SHIFTS.items()},
    "errors half alone": (fields(activations=0), (FixarError.PRECISION, 0)),
    **{
        f"{name} 2": (fields(**{name: 2}), (Error.FIELD, AT[name]))
        for name in ("activations", "errors", "clear")
    },
    **{
        f"activation_bits {bits}": (
            fields(activation_bits=bits),
            (Error.FIELD, AT["activation_bits"]),
        )
        for bits in (1, 7, 17, 24, 1 << 31)
    },
    **{
        f"noise {name}": (acting(noise=bits), (Error.FIELD, ACT_AT["noise"]))
        for name, bits in BITS.items()
    },
    "reserved": (acting(reserved=1), (Error.FIELD, ACT_AT["reserved"])),
    "ACT of none": (acting(count=0), (Error.COUNT, 0)),
    "ACT of too many": (acting(count=17), (Error.COUNT, 0)),
    "batch 0": (learning(batch=0), (LearnError.BATCH, 0)),
    "batch 17": (learning(batch=17), (LearnError.BATCH, 0)),
    "TRAIN of 0": (lambda s, p: s.train(p, batch=0), (LearnError.BATCH, 0)),
    "a NaN is seen": (seen(4, np.nan), (LearnError.NUMBER, 4)),
    "the first of all": (seen(0, np.inf), (LearnError.NUMBER, 0)),
    "the last": (seen(6, -np.inf), (LearnError.NUMBER, 6)),
}
#: Shifts at their limits, and what is not read.
TAKEN = {
    "most": fields(activation_shifts=[0x1010_1010, 0x10, 0], error_shifts=[0x0B0B_0B0B, 0x0B0B, 0]),
    "none": fields(clear=1),
    **{f"activation_bits {bits}": fields(activation_bits=bits) for bits in (0, 8, 9, 15, 16)},
    # Of what is in full precision, shifts are not read.
    "errors full, with shifts": fields(errors=0, error_shifts=[5, 0, 0]),
    "both full, with shifts": fields(
        activations=0, errors=0, activation_shifts=[0x0304_0506, 7, 0], error_shifts=[0x0105, 2, 0]
    ),
    "largest noise": acting(noise=0x7F7F_FFFF),
    "any seed": acting(noise=0x3F80_0000, seed=(1 << 64) - 1),
}


def check(shell, outcome):
    assert (shell["error"], shell["error_detail"]) == outcome


def program_of(source, make):
    program = source.fresh()
    make(source, program)
    return program


def launched(rig, program):
    """``(shell, status)`` of a launch, and its outputs."""
    outputs = rig.run(program.launch())
    return statuses_of(outputs["status"], FIXAR_STATUS), outputs


def left(rig, source):
    """Parameters, priorities, ranges, precision: all that a command may have touched."""
    program = source.fresh()
    source.store(program, 15)
    source.get(program)
    (shell, status), outputs = launched(rig, program)
    assert shell["error"] == 0
    kept = {name: status[name].copy() for name in FIXAR_STATUS.dtype.names if "satur" not in name}
    return outputs["results"].tobytes(), {name: value.tolist() for name, value in kept.items()}


@pytest.fixture
def source():
    return FixarPrograms(SMALL, 11)


@pytest.fixture
def rig(source):
    """A kernel that has learned, in half precision."""
    with opened("model", SMALL) as kernel:
        rig = Rig(kernel, {"storage": 1 << 14}, FIXAR_STATUS, CLOCKS)
        rig.run(source.first()[0])
        program = source.fresh()
        program.format(precision_of(SMALL, "half"))
        program.learn(source.steps(2), source.records(0), **source.fields(16))
        (shell, _), _ = launched(rig, program)
        assert shell["error"] == 0
        yield rig


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_changes_nothing(rig, source, name):
    """And what comes after it is done as if it had not been."""
    make, outcome = REFUSED[name]
    before, seen = left(rig, source)
    (shell, _), _ = launched(rig, program_of(source, make))
    check(shell, outcome)
    assert ERRORS[shell["error"]]
    stored, ranges = left(rig, source)
    assert stored == before
    assert ranges == seen
    program = source.fresh()
    program.learn(source.steps(1), source.records(0), **source.fields(15))
    (shell, status), _ = launched(rig, program)
    assert (shell["error"], status["iterations"]) == (0, 3)


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken(rig, source, name):
    (shell, _), _ = launched(rig, program_of(source, TAKEN[name]))
    assert shell["error"] == 0


UNLOADED = {
    "LEARN": lambda s, p: p.learn(s.steps(1), s.records(0), **s.fields(16)),
    "TRAIN": lambda s, p: s.train(p),
    "ACT": lambda s, p: s.act(p, 1),
    "STORE": lambda s, p: s.store(p, 1),
}


@pytest.mark.parametrize("name", UNLOADED)
@pytest.mark.parametrize("sets", [0, 14])
def test_nothing_is_done_before_load(source, name, sets):
    """Nor where what it needs is missing; FORMAT needs nothing."""
    with opened("model", SMALL) as kernel:
        rig = Rig(kernel, {"storage": 1 << 14}, FIXAR_STATUS, CLOCKS)
        launch, _ = before_load(source, name, sets)
        shell, _ = statuses_of(rig.run(launch)["status"], FIXAR_STATUS)
        assert (shell["error"], shell["error_detail"]) == (LearnError.UNLOADED, 0)
        assert shell["error_command"] == launch.command_count - 1


def before_load(source, name, sets):
    program = FixarProgram()
    program.setup(source.capacity, source.granules, 9)
    program.raw(Opcode.SEED, state=[1, 2, 3, 4])
    program.insert(source.records(20))
    program.format(precision_of(SMALL, "mixed"))
    if sets:
        source.load(program, sets)
    UNLOADED[name](source, program)
    return program.launch(), program.reports


def test_both_cards_refuse_alike(source):
    """Error and detail, and all that is left; good iterations between them."""
    with pair(SMALL) as kernels:
        for name in UNLOADED:
            kernels.run(*before_load(source, name, 0), f"{name} before LOAD")
        kernels.run(*source.first(), "first")
        for number, (name, (make, outcome)) in enumerate(REFUSED.items()):
            program = source.fresh()
            if number % 5 == 0:
                program.format(precision_of(SMALL, list(KINDS)[number % 3]), clear=1)
                program.learn(source.steps(1), source.records(1), **source.fields(5))
            make(source, program)
            shell, *_ = kernels.run(program.launch(), program.reports, name)
            check(shell, outcome)
        for name, make in TAKEN.items():
            program = program_of(source, make)
            if "shifts" in name:
                program.learn(source.steps(1), source.records(0), **source.fields(16))
                program.train(source.steps(1), source.batches(1, 16))
            shell, *_ = kernels.run(program.launch(), program.reports, name)
            assert shell["error"] == 0, name
        shell, *_ = kernels.run(*source.tail(source.fresh()), "last")
        assert shell["error"] == 0
        assert status_of(kernels.outputs)["precision"] == 0


def test_format_says_what_the_status_says(rig, source):
    precision = Precision(
        activations=True, activation_shifts=tuple(range(12, 12 + ACTIVATIONS)), error_shifts=()
    )
    program = source.fresh()
    program.format(precision)
    (_, status), _ = launched(rig, program)
    assert status["precision"] == 1
    shifts = status["activation_shifts"].view(np.uint8)[:ACTIVATIONS]
    assert shifts.tolist() == list(precision.activation_shifts)
    assert not status["error_shifts"].any()
