"""hw.gae.intake.beat_counter against the order of planes in memory, beat by beat."""

import random

import numpy as np
from amaranth import unsigned
from arith.free_running import FreeRunning, check
from clocks import Clocks, run_together
from gae.slots import CONFIGS, beat_order, kernel_config
from paces import PACES, pace

from hw.gae.commands import Opcode
from hw.gae.intake.beat_counter import BeatCounter, Plane, beat_layout, of_beat

KINDS, REWARDS, VALUES = Plane
READS = (Opcode.PUSH, Opcode.PUSH_CODES, Opcode.STATISTICS)
MOST_ROWS = dict(data_width=512, rows=256, code_width=16)


def test_order_of_19_rows():
    """Of 16 bytes: the last beat of each plane has 3 rows of 16, 4 or 8."""
    config = kernel_config(**CONFIGS["19 rows"])
    kinds = [(KINDS, 0, False), (KINDS, 16, False)]
    numbers = [
        *((REWARDS, row, False) for row in (0, 4, 8, 12, 16)),
        *((VALUES, row, row == 16) for row in (0, 4, 8, 12, 16)),
    ]
    codes = [
        *((REWARDS, row, False) for row in (0, 8, 16)),
        *((VALUES, row, row == 16) for row in (0, 8, 16)),
    ]
    assert beat_order(config, Opcode.PUSH) == kinds + numbers
    assert beat_order(config, Opcode.STATISTICS) == kinds + numbers
    assert beat_order(config, Opcode.PUSH_CODES) == kinds + codes


def test_beats(simulate, tmp_path):
    """Commands of each opcode, back to back or not; a beat stays until its step."""
    cases = {str(values): counted(values) for values in (*CONFIGS.values(), MOST_ROWS)}
    run_together(simulate, tmp_path, cases)


def counted(values):
    """A case of ``run_together``."""
    config, rng, clocks = kernel_config(**values), random.Random(2), Clocks()
    rows = config.gae.rows
    layout = beat_layout(rows)

    def command(opcode, count, steps, slots):
        clocks.expect(clocks.add(start=1, opcode=opcode.value, count=count), active=0)
        for slot in range(slots):
            for plane, row, ends_slot in beat_order(config, opcode):
                last = ends_slot and slot == count - 1
                beat = dict(plane=plane, row=row, ends_slot=ends_slot, last=last)
                due = dict(active=1, o=layout.const(beat).as_value().value, base=slot * rows)
                while not next(steps):
                    clocks.expect(clocks.add(opcode=opcode.value), **due)
                clocks.expect(clocks.add(opcode=opcode.value, step=1), **due)

    counts = (1, 2, 3) if rows < 256 else (2,)
    for name in PACES:
        steps = pace(name, random.Random(3))
        for opcode in READS:
            for count in counts:
                command(opcode, count, steps, count)
                for _ in range(rng.choice([0, 0, 1, 5])):
                    clocks.expect(clocks.add(), active=0)
    command(Opcode.PUSH_CODES, (1 << 32) - 1, pace("steady", rng), 2)
    return clocks, BeatCounter(config)


def test_of_beat(simulate, tmp_path):
    """Every beat of 7 values, of 1, 2, 4 and 8 elements."""
    width, rows, counts = 5, 7, (1, 2, 4, 8)
    values = [f"value_{row}" for row in range(rows)]
    unit = FreeRunning(
        dict.fromkeys(values, unsigned(width)) | {f"row_{n}": range(rows) for n in counts},
        {f"of_{n}_{k}": unsigned(width) for n in counts for k in range(n)},
        lambda m, i: {
            f"of_{n}_{k}": value
            for n in counts
            for k, value in enumerate(of_beat([i[name] for name in values], i[f"row_{n}"], n))
        },
    )
    rng, clocks = np.random.default_rng(1), np.arange(6 * rows)
    words = rng.integers(1, 1 << width, (len(clocks), rows))
    padded = np.concatenate([words, np.zeros((len(clocks), 8), int)], axis=1)
    first = {n: clocks % rows // n * n for n in counts}
    inputs = dict(zip(values, words.T, strict=True)) | {f"row_{n}": first[n] for n in counts}
    expected = {f"of_{n}_{k}": padded[clocks, first[n] + k] for n in counts for k in range(n)}
    check(simulate, tmp_path, unit, inputs, expected, dict.fromkeys(expected, 0))
