"""hw.gae.intake.slot_rules: what may follow what, and what counts."""

import random

import numpy as np
import pytest
from amaranth import unsigned
from arith.free_running import FreeRunning, check
from clocks import Clocks, run_together
from gae.slots import bits, packed
from later import later

from hw.gae.config import GaeConfig
from hw.gae.intake.slot_rules import SlotRules, reward_counts, value_counts
from hw.gae.records import Kind

NONE, STEP, TERMINAL, BOOTSTRAP = (kind.value for kind in Kind)

#: Kind, and the one after it in a row -> whether that is bad, whether the row is unfinished.
RULES = {
    (NONE, NONE): (False, False),
    (NONE, STEP): (False, False),
    (NONE, TERMINAL): (False, False),
    (NONE, BOOTSTRAP): (True, False),
    (STEP, NONE): (False, True),
    (STEP, STEP): (False, False),
    (STEP, TERMINAL): (False, False),
    (STEP, BOOTSTRAP): (False, False),
    (TERMINAL, NONE): (False, False),
    (TERMINAL, STEP): (False, False),
    (TERMINAL, TERMINAL): (False, False),
    (TERMINAL, BOOTSTRAP): (True, False),
    (BOOTSTRAP, NONE): (False, False),
    (BOOTSTRAP, STEP): (False, False),
    (BOOTSTRAP, TERMINAL): (False, False),
    (BOOTSTRAP, BOOTSTRAP): (True, False),
}

#: Every kind after every kind, round and round.
ROUND = [0, 0, 1, 0, 2, 0, 3, 1, 1, 2, 1, 3, 2, 2, 3, 3]

#: No kinds: each of the upper bits alone, on every kind, and all of them.
BEYOND = [1 << bit | kind for bit in range(2, 8) for kind in range(4)] + [255]


def judged(before, element, ordered):
    """``(bad, unfinished)`` of one row."""
    if element > 3:
        return True, False
    return RULES[before, element] if ordered else (False, False)


class Rows:
    """Slots for ``SlotRules``, and what it must answer."""

    def __init__(self, rows, beat_bytes):
        self.rows, self.size = rows, beat_bytes
        self.rng, self.clocks = random.Random(rows), Clocks()
        self.kinds = None

    def ended(self):
        """A case of ``run_together``."""
        self.begin([False] * self.rows)
        return self.clocks, SlotRules(GaeConfig(rows=self.rows), self.size)

    def begin(self, open_rows):
        self.clocks.add(start=1, open=bits(open_rows))
        self.kinds = [STEP if is_open else NONE for is_open in open_rows]
        self.clocks.expect(self.clocks.add(), kinds=self._word())

    def slot(self, elements, ordered=True):
        """Its beats, each judged also in clocks before its step."""
        for row in range(0, self.rows, self.size):
            for step in (*[0] * self.rng.choice([0, 0, 1, 3]), 1):
                if step:
                    here = elements[row : row + self.size]
                else:
                    here = [self.rng.choice([0, 1, 2, 3, 4, 255]) for _ in range(self.size)]
                self._beat(row, here, ordered, step)

    def _beat(self, row, here, ordered, step):
        anything = [self.rng.choice([0, 1, 3, 255]) for _ in range(self.size)]
        before = self.kinds[row : row + self.size]
        here = here[: len(before)]
        beat = [*here, *anything][: self.size]
        verdicts = [judged(a, b, ordered) for a, b in zip(before, here, strict=True)]
        clock = self.clocks.add(beat=packed(beat, 8), row=row, ordered=ordered, step=step)
        self.clocks.expect(
            clock,
            kinds=self._word(),
            bad=bits(bad for bad, _ in verdicts),
            unfinished=bits(unfinished for _, unfinished in verdicts),
        )
        if step:
            self.kinds[row : row + self.size] = [element % 4 for element in here]

    def _word(self):
        return packed(self.kinds, 2)


def test_a_round_has_every_transition():
    assert {(a, b) for a, b in zip(ROUND, ROUND[1:] + ROUND[:1], strict=True)} == set(RULES)


@pytest.mark.parametrize("sizes", [[(1, 16), (16, 16), (19, 16), (33, 32)], later([(64, 64)])])
def test_kinds(simulate, tmp_path, sizes):
    """Each row takes every transition, each at its own time; what is no kind; then anything."""
    run_together(simulate, tmp_path, {rows: judged_slots(rows, size) for rows, size in sizes})


def judged_slots(rows, beat_bytes):
    slots = Rows(rows, beat_bytes)
    for ordered in (True, False):
        for is_open in (False, True):
            slots.begin([is_open ^ bool(row % 2) for row in range(rows)])
            for slot in range(len(ROUND) + 1):
                slots.slot([ROUND[(slot + row) % len(ROUND)] for row in range(rows)], ordered)
        for before in range(4):
            for k in range(0, len(BEYOND), rows):
                slots.slot([before] * rows, ordered)
                slots.slot([BEYOND[(k + row) % len(BEYOND)] for row in range(rows)], ordered)
    for _ in range(10):
        slots.begin([slots.rng.random() < 0.5 for _ in range(rows)])
        for _ in range(4):
            elements = [slots.rng.choice([0, 1, 2, 3, 3, 4]) for _ in range(rows)]
            slots.slot(elements, ordered=slots.rng.random() < 0.8)
    return slots.ended()


def test_counts(simulate, tmp_path):
    kinds = np.array([NONE, STEP, TERMINAL, BOOTSTRAP])
    unit = FreeRunning(
        dict(kind=unsigned(2)),
        dict(reward=unsigned(1), value=unsigned(1)),
        lambda m, i: dict(reward=reward_counts(i["kind"]), value=value_counts(i["kind"])),
    )
    expected = dict(reward=[0, 1, 1, 0], value=[0, 1, 1, 1])
    check(simulate, tmp_path, unit, dict(kind=kinds), expected, dict(reward=0, value=0))
