"""mean_deviation and its twin: correctly rounded, by exact fractions; and Welford's recurrence."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw.gae.statistics.mean_deviation import (
    COUNT_WIDTH,
    SQUARES_WIDTH,
    SUM_WIDTH,
    SUMS,
    MeanDeviation,
)
from sim.model.gae.statistics.mean_deviation import moments, wrapped

COUNT_HIGH, HIGH = (1 << COUNT_WIDTH) - 1, 1 << 26


def possible(count, rng):
    """Sums that ``count`` numbers of 27 bits can have."""
    sum_ = int(rng.integers(-count * HIGH, count * (HIGH - 1), endpoint=True))
    least = -(-(sum_**2) // count)
    spread = int(rng.integers(0, 1 << 52))
    return count, sum_, min(least + spread, count * HIGH**2)


def cases():
    rng = np.random.default_rng(1)
    corners = [
        (0, 0, 0),
        (0, 5, 25),  # a prior that counts nothing
        (1, 0, 0),
        (1, -1, 1),
        (1, HIGH - 1, (HIGH - 1) ** 2),
        (1, -HIGH, HIGH**2),
        (2, 0, 2),
        (2, 1, 1),
        (3, 1, 1),
        (COUNT_HIGH, 1, 1),  # the smallest of both results
        (COUNT_HIGH, -1, 1),
        (COUNT_HIGH, 0, COUNT_HIGH * HIGH**2),  # the largest deviation
        (COUNT_HIGH, -COUNT_HIGH * HIGH, COUNT_HIGH * HIGH**2),
        (COUNT_HIGH, COUNT_HIGH * (HIGH - 1), COUNT_HIGH * (HIGH - 1) ** 2),
        (7, 700, 70000),  # all alike
        (7, 701, 70000),  # sums of no numbers: the radicand is negative
        # A root of a halfway quotient of 56 zeros and then more: the square, and 1.
        (4294967197, 983270775, 1208925935863795754391191),
        (1, (1 << SUM_WIDTH - 1) - 1, 0),
        (1, -(1 << SUM_WIDTH - 1), (1 << SQUARES_WIDTH) - 1),
        (1 << 24, (1 << 24) + 1, 1 << 26),  # a mean between two float32, to even
        (1 << 24, 3 * (1 << 24) + 3, 1 << 28),
    ]
    for sums in corners:
        for exponent in (0, 20, -20):
            yield *sums, exponent
    for exponent in (-150, -127, -126, -104, -103, -102, 126, 127, 128, 150):
        for sums in (corners[4], corners[9], corners[11], (3, 1 << 24, 1 << 50)):
            yield *sums, exponent
    for width in range(1, COUNT_WIDTH + 1):
        for _ in range(6):
            count = int(rng.integers(1 << (width - 1), 1 << width))
            yield *possible(count, rng), int(rng.integers(-30, 31))


CASES = list(cases())


def assert_rounded(got, power, exact):
    """``got`` is the float32 nearest to ``sign * exact**(1 / power)``, the even one of two."""
    assert got.dtype == np.float32 and np.isfinite(got)
    magnitude = abs(got)
    below, above = (np.nextafter(magnitude, np.float32(end)) for end in (-1, np.inf))
    low, high = ((Fraction(float(magnitude)) + Fraction(float(x))) / 2 for x in (below, above))
    even = int(magnitude.view(np.uint32)) % 2 == 0
    assert max(low, 0) ** power <= exact <= high**power, (got, float(exact))
    assert even or low**power < exact < high**power, (got, float(exact))


@pytest.mark.parametrize("count, sum_, squares, exponent", CASES)
def test_twin_rounds_correctly(count, sum_, squares, exponent):
    mean, deviation = moments(count, sum_, squares, exponent)
    if count == 0:
        assert (mean, deviation) == (0, 0)
        return
    unit = Fraction(2) ** -exponent
    for got, power, exact in (
        (mean, 1, abs(Fraction(sum_, count)) * unit),
        (deviation, 2, Fraction(max(0, count * squares - sum_**2), count**2) * unit**2),
    ):
        root = float(exact) ** (1 / power) if exact < 10**200 else np.inf
        if root >= float(np.finfo(np.float32).max):
            assert abs(got) == np.inf
        elif root < 2.0**-126:
            assert got == 0
        else:
            assert_rounded(got, power, exact)
    assert mean == 0 or (mean < 0) == (sum_ < 0)
    assert not np.signbit(deviation)


@given(st.lists(st.integers(-HIGH, HIGH - 1), min_size=1, max_size=40), st.integers(-60, 60))
def test_twin_of_numbers(numbers, exponent):
    exact = [Fraction(x) * Fraction(2) ** -exponent for x in numbers]
    mean = sum(exact) / len(exact)
    variance = sum((x - mean) ** 2 for x in exact) / len(exact)
    got = moments(len(numbers), sum(numbers), sum(x * x for x in numbers), exponent)
    assert_rounded(got[0], 1, abs(mean))
    assert_rounded(got[1], 2, variance)
    assert (got[0] < 0) == (mean < 0)


def test_accumulators_wrap():
    assert wrapped(1 << 32, 1 << 58, 1 << 84) == (0, -(1 << 58), 0)
    assert wrapped(3, -(1 << 58) - 1, (1 << 84) + 5) == (3, (1 << 58) - 1, 5)


def test_hardware(simulate, tmp_path):
    file = tmp_path / "vectors.json"
    vectors = []
    for count, sum_, squares, exponent in CASES:
        sums = SUMS.const({"count": count, "sum": sum_, "squares": squares}).as_value().value
        results = (int(x.view(np.uint32)) for x in moments(count, sum_, squares, exponent))
        vectors.append((sums, exponent & 0x1FF, *results))
    file.write_text(json.dumps(vectors))
    simulate(
        MeanDeviation(),
        "gae.statistics.mean_deviation_bench",
        vectors=str(file),
        latency=MeanDeviation.LATENCY,
    )
