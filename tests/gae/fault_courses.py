"""Courses of launches on small kernels ``gae``, and what they are made of."""

import functools

import numpy as np
from faults import Course, failed
from gae.gae_programs import MIDDLE, NARROW, WIDE, GaeProgram, Rig
from later import later
from replay.kernels import opened

from hw.gae.commands import Opcode
from hw.gae.records import Kind
from hw.shell.status_block import STATUS

__all__ = [
    "BOOTSTRAP",
    "CONFIGS",
    "ESTIMATE",
    "NAMES",
    "NONE",
    "PUSH",
    "STEP",
    "TERMINAL",
    "Small",
    "course",
    "failing_reads",
    "finishing",
    "kinds_of",
    "own_status",
    "program_beats",
    "push",
    "pushing",
    "statistics",
]

CONFIGS = {"narrow": NARROW, "middle": MIDDLE, "wide": WIDE}
#: Compiling one of the others takes longer than all tests of the narrow one.
NAMES = ["narrow", later("middle"), later("wide")]
NONE, STEP, TERMINAL, BOOTSTRAP = (kind.value for kind in Kind)
#: Of PUSH: codes of numbers around 0, and of ESTIMATE.
PUSH = {
    f"{name}_{field}": value
    for name in ("reward", "value")
    for field, value in (("exponent", 20), ("mean", 12345), ("factor", 7 << 20), ("shift", 41))
}
ESTIMATE = dict(gamma=0xF000, decay=0xE000, decay_power=0xD000, reward_scale=300, value_scale=500)


class Small(Rig):
    SIZES = {"program": 4096, "operands": 16384, "results": 16384, "status": 4096}


def course(config, *programs, **memory):
    launches = [program.launch() for program in programs]
    return Course(functools.partial(opened, config=config), Small, launches, **memory)


def kinds_of(config, *slots):
    """The same for every row."""
    return np.repeat(np.array(slots)[:, None], config.gae.rows, axis=1)


def push(program, opcode, kinds, seed):
    """Random slots."""
    rng, limit = np.random.default_rng(seed), program.config.gae.code_limit
    if opcode == Opcode.PUSH_CODES:
        codes = rng.integers(-min(limit, 1 << 20), min(limit, 1 << 20), (2, *kinds.shape))
        program.push(opcode, kinds, *codes)
    else:
        program.push(opcode, kinds, *rng.standard_normal((2, *kinds.shape)), **PUSH)


def pushing(config, opcode, *slots, seed=1, clear=False):
    """A program of one push, after a CLEAR or not."""
    program = GaeProgram(config)
    if clear:
        program.raw(Opcode.CLEAR)
    push(program, opcode, kinds_of(config, *slots), seed)
    return program


def finishing(config, *slots, count):
    """Push ``slots``, of bootstraps or terminal, estimate, and pull ``count`` results."""
    program = GaeProgram(config)
    if slots:
        push(program, Opcode.PUSH_CODES, kinds_of(config, *slots), 4)
    program.raw(Opcode.ESTIMATE, **ESTIMATE)
    program.pull(count)
    return program


def statistics(config, seed=5):
    program, rng = GaeProgram(config), np.random.default_rng(seed)
    kinds = kinds_of(config, STEP, BOOTSTRAP, NONE)
    numbers = rng.standard_normal((2, *kinds.shape))
    program.statistics(kinds, *numbers, reward_exponent=20, value_exponent=20)
    return program


def program_beats(config):
    return 64 // config.engine.beat_bytes


def own_status(outputs):
    return outputs["status"][STATUS.size :]


def failing_reads(faulty, launch, config, command=0):
    """``(beat, outputs)``, where each beat of operands in turn fails, and ``command`` with it."""
    first = faulty.launches[launch].command_count * program_beats(config)
    beats = range(first, faulty.answers(launch, "host", "R"))
    assert len(beats) >= 3
    for beat in beats:
        outputs = faulty.fail(launch, "host", "R", beat)
        failed(outputs[launch], command, beat)
        yield beat, outputs
