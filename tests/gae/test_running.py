"""Sums over all rewards so far (host.advantages.standardization.Running) as their units grow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.advantages.standardization import Running, exponent_of


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30), st.floats(1, 1e6))
def test_running_sums_survive_growth(numbers, growth):
    """Coarser units keep count * squares >= sum**2, so that no variance is negative."""
    running = Running().fitting(max(map(abs, numbers)) or 1.0)
    scaled = [round(x * 2.0**running.exponent) for x in numbers]
    running = Running(
        len(scaled), sum(scaled), sum(x * x for x in scaled), running.exponent
    ).fitting(growth * 1e6)
    assert running.count * running.squares >= running.sum**2
    assert abs(growth * 1e6) * 2.0**running.exponent < 1 << 26
    mean = np.mean(numbers)
    assert running.sum / running.count * 2.0**-running.exponent == pytest.approx(
        mean, abs=2.0**-running.exponent + 1e-6 * abs(mean)
    )


@given(st.integers(1, 1000), st.integers(-(2**26), 2**26), st.integers(0, 40))
def test_equal_rewards_keep_a_variance_that_is_possible(count, number, growth):
    """Of n equal rewards count * squares is sum**2, so that any rounding down of squares alone
    makes it less: the card would take the root of a negative number."""
    running = Running(count, count * number, count * number**2, exponent=60)
    coarser = running.fitting(2.0 ** (growth - 35))
    assert coarser.count * coarser.squares >= coarser.sum**2
    if coarser.exponent == 60:
        assert coarser == running
    else:
        assert coarser.exponent == exponent_of(2.0 ** (growth - 35)) - 4 < 60


def test_squares_are_rounded_up():
    """By hand: 3 rewards of 30 units, of which 16 are a new one: 90 // 16, and 2700 / 256 up."""
    assert exponent_of(2.0**24) == 1
    assert Running(3, 90, 2700, exponent=1).fitting(2.0**24).exponent == 1
    assert Running(3, 90, 2700, exponent=2).fitting(2.0**24) == Running(3, 2, 3, exponent=-3)
    assert Running(3, -90, 2700, exponent=2).fitting(2.0**24) == Running(3, -2, 3, exponent=-3)


def test_rewards_of_nothing_change_no_units():
    """They fit all; and where there were no others, the first other chooses."""
    running = Running(3, 90, 2700, exponent=9)
    assert running.fitting(0.0) == running
    none = Running().fitting(0.0)
    assert Running(7, 0, 0, none.exponent).fitting(1.0) == Running(7, 0, 0, exponent_of(1.0) - 4)
