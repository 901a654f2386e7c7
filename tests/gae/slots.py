"""Slots for tests of the intake: random kinds and numbers, in memory, as beats, as commands."""

from types import SimpleNamespace

import numpy as np

from hw.gae.commands import COMMANDS, Opcode
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.gae.intake.beat_counter import Plane
from hw.gae.layouts import slot_layout
from hw.gae.records import Kind
from hw.shell.axi import EngineConfig

__all__ = [
    "CONFIGS",
    "SPECIAL",
    "beat_order",
    "bits",
    "code_bits",
    "config_of",
    "fields_of",
    "kernel_config",
    "memory",
    "packed",
    "push_fields",
    "random_kinds",
    "random_numbers",
    "record",
    "slot_word",
]

CONFIGS = {
    # One row, codes of words.
    "1 row": dict(data_width=128, rows=1, code_width=32),
    # Whole beats of numbers, a part of one of kinds and of codes.
    "8 rows": dict(data_width=128, rows=8, code_width=8),
    # Two beats of kinds, and padding in every plane.
    "19 rows": dict(data_width=128, rows=19, code_width=16),
    "33 rows": dict(data_width=256, rows=33, code_width=8),
    "64 rows": dict(data_width=512, rows=64, code_width=8),
}

#: Numbers at the ends of what counts, and beside halves.
SPECIAL = np.array(
    [0.0, -0.0, 1e-45, -1e-40, 2**-126, 0.5, -0.5, 1.5, -1.5, 3.4e38, -3.4e38, 1.0], np.float32
)


def kernel_config(data_width, **gae):
    return GaeKernelConfig(gae=GaeConfig(**gae), engine=EngineConfig(data_width=data_width))


def config_of(name):
    return kernel_config(**CONFIGS[name])


def random_kinds(count, open_rows, rng):
    """uint8 [count, rows] that may follow rows whose newest slot is a STEP."""
    before, kinds = np.asarray(open_rows, bool), []
    for _ in range(count):
        follows = rng.choice([1, 2, 3], len(before), p=(0.7, 0.15, 0.15))
        begins = rng.choice([0, 1, 2], len(before), p=(0.2, 0.7, 0.1))
        kinds.append(np.where(before, follows, begins))
        before = kinds[-1] == Kind.STEP.value
    return np.array(kinds, np.uint8)


def random_numbers(shape, rng, scale=1.0):
    """float32, with specials among them."""
    numbers = (rng.normal(size=shape) * scale).astype(np.float32)
    return np.where(rng.random(shape) < 0.05, rng.choice(SPECIAL, shape), numbers)


def code_bits(config, rng):
    """Any that a PUSH may name."""
    return int(rng.choice([0, *range(3, config.gae.most_code_bits + 1)]))


def push_fields(config, rng):
    """Such that most numbers of scale 1 do not clip, and some do."""
    fields = {"code_bits": code_bits(config, rng)}
    for name in ("reward", "value"):
        exponent = int(rng.integers(0, 24))
        bits = int(rng.integers(1, 27))
        factor = int(rng.integers(1 << (bits - 1), 1 << bits))
        shift = (
            exponent
            + bits
            - (fields["code_bits"] or config.gae.code_width)
            + int(rng.integers(2, 4))
        )
        fields |= {
            f"{name}_exponent": exponent,
            f"{name}_mean": int(rng.integers(-(1 << exponent), 1 << exponent, endpoint=True)),
            f"{name}_factor": factor,
            f"{name}_shift": min(max(shift, 1), 53),
        }
    return fields


def memory(config, opcode, planes, rng):
    """The planes' bytes; what pads them is anything."""
    beat_bytes = config.engine.beat_bytes
    which = "codes" if opcode == Opcode.PUSH_CODES else "numbers"
    parts = []
    for plane, beats in zip(planes, config.slot_beats[which], strict=True):
        part = rng.integers(0, 256, (len(plane), beats * beat_bytes), np.uint8)
        raw = np.ascontiguousarray(plane).view(np.uint8)
        part[:, : raw.shape[1]] = raw
        parts.append(part)
    return np.concatenate(parts, axis=1)


def record(opcode, **fields):
    """A command as in memory."""
    command = np.zeros((), COMMANDS[opcode].dtype)
    command["opcode"] = opcode.value
    for name, value in fields.items():
        command[name] = value
    return command


def fields_of(opcode, **fields):
    """A command as a twin's units take it: fields as attributes."""
    return SimpleNamespace(**COMMANDS[opcode].unpack(record(opcode, **fields).tobytes()))


def beat_order(config, opcode):
    """``(plane, row of the first element, ends_slot)`` of each beat of a slot."""
    number = config.gae.code_width // 8 if opcode == Opcode.PUSH_CODES else 4
    beats = [
        (plane, row)
        for plane, size in ((Plane.KINDS, 1), (Plane.REWARDS, number), (Plane.VALUES, number))
        for row in range(0, config.gae.rows, config.engine.beat_bytes // size)
    ]
    return [(*beat, beat == beats[-1]) for beat in beats]


def slot_word(config, kinds, rewards, values):
    """The bits of a slot."""
    layout = slot_layout(config)
    width = layout.elem_shape.size
    cells = (
        layout.elem_shape.const({"kind": Kind(int(k)), "reward": int(r), "value": int(v)})
        for k, r, v in zip(kinds, rewards, values, strict=True)
    )
    return sum(cell.as_value().value << width * k for k, cell in enumerate(cells))


def packed(numbers, width):
    """Side by side, the first one lowest, as two's complement of ``width`` bits."""
    return sum(int(number) % (1 << width) << width * k for k, number in enumerate(numbers))


def bits(flags):
    return packed(flags, 1)
