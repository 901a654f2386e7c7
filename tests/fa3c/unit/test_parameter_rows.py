"""hw.fa3c.unit.parameter_rows: rows that are taken in steps that come again; clocks where these are
multiplied are those of the walk through all of them."""

from random import Random
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from hw.fa3c.pass_types import Segments
from hw.fa3c.unit.row_clocks import ParameterRows, Reads
from hw.shell.axi import EngineConfig
from hw.timing import Repeats, Walk

#: Clocks from the place of a row in the ring to whoever takes it.
LATER = 2


class Phase(NamedTuple):
    """``runs`` of ``size`` rows each, ``stride`` apart, which are taken in ``steps``, again and
    again: (rows, clocks after the step before)."""

    runs: int
    size: int
    stride: int
    steps: list


class Case(NamedTuple):
    """``other``: requests of another port of the same masters, which come before."""

    ring: int
    data_width: int
    burst: int
    latency: int
    stripes: int
    phases: list
    other: int = 0


def rows_of(case):
    engine = EngineConfig(data_width=case.data_width, depth=256, burst_beats=case.burst)
    reads, before = (engine, case.latency, case.stripes), None
    if case.other:
        before = Reads(*reads)
        for number in range(case.other):
            before.ask(5 * number, 64 * number, 40)
    passes = [
        SimpleNamespace(segments=Segments(0, (each.runs, 1), (each.stride, 0), each.size, False))
        for each in case.phases
    ]
    config = SimpleNamespace(parameter_rows=case.ring)
    return ParameterRows(config, passes, Reads(*reads, before=before))


class Taker(Walk):
    """Takes the rows of a case in order; ``clock`` is the clock of the latest."""

    def __init__(self, case, jumps):
        self.rows, self.number, self.steps, self.jumps = rows_of(case), 0, 0, jumps
        for phase in case.phases:
            end = self.number + phase.runs * phase.size
            turns = (end - self.number) // sum(rows for rows, _ in phase.steps)
            self.walk(Repeats(turns * [phase.steps]))
            if self.number < end:
                self.step([(end - self.number, 1)])
        self.last = self.clock + self.skipped

    def step(self, takings):
        self.steps += 1
        for rows, clocks in takings:
            self.number += rows
            ready = self.rows.clock(self.number - 1) - self.skipped + LATER
            self.clock = max(self.clock + clocks, ready)
            self.rows.release(self.clock + self.skipped, rows)

    def state(self):
        if not self.jumps:
            return self.steps
        return self.rows.state(self.number, self.clock + self.skipped, LATER)

    def counts(self):
        return self.number, *self.rows.counts()

    def times(self, items, before, now):
        times = super().times(items, before, now)
        return min(times, self.rows.times(before[2][1:], now[2][1:]))

    def repeat(self, before, now, times, clocks):
        self.number += times * (now[0] - before[0])
        self.rows.repeat(before[1:], now[1:], times, clocks)


#: Each is wrong without the one rule that it is named after.
CASES = {
    "places that come too late": Case(80, 256, 4, 5, 2, [
        Phase(62, 4, 64, [(1, 17), (1, 4), (4, 1)]), Phase(25, 16, 32, [(4, 1), (4, 5)]),
    ]),
    "rows that come too late for who is faster": Case(256, 256, 16, 100, 1, [
        Phase(15, 4, 32, [(1, 6)]), Phase(125, 2, 16, [(4, 4)]),
    ]),
    "rows that come too late for who is slower": Case(512, 128, 4, 100, 2, [
        Phase(200, 1, 16, [(4, 40), (2, 1)]), Phase(400, 1, 16, [(1, 8), (2, 17)]),
        Phase(37, 16, 17, [(1, 17)]), Phase(7, 8, 64, [(16, 1)]),
    ]),
    "who is faster catches up": Case(96, 256, 1, 5, 2, [
        Phase(75, 8, 64, [(2, 8), (2, 17)]), Phase(200, 1, 64, [(16, 3), (4, 17)]),
        Phase(25, 8, 32, [(8, 40)]),
    ]),
    "releases of other places": Case(64, 128, 64, 20, 1, [
        Phase(300, 2, 32, [(1, 1), (1, 17), (1, 6)]), Phase(8, 24, 16, [(16, 17)]),
    ], other=3),
    "places that are used up": Case(256, 512, 4, 64, 1, [
        Phase(1, 32, 16, [(32, 1000)]), Phase(125, 4, 48, [(4, 3)]), Phase(12, 8, 16, [(8, 4)]),
    ]),
    "bursts of another port": Case(80, 128, 4, 20, 1, [Phase(12, 16, 64, [(8, 17)])], other=3),
    "rows on their way": Case(512, 256, 1, 100, 1, [
        Phase(25, 8, 64, [(4, 1), (1, 5), (1, 17)]), Phase(60, 1, 64, [(1, 17)]),
    ], other=3),
}  # fmt: skip


def check(case):
    found, plain = Taker(case, True), Taker(case, False)
    assert (found.last, found.number, found.rows.count) == (
        plain.last, plain.number, plain.rows.count,
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_comes_again(name):
    check(CASES[name])


def test_phases_at_random():
    rng = Random(1)
    for _ in range(400):
        phases = []
        for _ in range(rng.randint(1, 3)):
            size = rng.choice([1, 2, 4, 8, 13, 16, 32])
            steps = [
                (rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 3, 5, 8, 17]))
                for _ in range(rng.randint(1, 3))
            ]
            phases.append(Phase(rng.choice([60, 120, 250]) // size, size, 64, steps))
        check(
            Case(
                rng.choice([64, 96, 128, 256]), rng.choice([128, 256, 512]),
                rng.choice([1, 4, 16, 64]), rng.choice([0, 5, 20, 64]), rng.choice([1, 2]), phases,
                rng.choice([0, 0, 3]),
            )
        )  # fmt: skip
