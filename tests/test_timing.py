"""hw.timing: stages, slots, ports, and walks that skip periods."""

from collections import deque
from random import Random

import pytest

from hw.timing import Master, Port, Repeats, Stage, Walk, drawn, pending, since, slots


def test_the_drawing():
    """Of the module's docstring: latency 4, interval 2, 2 slots."""
    stage, free, begun = Stage(4, 2), slots(2), []
    for _ in range(3):
        begun.append(stage.begin(free[0]))
        free.append(begun[-1] + stage.latency + 1)
    assert begun == [0, 2, 5] and list(free) == [7, 10]
    assert stage.begin(100, interval=30) == 100 and stage.next == 130


def test_since():
    assert since([7, 10, 12], 10) == (0, 0, 2)


def test_pending():
    assert pending(deque([1, 10, 11, 15]), 10) == (5, 1) and pending([], 3) == ()


def test_a_picture():
    """24 columns of 10 clocks; an item that begins in a column covers what was there."""
    units = {"reader": [(0, 10), (10, 19), (19, 200)], "an update": [(205, 240)]}
    assert list(drawn(units, columns=24)) == [
        "10 clocks a column |0        |100      |200",
        "reader             0" + 19 * "2",
        "an update          " + 20 * " " + "####",
    ]
    assert list(drawn({"a": [(0, 3), (4, 5)]}))[1] == "a                 000 1"


def test_times():
    numbers = Repeats("abcabcabcab", str)
    assert [numbers.times(*pair) for pair in [(0, 3), (3, 6), (0, 6), (1, 4), (0, 2)]] == [
        2, 1, 0, 2, 0,
    ]  # fmt: skip
    assert numbers.times(3, 3) == numbers.times(8, 11) == 0
    assert Repeats([1, 3, 5, 6], lambda x: x % 2).times(0, 1) == 2
    assert Repeats([1, 3, 5, 6]).times(1, 2) == 2


def test_a_port():
    """8 places, 2 beats a row, the first beat after 10 clocks, a request a clock before a row."""
    port = Port(Master(3), 10, 2, 8, -1)
    assert port.earliest(8) == 3 and port.earliest(9) is None
    assert port.read(0, 6) == 13, "asked for in clock 3"
    assert port.read(0, 2) == 25, "behind six rows"
    assert port.earliest(1) is None
    port.release([40, 50])
    assert port.earliest(1) == 39 and port.earliest(2) == 49
    assert port.read(0, 2, beats=7) == 59 and port.master.clocks() == (50, 66)


def test_two_ports_of_a_master():
    master = Master()
    one, two = (Port(master, first, 1, 4, 0) for first in (5, 9))
    assert [one.read(0, 4), two.read(0, 4), two.earliest(1)] == [5, 10, None]
    two.release([3])
    assert two.earliest(1) == 3 and master.clocks() == (2, 14)


class Chain(Walk):
    """Items through stages; their slots are free when an item has left the last one. ``events``:
    where each item began in the last."""

    def __init__(self, stages):
        self.stages = [(Stage(latency, interval), slots(n)) for latency, interval, n in stages]
        self.events, self.steps = [], 0

    def step(self, item):
        self.steps += 1
        ready = self.clock = max(self.clock, self.stages[0][1][0]) + item
        for stage, free in self.stages:
            begun = stage.begin(max(ready, free[0]), stage.interval * item)
            ready = begun + stage.latency
        for _, free in self.stages:
            free.append(ready + 1)
        self.events.append(begun + self.skipped)

    def state(self):
        clocks = [clock for stage, free in self.stages for clock in (stage.next, *free)]
        return since(clocks, self.clock)


class Plain(Chain):
    """Nothing repeats."""

    def state(self):
        return self.steps


@pytest.mark.parametrize("seed", range(30))
def test_a_walk_that_skips(seed):
    """It has the clocks of a walk through all items, in fewer steps."""
    rng = Random(seed)
    stages = [
        (rng.randint(0, 9), rng.randint(1, 4), rng.randint(1, 4)) for _ in range(rng.randint(1, 3))
    ]
    parts = [[rng.randint(1, 3) for _ in range(rng.randint(1, 4))] for _ in range(2)]
    items = Repeats([*(parts[0] * 60), 5, *(parts[1] * 40), 1, 2], int)
    found, plain = Chain(stages), Plain(stages)
    found.walk(items)
    plain.walk(items)
    assert found.events == plain.events and plain.steps == len(items) > 1.5 * found.steps
    assert found.clock + found.skipped == plain.clock and plain.skipped == 0
