"""Random programs of the kernel ``gae``, which know what the stack holds."""

import random

import numpy as np
import programs
from programs import Builder

from hw.gae.commands import COMMANDS, Opcode
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.gae.records import GAE_STATUS, MOMENTS, Kind
from hw.shell.axi import EngineConfig

__all__ = ["MIDDLE", "NARROW", "WIDE", "GaeProgram", "RandomRollouts", "Rig", "kernel_config"]
__all__ += ["status_of"]

CLOCKS = ("estimate_cycles", "push_cycles", "pull_cycles")


def kernel_config(data_width=512, **gae):
    """A kernel around ``GaeConfig(**gae)`` with engines small enough to fill up."""
    engine = EngineConfig(data_width=data_width, depth=128, burst_beats=16)
    return GaeKernelConfig(gae=GaeConfig(**gae), engine=engine)


#: The kernels that are compiled for card ``sim``: parts of a beat, and whole ones of words.
NARROW = kernel_config(128, rows=5, depth=17, lookahead=3)
MIDDLE = kernel_config(128, rows=3, depth=9, code_width=16, result_width=8)
WIDE = kernel_config(512, rows=20, depth=24, code_width=32, result_width=16)


class Rig(programs.Rig):
    def __init__(self, kernel, timeout_s=60.0):
        super().__init__(kernel, {}, GAE_STATUS, CLOCKS, timeout_s)


def status_of(block):
    return programs.status_of(block, GAE_STATUS)


class GaeProgram(Builder):
    """Slots as arrays [slots, rows]."""

    def __init__(self, config):
        super().__init__(COMMANDS, config.engine.beat_bytes)
        self.config = config

    def planes(self, which, *arrays):
        """``arrays`` as the planes of slots of numbers or codes."""
        beat, sizes = self.config.engine.beat_bytes, self.config.slot_beats[which]
        raw = np.zeros((len(arrays[0]), sum(sizes) * beat), np.uint8)
        raw[:] = 0x7F  # padding, a NaN if it counted
        begin = 0
        for array, size in zip(arrays, sizes, strict=True):
            array = np.ascontiguousarray(array)
            raw[:, begin : begin + array.shape[1] * array.itemsize] = array.view(np.uint8).reshape(
                len(array), -1
            )
            begin += size * beat
        return raw

    def push(self, opcode, kinds, rewards, values, **fields):
        which = "codes" if opcode == Opcode.PUSH_CODES else "numbers"
        dtype = np.float32 if which == "numbers" else f"<i{self.config.gae.code_width // 8}"
        raw = self.planes(
            which, kinds.astype(np.uint8), rewards.astype(dtype), values.astype(dtype)
        )
        self.raw(opcode, **{"count": len(kinds), "source": self.operand(raw), **fields})

    def statistics(self, kinds, rewards, values, **fields):
        place = self.result(2 * MOMENTS.size)
        self.push(Opcode.STATISTICS, kinds, rewards, values, **{"destination": place, **fields})

    def pull(self, count, **fields):
        size = sum(self.config.slot_beats["results"]) * self.config.engine.beat_bytes
        self.raw(
            Opcode.PULL, **{"count": count, "destination": self.result(count * size), **fields}
        )


class RandomRollouts:
    """``program()`` is the next one; ``learn`` the fill and phase after each launch."""

    def __init__(self, config, seed):
        self.config, self.gae = config, config.gae
        self.rng, self.random = np.random.default_rng(seed), random.Random(seed)
        self.fill, self.open, self.results = 0, np.zeros(config.gae.rows, bool), False

    def kinds(self, slots, finish):
        """Kinds [slots, rows] that may follow what is on the stack; ``finish``: nothing open."""
        rows, kinds = self.gae.rows, []
        before = np.where(self.open, Kind.STEP.value, Kind.TERMINAL.value)
        for slot in range(slots):
            last = slot == slots - 1
            full = self.fill + slot == self.gae.depth
            row = self.rng.choice(4, rows, p=(0.1, 0.6, 0.15, 0.15))
            row = np.where(before == 1, row, np.where(row == 3, 0, row))
            row = np.where((before == 1) & (row == 0), 3, row)
            if full:
                row = np.where(before == 1, 3, 0)
            elif last and finish:
                row = np.where(
                    before == 1, self.rng.choice([2, 3], rows), np.where(row == 1, 2, row)
                )
            kinds.append(row)
            before = row
        self.open = before == 1
        return np.array(kinds, np.uint8)

    def numbers(self, shape):
        scale = 2.0 ** self.random.randint(-20, 12)
        numbers = (self.rng.normal(self.rng.normal(), 1, shape) * scale).astype(np.float32)
        odd = self.rng.random(shape) < 0.02
        numbers[odd] = self.rng.choice([0.0, -0.0, 1e-42, 3e38, -3e38, 1.0], int(odd.sum()))
        return numbers

    def push_fields(self):
        bits = self.random.choice([0, 0, *range(3, self.gae.most_code_bits + 1)])
        fields = {"code_bits": bits}
        for name in ("reward", "value"):
            limit = self.random.choice([1 << 10, 1 << 26])
            fields[f"{name}_exponent"] = self.random.randint(-6, 24)
            fields[f"{name}_mean"] = self.random.randint(-limit, limit - 1)
            fields[f"{name}_factor"] = self.random.choice(
                [0, (1 << 26) - 1, self.random.getrandbits(26)]
            )
            fields[f"{name}_shift"] = self.random.choice([1, 53, self.random.randint(20, 45)])
        return fields

    def estimate_fields(self):
        gae, one = self.gae, 1 << self.gae.coefficient.fraction
        gamma, decay = (self.random.choice([0, one, self.random.randint(0, one)]) for _ in range(2))
        power = round((decay / one) ** gae.lookahead * one)
        fields = dict(gamma=gamma, decay=decay, decay_power=power)
        width = min(31, gae.word.width - self.random.choice([1, 8]) - 1)
        for name in ("reward", "value"):
            fields[f"{name}_scale"] = self.random.getrandbits(self.random.choice([8, 17, 26]))
            fields[f"{name}_mean"] = self.random.randint(-(1 << width), (1 << width) - 1)
        fields["result_mean"] = fields["value_mean"]
        return fields

    def push(self, program, slots, finish):
        before = self.open.copy()
        kinds = self.kinds(slots, finish)
        if self.random.random() < 0.3:
            shape, limit = kinds.shape, self.gae.code_limit
            codes = self.rng.integers(-limit, limit + 1, (2, *shape))
            codes[:, self.rng.random(shape) < 0.1] = limit
            program.push(Opcode.PUSH_CODES, kinds, *codes)
        else:
            rewards, values = self.numbers(kinds.shape), self.numbers(kinds.shape)
            # What does not count may be anything.
            rewards[(kinds == 0) | (kinds == 3)] = np.nan
            values[kinds == 0] = np.inf
            program.push(Opcode.PUSH, kinds, rewards, values, **self.push_fields())
        self.fill += slots
        return before

    def statistics(self, program):
        slots = self.random.randint(1, 12)
        saved = self.open
        self.open = np.zeros_like(saved)
        kinds = self.kinds(slots, True)
        self.open = saved
        prior = {}
        if self.random.random() < 0.5:
            count = self.random.randint(1, 1 << 31)
            mean = self.random.randint(-(1 << 26), 1 << 26)
            squares = count * mean * mean + self.random.randint(0, 1 << 60)
            prior = dict(
                prior_count=count,
                prior_sum=count * mean,
                prior_squares=[squares & (1 << 64) - 1, squares >> 64],
            )
        exponents = {
            f"{name}_exponent": self.random.randint(-6, 24) for name in ("reward", "value")
        }
        numbers = self.numbers(kinds.shape), self.numbers(kinds.shape)
        program.statistics(kinds, *numbers, **prior, **exponents)

    def program(self, bad=None):
        """Rollouts pushed in parts, estimated and pulled; with ``bad``, of ``bad_commands``, that
        and a CLEAR, which must not run, at the end."""
        program = GaeProgram(self.config)
        for _ in range(self.random.randint(1, 2)):
            self.clear(program)
            if self.random.random() < 0.5:
                self.statistics(program)
            total = self.random.choice(
                [1, 2, self.gae.depth + 1, self.random.randint(1, self.gae.depth)]
            )
            parts = self.random.randint(1, min(3, total))
            cuts = sorted(self.random.sample(range(1, total), parts - 1))
            for begin, end in zip([0, *cuts], [*cuts, total], strict=True):
                self.push(program, end - begin, end == total)
            if bad is not None and bad.before:
                continue
            program.raw(Opcode.ESTIMATE, **self.estimate_fields())
            self.results = True
            for count in {total, self.random.randint(1, total)}:
                program.pull(count)
        if bad is not None:
            bad(self, program)
            self.clear(program)
        return program.launch()

    def clear(self, program):
        program.raw(Opcode.CLEAR)
        self.fill, self.open, self.results = 0, np.zeros(self.gae.rows, bool), False
