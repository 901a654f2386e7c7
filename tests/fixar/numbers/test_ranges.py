"""ranges: lowest and highest of a pass, and of all passes, against NumPy's."""

import json

import numpy as np
import pytest
from clocks import Clocks, run_together

from hw.fixar.numbers.ranges import NOTHING, PassRange, Ranges, range_layout

LOW, HIGH = -1 << 31, (1 << 31) - 1


def pass_words(rng, lanes, count):
    """``(valid, keep, lanes, numbers)`` of each word, and the numbers that exist."""
    spread = int(rng.choice([2, 1000, 1 << 31]))
    words, seen = [], []
    for _ in range(count):
        valid, keep = int(rng.random() < 0.7), int(rng.integers(4))
        mask = rng.integers(2, size=lanes) if rng.random() < 0.5 else np.ones(lanes, int)
        numbers = rng.integers(-spread, spread, size=(lanes, 2))
        numbers[rng.random(numbers.shape) < 0.1] = rng.choice([LOW, HIGH, 0, -1])
        exists = np.outer(mask, [keep & 1, keep >> 1]) * valid
        seen.extend(numbers[exists == 1].tolist())
        words.append(dict(valid=valid, keep=keep, lanes=mask.tolist(), number=numbers.tolist()))
    return words, seen


def test_pass(simulate, tmp_path):
    """Passes of any length, with nothing in them too; none leaves anything to the next."""
    run_together(simulate, tmp_path, {lanes: passes(lanes) for lanes in (1, 4, 16)})


def passes(lanes):
    """A case of ``run_together``."""
    rng = np.random.default_rng(lanes)
    unit, clocks, clock = PassRange(lanes, 11), Clocks(), 0
    for length in (0, 1, 1, 3, 20, 0, 1, 9, 30):
        words, seen = pass_words(rng, lanes, length)
        for word in words:
            clocks.at(clock, i=word)
            clock += 1
        slot, wait = int(rng.integers(11)), int(rng.integers(3))
        clocks.at(clock, end=1, slot=slot)
        assert unit.latency == 2 * lanes + 2
        for early in range(1, unit.latency):
            clocks.at(clock + early, i=dict(valid=0, keep=3, lanes=[1] * lanes, number=[[9, -9]]))
            clocks.expect(clock + early, o__valid=0)
        clock += unit.latency
        low, high = (min(seen), max(seen)) if seen else NOTHING
        for _ in range(wait + 1):
            clocks.at(clock, o__ready=0)
            clocks.expect(clock, o__valid=1, o__payload=dict(slot=slot, low=low, high=high))
            clock += 1
        clocks.at(clock - 1, o__ready=1)
        clocks.expect(clock, o__valid=0)
    return clocks, unit


@pytest.mark.parametrize("sources, slots", [(1, 1), (3, 11)])
def test_slots(simulate, tmp_path, sources, slots):
    """All sources at once, and each alone; cleared and begun anew."""
    rng, rounds = np.random.default_rng(sources), []
    state = np.array([NOTHING] * slots)
    for k in range(60):
        offers = {}
        if k % 20 == 0:
            state[:] = NOTHING
        for source in range(sources):
            if rng.random() < 0.6:
                low, high = np.sort(rng.integers(LOW, HIGH + 1, 2) >> int(rng.integers(31)))
                low, high = [(int(low), int(high)), (LOW, HIGH), NOTHING][
                    rng.choice(3, p=[0.85, 0.03, 0.12])
                ]
                slot = int(rng.integers(slots))
                offer = range_layout(slots).const(dict(slot=slot, low=low, high=high))
                offers[source] = offer.as_value().value
                state[slot] = min(state[slot][0], low), max(state[slot][1], high)
        rounds.append(
            dict(clear=k % 20 == 0, wait=int(rng.integers(5)), offers=offers, state=state.tolist())
        )
    path = tmp_path / "rounds.json"
    path.write_text(json.dumps(rounds))
    simulate(
        Ranges(sources, slots), "fixar.numbers.ranges_bench", rounds=str(path), sources=sources
    )
