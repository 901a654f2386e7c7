"""hw.nn.batch_sum: the twin against the written order, hardware against the twin."""

import numpy as np
import pytest
from arith.float32_cases import CORNERS, floats
from clocks import Clocks

from hw.arith.arithmetic import Arithmetic
from hw.nn.batch_sum import BatchSum
from sim.model.arith.float32 import add
from sim.model.nn.batch_sum import batch_sum

BIG, ONE = np.float32(2**24), np.float32(1)


def written(terms, add=np.add):
    """The sum in the order of the module's docstring, operation by operation."""
    p = np.zeros(8, np.float32)
    for s, term in enumerate(terms):
        p[s % 8] = add(p[s % 8], term)
    left = add(add(p[0], p[4]), add(p[2], p[6]))
    return add(left, add(add(p[1], p[5]), add(p[3], p[7])))


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 301])
def test_twin_follows_the_order(count):
    rng = np.random.default_rng(count)
    terms = (rng.normal(size=count) * 10.0 ** rng.integers(-4, 4, count)).astype(np.float32)
    assert batch_sum(terms) == written(terms)
    wild = np.where(rng.random(count) < 0.3, floats(rng.choice(CORNERS, count)), terms)
    np.testing.assert_array_equal(batch_sum(wild), written(wild, add))


def test_twin_of_stated_cases():
    """Sums where each order of additions gives another result, worked by hand."""
    # Term 8 meets term 0: 2**24 + 1 is 2**24, twice; side by side the ones are 2.
    assert batch_sum([BIG, 0, 0, 0, 0, 0, 0, 0, ONE] + [0] * 7 + [ONE]) == BIG
    assert batch_sum([BIG, ONE, 0, ONE]) == BIG + 2
    # Partial sums 0 and 4 meet first, then 2 and 6.
    assert batch_sum([BIG, 0, ONE, 0, ONE, 0, 0, 0]) == BIG
    assert batch_sum([BIG, 0, ONE, 0, 0, 0, ONE, 0]) == BIG + 2
    assert not np.signbit(batch_sum([np.float32(-0.0)]))
    tiny = np.finfo(np.float32).tiny
    assert batch_sum([1.5 * tiny, *[0] * 7, -tiny, *[0] * 7, tiny]) == tiny  # flushed on the way
    assert np.isnan(batch_sum([np.inf, 0, -np.inf]))


def batch(clocks, start, terms, gaps):
    """Terms ``gaps`` clocks apart from the clock after ``start``; returns the clock of the sum."""
    clocks.at(start, clear=1)
    clock = start + 1
    for term, gap in zip(terms, gaps, strict=True):
        clocks.at(clock, i=dict(valid=1, value=term))
        for other in range(clock + 1, clock + gap):
            clocks.at(other, i=dict(valid=0, value=0x7FC00000))
        last, clock = clock, clock + gap
    fold = (last if len(terms) else start) + BatchSum.LATENCY
    clocks.at(fold, fold=1)
    for clock in range(start, fold + BatchSum.FOLD_LATENCY):
        clocks.expect(clock, folded=0)
    end = fold + BatchSum.FOLD_LATENCY
    clocks.expect(end, folded=1, total=batch_sum(terms))
    clocks.expect(end + 1, folded=0, total=batch_sum(terms))
    return end + 1


def test_matches_twin(simulate, tmp_path):
    """A term a clock, or with gaps; batches of any size right behind each other."""
    rng, clocks, clock = np.random.default_rng(5), Clocks(), 0
    for count, share in [(40, 0), (0, 0), (1, 0), (7, 0), (8, 0), (9, 0), (60, 0.3), (25, 0.02)]:
        terms = (rng.normal(size=count) * 10.0 ** rng.integers(-3, 3, count)).astype(np.float32)
        terms = np.where(rng.random(count) < share, floats(rng.choice(CORNERS, count)), terms)
        for gaps in (np.ones(count, int), rng.integers(1, 12, count)):
            clock = batch(clocks, clock, terms, gaps) + 1
    clocks.run(simulate, BatchSum(), tmp_path)


def test_latencies():
    """Worked by hand: operands, adder, register; three levels, the last operands of which come
    three clocks and one clock after their first."""
    assert BatchSum.LATENCY == 1 + Arithmetic().add_latency + 1 == 8
    assert BatchSum.FOLD_LATENCY == 1 + (2 + 8) + (1 + 8) + 8
