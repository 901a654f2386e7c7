"""hw.gae.statistics.quotient against fractions of Python's integers, rounded once."""

import random
from fractions import Fraction

import pytest
from clocks import Clocks
from paces import PACES, pace

from hw.arith.float32.format import PRECISION
from hw.gae.statistics.quotient import Quotient

INFINITY, NORMAL = 0x7F80_0000, 0x0080_0000
#: Widths of the divisor and of the numerator: those of the moments, small ones, unlike ones.
WIDTHS = [(32, 59), (3, 4), (12, 1)]


def binary32(value):
    """Bits of the number nearest to ``value``, at least 0; ties to even, subnormals to 0."""
    if value == 0:
        return 0
    power = value.numerator.bit_length() - value.denominator.bit_length()
    power -= value < Fraction(2) ** power
    power = max(power, -126)
    bits = (power + 126 << 23) + round(value / Fraction(2) ** (power - 23))
    return 0 if bits < NORMAL else min(bits, INFINITY)


class Division:
    """``numerator / divisor * 2**-exponent``, of a numerator with ``digits`` bits in all."""

    def __init__(self, numerator, divisor, digits, exponent=0, negative=0, inexact=0):
        self.numerator, self.divisor, self.digits = numerator, divisor, digits
        self.exponent, self.negative, self.inexact = exponent, negative, inexact

    def result(self, numerator_width):
        # Where the numerator goes on, by how much does not matter.
        exact = Fraction(self.numerator << 99 | self.inexact, self.divisor << 99 or 1)
        if not self.divisor or not self.numerator:
            return 0
        scale = Fraction(2) ** (numerator_width - self.digits - self.exponent)
        return binary32(exact * scale) | self.negative << 31

    def run(self, clocks, rng, name, numerator_width):
        """Its clocks, the numerator's bits at this pace."""
        steps = pace(name, rng)

        def add(**inputs):
            anything = dict(bit=rng.randrange(2), inexact=rng.randrange(2))
            steady = dict(
                negative=self.negative, divisor=self.divisor, exponent=self.exponent % (1 << 9)
            )
            return clocks.add(**anything | steady | inputs)

        add(start=1)
        for k in reversed(range(self.digits)):
            while not next(steps):
                add()
            add(step=1, bit=self.numerator >> k & 1)
        add(inexact=self.inexact)
        for _ in range(2):
            clocks.expect(add(inexact=self.inexact), result=self.result(numerator_width))


def corners(divisor_width, numerator_width):
    """Literal results beside the divisions that must give them."""
    digits = numerator_width + divisor_width + PRECISION
    point = digits - numerator_width
    one = 1 << point

    def of(value, **fields):
        return Division(int(value * one), 1, digits, **fields)

    unit = Fraction(1, 1 << PRECISION - 1)
    ones = 2 - unit
    yield 0, of(0)
    yield 0, Division(one, 0, digits)
    yield 0, Division(one, 0, digits, negative=1)
    yield 0x3F80_0000, of(1)
    yield 0xBF80_0000, of(1, negative=1)
    # A half beside an even number, beside an odd one; and what is behind it.
    yield 0x3F80_0000, of(1 + unit / 2)
    yield 0x3F80_0001, of(1 + unit / 2, inexact=1)
    yield 0x3F80_0001, of(1 + unit / 2 + unit / 4)
    yield 0x3F80_0002, of(1 + 3 * unit / 2)
    yield 0x3F80_0001, of(1 + unit, inexact=1)
    # All ones: the carry goes into the exponent.
    yield 0x3FFF_FFFF, of(ones)
    yield 0x4000_0000, of(ones + unit / 2)
    # The ends of the format.
    yield NORMAL, of(1, exponent=126)
    yield 0, of(1, exponent=127)
    yield 0x8000_0000, of(1, exponent=127, negative=1)
    yield NORMAL, of(ones, exponent=127)
    yield 0, of(ones - unit, exponent=127, inexact=1)
    yield 0x8000_0000, of(1, exponent=255, negative=1)
    yield 0x7F00_0000, of(1, exponent=-127)
    yield 0x7F7F_FFFF, of(ones, exponent=-127)
    yield INFINITY, of(ones + unit / 2, exponent=-127)
    yield INFINITY | 1 << 31, of(1, exponent=-128, negative=1)
    yield INFINITY, of(1, exponent=-256)


def quotients(divisor_width, numerator_width, rng):
    """Any division with enough digits, limits among them."""
    most = (1 << divisor_width) - 1
    for _ in range(40):
        digits = numerator_width + divisor_width + PRECISION + rng.choice([0, 0, 1, 7])
        point = digits - numerator_width
        width = rng.randint(1, numerator_width)
        numerator = rng.choice([1, (1 << width) - 1, rng.getrandbits(width)]) << point
        # Digits behind the point, where the first of the quotient allows for them.
        numerator |= rng.choice([0, 0, rng.getrandbits(point)]) if numerator else 0
        divisor = rng.choice([1, most, rng.randint(1, most), rng.randint(1, most)])
        exponent = rng.choice([-256, -100, 0, 0, 0, 60, 100, 255, rng.randint(-30, 30)])
        inexact = rng.randrange(2) if numerator else 0
        yield Division(numerator, divisor, digits, exponent, rng.randrange(2), inexact)


@pytest.mark.parametrize("divisor_width, numerator_width", WIDTHS)
def test_quotient(simulate, tmp_path, divisor_width, numerator_width):
    rng, clocks = random.Random(divisor_width), Clocks()
    divisions = []
    for wanted, division in corners(divisor_width, numerator_width):
        assert division.result(numerator_width) == wanted, f"{wanted:#x}"
        divisions.append((division, "steady"))
    every = [*quotients(divisor_width, numerator_width, rng)]
    results = [division.result(numerator_width) for division in every]
    ends = {0, 1 << 31, INFINITY, INFINITY | 1 << 31}
    assert sum(result not in ends for result in results) > len(results) // 3
    divisions += [(division, PACES[k % 3]) for k, division in enumerate(every)]
    for division, name in divisions:
        division.run(clocks, rng, name, numerator_width)
    clocks.run(simulate, Quotient(divisor_width, numerator_width), tmp_path)


def test_every_small_quotient(simulate, tmp_path):
    """4 bits by 3 bits, all of them, at the fewest digits."""
    divisor_width, numerator_width = 3, 4
    rng, clocks = random.Random(1), Clocks()
    point = divisor_width + PRECISION
    for divisor in range(1 << divisor_width):
        for numerator in range(1 << numerator_width):
            division = Division(numerator << point, divisor, point + numerator_width)
            division.run(clocks, rng, "steady", numerator_width)
    clocks.run(simulate, Quotient(divisor_width, numerator_width), tmp_path)
