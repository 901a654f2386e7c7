"""hw.gae.intake.first_error: the least of (slot, code, row), whatever came first."""

import random

import pytest
from clocks import Clocks
from gae.slots import bits
from paces import PACES, pace

from hw.gae.intake.first_error import FirstError
from hw.gae.records import Error

CODES = (Error.KIND, Error.UNFINISHED, Error.NUMBER, Error.CODE)
ROWS, ELEMENTS = 19, 8


class Commands:
    """Beats as ``(slot, new_slot, code, first row, wrong elements)``, and the answer to each."""

    def __init__(self, rows=ROWS, elements=ELEMENTS):
        self.rows, self.elements = rows, elements
        self.clocks, self.rng = Clocks(), random.Random(4)

    def command(self, beats, pace_name="steady"):
        """Returns the error and the detail in the end."""
        self.clocks.expect(self.clocks.add(clear=1) + 1, error=0, detail=0)
        steps, first = pace(pace_name, self.rng), (0, Error.NONE, 0)
        for slot, new_slot, code, row, wrong in beats:
            while not next(steps):
                self._add(0, slot, True, self.rng.choice(CODES), 0, range(self.elements))
                self._expect(first)
            found = [(slot, code, row + k) for k in wrong]
            first = min(([first] if first[1] else []) + found, default=first)
            self._add(1, slot, new_slot, code, row, wrong)
            self._expect(first)
        # The last answer stays.
        for _ in range(5):
            self._add(0, 0, True, Error.KIND, 0, range(self.elements))
            self._expect(first)
        for _ in range(FirstError.LATENCY - 1):
            self.clocks.add()
        return first[1], first[0] * self.rows + first[2]

    def _add(self, step, slot, new_slot, code, row, wrong):
        self.clocks.add(
            step=step,
            new_slot=new_slot,
            wrong=bits(k in wrong for k in range(self.elements)),
            code=code,
            base=slot * self.rows,
            row=row,
        )

    def _expect(self, first):
        """Of the newest clock."""
        clock = len(self.clocks.inputs) - 1 + FirstError.LATENCY
        slot, code, row = first
        self.clocks.expect(clock, error=code, detail=slot * self.rows + row)

    def run(self, simulate, directory):
        self.clocks.run(simulate, FirstError(self.rows, self.elements), directory)


def beats_of(slot, *beats):
    """``(code, row, wrong)`` each, the first one of them new."""
    return [(slot, k == 0, *beat) for k, beat in enumerate(beats)]


KIND, UNFINISHED, NUMBER, CODE = CODES

#: Beats, error and detail of a command.
LITERAL = [
    ([], Error.NONE, 0),
    (beats_of(0, (KIND, 0, [])), Error.NONE, 0),
    (beats_of(0, (KIND, 0, [0])), KIND, 0),
    (beats_of(0, (CODE, 16, [2])), CODE, 18),
    (beats_of(3, (NUMBER, 8, [7, 3, 5])), NUMBER, 3 * 19 + 11),
    # A lower code in a later beat, of a later row.
    (beats_of(0, (UNFINISHED, 0, [1]), (KIND, 8, [6])), KIND, 14),
    (beats_of(2, (KIND, 0, []), (NUMBER, 8, [0]), (UNFINISHED, 16, [2])), UNFINISHED, 2 * 19 + 18),
    # A higher one of a lower row: values come after rewards.
    (beats_of(0, (KIND, 8, [4]), (NUMBER, 0, [0])), KIND, 12),
    # The same code: a lower row in a later beat, and a higher one.
    (beats_of(0, (KIND, 0, []), (NUMBER, 8, [1]), (NUMBER, 0, [3])), NUMBER, 3),
    (beats_of(0, (KIND, 0, []), (NUMBER, 0, [3]), (NUMBER, 8, [1])), NUMBER, 3),
    # A later slot never counts, however low its code and row: in its first beat, and behind.
    (beats_of(0, (CODE, 16, [2])) + beats_of(1, (KIND, 0, [0])), CODE, 18),
    (beats_of(0, (CODE, 16, [2])) + beats_of(1, (KIND, 0, []), (KIND, 0, [0])), CODE, 18),
    (beats_of(0, (KIND, 0, [])) + beats_of(1, (CODE, 0, [1]), (KIND, 0, [2])), KIND, 19 + 2),
]


def test_literal(simulate, tmp_path):
    """The order of slots, codes and rows; commands one after another."""
    commands = Commands()
    for beats, error, detail in LITERAL:
        assert commands.command(beats) == (error, detail)
    for beats, error, detail in reversed(LITERAL):
        assert commands.command(beats) == (error, detail)
    commands.run(simulate, tmp_path)


@pytest.mark.parametrize("rows, elements", [(1, 16), (19, 8), (64, 16)])
def test_random(simulate, tmp_path, rows, elements):
    """Slots of several beats, errors few or many, in every order of codes and rows."""
    commands, rng = Commands(rows, elements), random.Random(rows)
    first_rows, seen = range(0, rows, elements), set()
    for name in PACES:
        for _ in range(40):
            beats, rate = [], rng.choice([0.01, 0.1, 0.5])
            for slot in range(rng.randint(1, 5)):
                for k in range(rng.randint(1, 5)):
                    row = rng.choice(first_rows)
                    wrong = [j for j in range(min(elements, rows - row)) if rng.random() < rate / 4]
                    beats.append((slot, k == 0, rng.choice(CODES), row, wrong))
            seen.add(commands.command(beats, name)[0])
    assert seen == {Error.NONE, *CODES}
    commands.run(simulate, tmp_path)
