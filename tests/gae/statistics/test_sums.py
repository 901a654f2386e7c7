"""hw.gae.statistics.sums against Python's integers."""

import random

import pytest
from gae.naive import LIMITS
from gae.paced import Paced
from gae.slots import bits, packed
from paces import PACES

from hw.gae.statistics.mean_deviation import COUNT_WIDTH, SQUARES_WIDTH, SUM_WIDTH, SUMS
from hw.gae.statistics.sums import LAG, Sums
from sim.model.gae.statistics.mean_deviation import wrapped

NUMBER_WIDTH, SQUARE_WIDTH = 27, 53

#: Count, sum and squares that rewards begin with: none, any, one below the ends, the other ends.
PRIORS = [
    (0, 0, 0),
    (1234, -987654321, 1 << 50),
    ((1 << COUNT_WIDTH) - 1, (1 << SUM_WIDTH - 1) - 1, (1 << SQUARES_WIDTH) - 1),
    (1, -(1 << SUM_WIDTH - 1), 0),
]


def word(sums):
    """Of SUMS, which wrap around."""
    names = ("count", "sum", "squares")
    return SUMS.const(dict(zip(names, wrapped(*sums), strict=True))).as_value().value


def beats(lanes, rng):
    """``(step, values, counts, numbers)``: limits in all lanes, in one each, then anything."""
    full = [True] * lanes
    for values in (0, 1):
        for number in (*LIMITS, 0, -1, 1):
            yield 1, values, full, [number] * lanes
        for lane in range(lanes):
            only = [k == lane for k in range(lanes)]
            yield 1, values, only, [LIMITS[0] * here for here in only]
        yield 1, values, [False] * lanes, [0] * lanes
    for _ in range(40):
        step, values = rng.random() < 0.8, rng.randrange(2)
        counts = [rng.random() < 0.7 for _ in range(lanes)]
        numbers = [rng.choice([*LIMITS, rng.randint(*LIMITS)]) for _ in range(lanes)]
        if step:
            numbers = [n if counted else 0 for n, counted in zip(numbers, counts, strict=True)]
        yield step, values, counts, numbers


def run(clocks, unit, prior, every):
    """From a start to the last sums; they are right after each beat."""
    sums = [prior, (0, 0, 0)]
    names = ("rewards_sums", "values_sums")
    start = clocks.add(start=1, prior=word(prior))
    clocks.expect(start + 1, rewards_sums=word(prior), values_sums=0)
    for k in range(-LAG, len(every)):
        # Numbers come ahead of all else.
        ahead = every[k + LAG][3] if k + LAG < len(every) else [0] * unit.lanes
        inputs = dict(x=packed(ahead, NUMBER_WIDTH))
        if k >= 0:
            step, values, counts, numbers = every[k]
            squares = [number**2 for number in numbers]
            inputs |= dict(
                step=step, values=values, counts=bits(counts), squares=packed(squares, SQUARE_WIDTH)
            )
            if step:
                new = sum(counts), sum(numbers), sum(squares)
                sums[values] = tuple(a + b for a, b in zip(sums[values], new, strict=True))
        move = clocks.move(**inputs)
        if k >= 0:
            clocks.after(move, unit.LATENCY, **dict(zip(names, map(word, sums), strict=True)))
    clocks.drain(unit.LATENCY)


@pytest.mark.parametrize("lanes, latency", [(1, 1), (2, 2), (4, 3), (16, 5)])
def test_sums(simulate, tmp_path, lanes, latency):
    """Priors at the ends, where the accumulators wrap; each pace."""
    unit, clocks, rng = Sums(lanes), Paced(), random.Random(lanes)
    assert unit.LATENCY == Sums.latency_of(lanes) == latency
    for k, prior in enumerate(PRIORS):
        clocks.set_pace(PACES[k % 3])
        run(clocks, unit, prior, [*beats(lanes, rng)])
    clocks.run(simulate, unit, tmp_path)
