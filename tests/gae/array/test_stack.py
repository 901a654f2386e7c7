"""hw.gae.array.stack: what is popped, in which order, and what an estimate leaves where it is."""

import pytest
from clocks import Clocks, run_together
from gae.array.estimator_cases import BOOTSTRAP, NONE, TERMINAL

from hw.gae.array.stack import Stack
from hw.gae.config import GaeConfig
from hw.gae.estimate import stack

CONFIG = GaeConfig(rows=1, depth=4)


def slot(kind, reward, value):
    return kind | (reward & 0xFF) << 2 | (value & 0xFF) << 10


def started():
    """``Clocks`` whose first names every input, so that all are driven."""
    clocks = Clocks()
    names = ("clear", "rewind", "rewind_to", "pop", "results", "pull", "pull_count", "o__ready")
    clocks.add(push__payload=0, push__valid=0, **dict.fromkeys(names, 0))
    return clocks


def pushed(clocks, slots):
    for each in slots:
        clocks.add(push__payload=each, push__valid=1)


@pytest.mark.verilator
def test_pop(simulate, tmp_path):
    """The last first, a clock after the other, then NONE; the slot above the memory among them."""
    cases = {count: (popped_of(count), Stack(CONFIG)) for count in (1, 3, 4, 5)}
    run_together(simulate, tmp_path, cases)


def popped_of(count):
    slots = [slot(TERMINAL, k + 1, -k - 1) for k in range(4)] + [slot(BOOTSTRAP, 99, 7)]
    clocks = started()
    pushed(clocks, slots[:count])
    start = clocks.add(pop=1)
    clocks.expect(start, fill=count, push__ready=count < 5)
    for k in range(count):
        popped = slots[count - 1 - k]
        if count - 1 - k == 4:
            # Nothing says what the reward of a BOOTSTRAP is.
            clocks.expect(start + 2 + k, fill=count)
            continue
        last = k == count - 1
        clocks.expect(start + 2 + k, popped=1 | last << 1 | popped << 2)
    clocks.add()
    assert max(clocks.expected) == start + 1 + count
    return clocks


def test_an_empty_stack_ends_as_well(simulate, tmp_path):
    clocks = started()
    start = clocks.add(pop=1)
    clocks.expect(start, fill=0)
    clocks.expect(start + 1, o__valid=0)
    clocks.run(simulate, Stack(CONFIG), tmp_path)


def test_results_take_the_places_of_slots(simulate, tmp_path):
    """Also where they come before the last slot has been popped, as they do in long stacks: none of
    them changes what is still to be popped, nor does that of the slot above the memory."""
    units = {depth: Stack(GaeConfig(rows=1, depth=depth)) for depth in (4, 5)}
    cases = {depth: (results_of(depth), unit) for depth, unit in units.items()}
    run_together(simulate, tmp_path, cases)


def results_of(depth):
    clocks = started()
    pushed(clocks, [slot(TERMINAL, k + 1, k) for k in range(depth)] + [slot(NONE, 0, 0)])
    start = clocks.add(pop=1)
    for k in range(depth):
        expected = 1 | (k == 0) << 1 | slot(TERMINAL, k + 1, k) << 2
        clocks.expect(start + 2 + depth - k, popped=expected)
    clocks.add()
    clocks.add()
    for k in reversed(range(depth + 1)):
        clocks.add(results=1 | ((0x4C + k) | (0x5C + k) << 8) << 1)
    clocks.add()
    start = clocks.add(pull=1, pull_count=depth + 1)
    for _ in range(depth + 4):
        clocks.add(o__ready=1)
    # Popped last, results of the oldest slot; of the slot above the memory they are 0.
    for k in range(depth):
        clocks.expect(start + 2 + k, o__valid=1, o__payload=(0x4C + k) | (0x5C + k) << 8)
    clocks.expect(start + depth + 2, o__valid=1, o__payload=0)
    clocks.expect(start + depth + 3, o__valid=0)
    return clocks


def test_rewind_and_clear(simulate, tmp_path):
    clocks = started()
    pushed(clocks, [slot(TERMINAL, k, k) for k in range(5)])
    clocks.expect(clocks.add(rewind=1, rewind_to=2), fill=5, push__ready=0)
    clocks.expect(clocks.add(), fill=2, push__ready=1)
    pushed(clocks, [slot(TERMINAL, 9, 9)])
    start = clocks.add(pop=1)
    clocks.expect(start, fill=3)
    for k, value in enumerate((9, 1, 0)):
        wanted = 1 | (k == 2) << 1 | slot(TERMINAL, value, value) << 2
        clocks.expect(start + 2 + k, popped=wanted)
    for _ in range(5):
        clocks.add()
    clocks.add(clear=1)
    clocks.expect(clocks.add(), fill=0)
    clocks.run(simulate, Stack(CONFIG), tmp_path)


@pytest.mark.parametrize(
    "config, blocks",
    [
        (dict(), dict(bram36=32, uram=0)),  # HEPPO V-D2: 64 x 1024 slots, 8-bit codes
        (dict(code_width=32), dict(bram36=117.5, uram=0)),  # 66 bits a row, 36 a block
        (dict(depth=2047), dict(bram36=64, uram=0)),
        (dict(depth=4096), dict(bram36=0, uram=16)),
        (dict(depth=4096, ultra_ram=False), dict(bram36=128, uram=0)),
        (dict(depth=16), dict(bram36=0, uram=0)),
    ],
    ids=str,
)
def test_memory_blocks(config, blocks):
    estimate = stack(GaeConfig(**config))
    assert {name: getattr(estimate, name) for name in blocks} == blocks
