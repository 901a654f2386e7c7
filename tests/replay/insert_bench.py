"""Runs inside the simulator: experiences into a ring behind a write port; see test_insert.py."""

import json
import os
import random

import cocotb
from driving import Watch, clocks, pulse, start, until
from paces import CROSSED, Gaps
from shell.port_memory import WriteMemory
from streams import put_all

from hw.replay.config import ReplayConfig
from hw.replay.insert import Insert

CASE = json.loads(os.environ["CASE"])
WIDTH = CASE["data_width"]
BYTES, PARTS = WIDTH // 8, WIDTH // 128
CONFIG = ReplayConfig(**CASE["config"])
CAPACITY = CONFIG.capacity
STORAGE = (1 << 40) + (5 << 12)


class Bench:
    def __init__(self, dut, source="steady", sink="steady", latency=3):
        self.dut, self.rng, self.source = dut, random.Random(1), source
        self.sink, self.latency = sink, latency

    async def begin(self):
        await start(self.dut, Insert(CONFIG, WIDTH))
        self.memory = WriteMemory(
            self.dut, BYTES, port="write", lag=None, latency=self.latency, pauses=Gaps(self.sink, 2)
        )
        self.watch = Watch(self.dut, "done")

    def experiences(self, count, granules):
        """Experiences as lists of granules, none of them 0, and the words that they come in."""
        records = [[self.rng.getrandbits(128) | 1 for _ in range(granules)] for _ in range(count)]
        dense = sum(records, [])
        # What lies behind the last is no experience's.
        dense += [self.rng.getrandbits(128) for _ in range(-len(dense) % PARTS)]
        return records, [joined(dense[k : k + PARTS]) for k in range(0, len(dense), PARTS)]

    async def insert(self, position, capacity, count, granules, bad=()):
        """One run of experiences; ``bad``: which of its writes memory answers with an error."""
        dut, memory, stride = self.dut, self.memory, -(-granules // PARTS)
        first = min(count, capacity - position)
        runs = [(position, first), (0, count - first)][: 1 if first == count else 2]
        requests = [(STORAGE + place * stride * BYTES, n * stride) for place, n in runs]
        memory.bad = {requests[k][0] for k in bad}
        records, words = self.experiences(count, granules)
        operands = dict(storage=STORAGE, position=position, capacity=capacity)
        operands |= dict(count=count, granules=granules, stride=stride)
        for name, value in operands.items():
            getattr(dut, name).value = value
        asked, answered = len(memory.taken), len(memory.clocks["done"])
        self.watch.high["done"].clear()
        gaps = Gaps(self.source, f"{position} {count} {granules}")
        put = cocotb.start_soon(put_all(dut, "words", words, gaps, 0.5))
        await pulse(dut, "start")
        await until(dut, "done", 60 * count * stride + 300)
        here = f"{count} of {granules} granules at {position} of {capacity}, errors {bad}"
        assert put.done(), f"{here}: a word is left"
        assert memory.taken[asked:] == requests, here
        assert len(memory.clocks["done"]) == answered + len(requests), f"{here}: done too early"
        assert self.watch.high["done"] == [memory.clocks["done"][-1] + 1], here
        expected = {}
        for j, record in enumerate(records):
            address = STORAGE + (position + j) % capacity * stride * BYTES
            for k in range(stride):
                expected[address + k * BYTES] = joined(record[k * PARTS : (k + 1) * PARTS])
        assert memory.written == expected, here
        memory.written.clear()
        for name in operands:
            getattr(dut, name).value = self.rng.getrandbits(3)


def joined(granules):
    """A beat of them, zeros behind."""
    return sum(granule << 128 * k for k, granule in enumerate(granules))


#: Granules of an experience: less than a beat, one, more, some.
GRANULES = sorted({1, PARTS - 1, PARTS, PARTS + 1, 3 * PARTS - 1, 2 * PARTS} - {0})
#: Position, capacity, count: from the start and the end, to it and one beyond, all of the ring.
RUNS = [(0, 5, 1), (0, 5, 5), (4, 5, 1), (2, 5, 3), (1, 5, 3), (2, 5, 4), (4, 5, 2), (4, 5, 5),
        (1, 5, 5), (1, 2, 2), (0, 2, 2)]  # fmt: skip


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def ring(dut, paces):
    """One request where a run fits, two where it wraps; whole beats, with zeros behind each."""
    bench = Bench(dut, *paces)
    await bench.begin()
    for number, run in enumerate(RUNS):
        for granules in GRANULES if paces == CROSSED[0] else GRANULES[number % len(GRANULES) :][:1]:
            await bench.insert(*run, granules)
    await clocks(dut, 20)
    assert len(bench.watch.high["done"]) == 1 and not bench.memory.words


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(latency=[1, 40])
async def errors(dut, latency):
    """Of either write or both: each is waited for, and stops nothing."""
    bench = Bench(dut, latency=latency)
    await bench.begin()
    for bad in ((0,), (), (1,), (), (0, 1), ()):
        await bench.insert(3, 5, 4, PARTS + 1, bad)
    for bad in ((0,), (), (0,)):
        await bench.insert(1, 5, 4, 1, bad)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def largest(dut):
    """The longest experience, at the last place of the largest ring and over its end."""
    bench = Bench(dut)
    await bench.begin()
    await bench.insert(CAPACITY - 1, CAPACITY, 2, 4095)
    await bench.insert(0, CAPACITY, CAPACITY, 1)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(position=[0, 3])
async def waits_for_memory(dut, position):
    """Not done before memory has answered every write, however long that takes."""
    bench = Bench(dut)
    await bench.begin()
    bench.memory.answering = False
    insert = cocotb.start_soon(bench.insert(position, 5, 4, 2))
    await clocks(dut, 200)
    assert bench.memory.written and not bench.watch.high["done"]
    bench.memory.answering = True
    await insert
