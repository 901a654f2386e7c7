"""The arithmetic of the barrel machine: words at which results change, by hand and by Python."""

import random

from clocks import Clocks
from environment.task_cases import CORNERS, HIGH, LOW

from hw.environment.arithmetic_unit import ArithmeticUnit
from hw.environment.task_program import Opcode

WORDS = [int(word) for word in CORNERS]
#: opcode, shift, a, b, flag, the result, whether it counts as clipped
LITERAL = [
    (Opcode.ADD, 24, HIGH, 0, 0, HIGH, False),
    (Opcode.ADD, 24, HIGH, 1, 0, HIGH, False),  # 2^31 does not count
    (Opcode.ADD, 24, HIGH, 2, 0, HIGH, True),
    (Opcode.ADD, 24, LOW, -1, 0, LOW, True),
    (Opcode.ADD, 24, LOW, HIGH, 0, -1, False),
    (Opcode.SUB, 24, LOW, 1, 0, LOW, True),
    (Opcode.SUB, 24, 0, LOW, 0, HIGH, False),
    (Opcode.SUB, 24, 1, LOW, 0, HIGH, True),
    (Opcode.SUB, 24, -1, LOW, 0, HIGH, False),
    (Opcode.SUB, 24, LOW, LOW, 0, 0, False),
    (Opcode.MUL, 31, LOW, LOW, 0, HIGH, False),
    (Opcode.MUL, 30, LOW, LOW, 0, HIGH, True),
    (Opcode.MUL, 31, LOW, HIGH, 0, LOW + 1, False),
    (Opcode.MUL, 31, HIGH, HIGH, 0, HIGH - 1, False),
    (Opcode.MUL, 24, LOW, HIGH, 0, LOW, True),
    (Opcode.MUL, 24, 1 << 23, 1, 0, 1, False),  # a half, up
    (Opcode.MUL, 24, (1 << 23) - 1, 1, 0, 0, False),
    (Opcode.MUL, 24, -(1 << 23), 1, 0, 0, False),
    (Opcode.MUL, 24, -(1 << 23) - 1, 1, 0, -1, False),
    (Opcode.MUL, 31, 1 << 15, 1 << 15, 0, 1, False),
    (Opcode.MUL, 30, 1 << 30, HIGH, 0, HIGH, False),
    (Opcode.MUL, 29, 1 << 30, 1 << 30, 0, HIGH, False),
    (Opcode.MUL, 29, 1 << 30, (1 << 30) + 1, 0, HIGH, True),
    (Opcode.MUL, 29, -(1 << 30), 1 << 30, 0, LOW, False),
    (Opcode.MIN, 24, LOW, HIGH, 0, LOW, False),
    (Opcode.MAX, 24, LOW, HIGH, 0, HIGH, False),
    (Opcode.SELECT, 24, LOW, HIGH, 1, LOW, False),
    (Opcode.SELECT, 24, LOW, HIGH, 0, HIGH, False),
]


def computed(opcode, shift, a, b, flag, drawn):
    """The result, and whether it is clipped."""
    exact = {
        Opcode.MUL: (2 * a * b + (1 << shift)) // (2 << shift),
        Opcode.ADD: a + b,
        Opcode.SUB: a - b,
        Opcode.MIN: min(a, b),
        Opcode.MAX: max(a, b),
        Opcode.SELECT: a if flag else b,
        Opcode.RANDOM: drawn,
    }[opcode]
    return max(LOW, min(HIGH, exact)), not LOW <= exact <= HIGH + 1


def run(simulate, folder, cases):
    """``cases``: opcode, shift, a, b, flag, random word, result, clipped."""
    clocks = Clocks()
    for opcode, shift, a, b, flag, drawn, result, clipped in cases:
        clock = clocks.add(
            i=dict(opcode=opcode, shift=shift - 24, a=a, b=b, random=drawn, flag=flag)
        )
        if opcode in (Opcode.LESS, Opcode.MIN, Opcode.MAX):
            clocks.expect(clock, less=a < b)
        if opcode is not Opcode.LESS:
            clocks.expect(clock + ArithmeticUnit.LATENCY, result=result, clipped=clipped)
    clocks.run(simulate, ArithmeticUnit(), folder)


def test_results_at_the_limits(simulate, tmp_path):
    run(simulate, tmp_path, [(*case[:5], 7, *case[5:]) for case in LITERAL])


def test_the_rule_is_that_of_the_literal_cases():
    for case in LITERAL:
        assert computed(*case[:5], 7) == case[5:]


def test_every_pair_of_corners(simulate, tmp_path):
    rng, cases = random.Random(0), []
    for opcode in Opcode:
        for a in WORDS:
            for b in WORDS:
                shift, flag, drawn = rng.randrange(24, 32), rng.randrange(2), rng.choice(WORDS)
                shifts = range(24, 32) if opcode is Opcode.MUL else [shift]
                for each in shifts:
                    found = (
                        (0, False)
                        if opcode is Opcode.LESS
                        else computed(opcode, each, a, b, flag, drawn)
                    )
                    cases.append((opcode, each, a, b, flag, drawn, *found))
    rng.shuffle(cases)
    run(simulate, tmp_path, cases)
