"""Programs of the kernel ``adder`` for tests."""

import random

import numpy as np
import programs
from design.adder.commands import COMMANDS, Opcode
from design.adder.config import NUMBER_BYTES, AdderConfig
from design.adder.records import ADDER_STATUS, Error
from programs import Builder

from hw.shell.axi import EngineConfig

__all__ = ["BAD", "CLOCKS", "AdderProgram", "RandomSums", "Rig", "kernel_config", "status_of"]

#: What the twin does not know of the status.
CLOCKS = ("cycles",)


def kernel_config(data_width, vectors_width, depth=64):
    """A kernel with engines small enough to fill up."""
    return AdderConfig(
        capacity=1000,
        engine=EngineConfig(data_width=data_width, depth=depth, burst_beats=8, bursts=8),
        vectors_engine=EngineConfig(
            data_width=vectors_width, depth=depth, burst_beats=16, bursts=8
        ),
    )


class AdderProgram(Builder):
    """Vectors lie behind each other in x and in y, whose sizes are exact, in whole beats."""

    def __init__(self, config):
        super().__init__(COMMANDS, config.engine.beat_bytes)
        self.config = config

    def bias(self, bias, **fields):
        self.raw(Opcode.BIAS, **{"bias": bias, **fields})

    def add(self, x, y, /, **fields):
        """``fields`` replace what would be right."""
        beat = self.config.vectors_engine.beat_bytes
        x, y = (np.array(vector, "<u4") for vector in (x, y))
        places = {"x": self.own("x", x, beat), "y": self.own("y", y, beat)}
        right = {"count": len(x), "destination": self.result(NUMBER_BYTES * len(x)), **places}
        self.raw(Opcode.ADD, **{**right, **fields})


class Rig(programs.Rig):
    """A kernel with vectors of 64 KB in all."""

    def __init__(self, kernel, timeout_s=60.0):
        super().__init__(kernel, {"x": 1 << 16, "y": 1 << 16}, ADDER_STATUS, CLOCKS, timeout_s)


def status_of(block):
    """``(STATUS record, ADDER_STATUS record)`` of the bytes of a status block."""
    return programs.status_of(block, ADDER_STATUS)


class RandomSums:
    """``program()`` is the next one; with ``bad``, a key of ``BAD``, that and a BIAS, which must
    not run, at the end."""

    def __init__(self, config, seed):
        self.config, self.rng = config, random.Random(seed)
        self.numbers = np.random.default_rng(seed)

    def program(self, bad=None):
        program, lanes = AdderProgram(self.config), self.config.vectors_engine.data_width // 32
        program.bias(self.rng.getrandbits(32))
        for _ in range(self.rng.randint(1, 4)):
            capacity = self.config.capacity
            most = self.rng.choice([1, 2, lanes, 4 * lanes, capacity])
            self.add(program, self.rng.choice([1, lanes, most, self.rng.randint(1, most)]))
        if bad:
            bad(self, program)
            program.bias(0)
        return program.launch()

    def add(self, program, length, **fields):
        x, y = self.numbers.integers(0, 1 << 32, (2, length), np.uint32)
        program.add(x, y, **fields)


def _opcode(source, program):
    program.raw(source.rng.choice([0, 3, 255, 256 + Opcode.ADD.value, 1 << 31]))


def _count(source, program):
    source.add(program, 3, count=source.rng.choice([0, source.config.capacity + 1, 1 << 31]))


def _field(source, program):
    if source.rng.randrange(2):
        program.bias(7, **{source.rng.choice(["count", "source", "destination"]): 1})
    else:
        source.add(program, 3)
        program.last[source.rng.choice([8, 24, 63])] = 64


def _buffer(source, program):
    source.add(program, 3)
    x_or_y = source.rng.choice([4, 5])  # words of the command
    program.last.view("<u4")[x_or_y] += source.rng.choice([4, 32, 64, 1 << 31])


def _results(source, program):
    source.add(program, 3)
    program.last.view("<u4")[3] += source.rng.choice([4, 32, 64, 1 << 31])


#: What spoils a program, and the error that it ends with.
BAD = {
    _opcode: Error.OPCODE,
    _count: Error.COUNT,
    _field: Error.FIELD,
    _buffer: Error.BUFFER,
    _results: Error.RESULTS,
}
