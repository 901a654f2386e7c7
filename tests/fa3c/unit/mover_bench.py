"""Runs inside the simulator; started by test_mover.py.

A run is ``(place, address, rows, host)``.
"""

import json
import os
import random

import cocotb
from driving import Watch, clocks, start, within
from fa3c.unit.store_top import StoreTop
from shell.interconnect_drive import contiguous
from shell.port_memory import Phases, ReadMemory, WriteMemory, word_at
from streams import get_all, put_all

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.unit.feature_buffer import feature_write
from hw.fa3c.unit.mover import Load, Store, run_layout

CASE = json.loads(os.environ["CASE"])
CONFIG = Fa3cConfig.from_dict(CASE["config"])
ROWS, BYTES = CONFIG.feature_rows, 64
STORES = CASE["unit"] == "Store"
UNIT, DONE = (Store, "stored") if STORES else (Load, "moved")
RUN, WRITE = run_layout(CONFIG), feature_write(CONFIG)
#: Local and host memory.
NAMES = ("local", "host")


def packed(layout, **fields):
    return layout.const(fields).as_value().value


def random_runs(count):
    """The whole buffer, its first and its last row; others of random lengths."""
    rng = random.Random(1)
    runs = [(0, 1 << 40, ROWS, 0), (0, 64, 1, 1), (ROWS - 1, 128, 1, 0), (ROWS - 16, 2**63, 16, 1)]
    for _ in range(count):
        rows = rng.choice([1, 1, 2, rng.randint(1, 20)])
        address = rng.randrange(1 << 20) * 32 * BYTES  # apart from each other
        runs.append((rng.randrange(ROWS - rows + 1), address, rows, rng.randrange(2)))
    return runs


class Bench:
    def __init__(self, dut, runs):
        self.dut, self.runs = dut, runs

    async def begin(self, longest=(0, 0, 0), latencies=(3, 3), bad=()):
        """Memories; runs on their way. ``longest``: pauses of runs, of memories, of ``o``."""
        await start(self.dut, StoreTop(CONFIG) if STORES else Load(CONFIG))
        if STORES:
            rows = [packed(WRITE, row=r, data=word_at(r, 512)) for r in range(ROWS)]
            await put_all(self.dut, "fill", rows, random)
        self.longest, self.memories, self.bad = longest, [], bad
        for name, latency in zip(NAMES, latencies, strict=True):
            kind, extra = (WriteMemory, dict(bad=bad, lag=None)) if STORES else (ReadMemory, {})
            memory = kind(
                self.dut,
                BYTES,
                latency=latency,
                pauses=Phases(name, longest[1]),
                waits=True,
                port=name,
                **extra,
            )
            self.memories.append(memory)
        self.watch = Watch(self.dut, DONE, streams=["runs"] if STORES else ["runs", "o"])
        words = [packed(RUN, place=p, address=a, rows=n, host=h) for p, a, n, h in self.runs]
        cocotb.start_soon(put_all(self.dut, "runs", words, Phases("runs", longest[0]), 0.5))

    async def finish(self):
        count = sum(rows for _, _, rows, _ in self.runs)
        work = self.stored() if STORES else self.loaded(count)
        ends = await within(work, 60 * count + 2000, "end of the runs")
        await clocks(self.dut, 30)
        # One clock after the last row, or the token, of each run in turn.
        assert self.watch.high[DONE] == [clock + 1 for clock in ends]
        for number, memory in enumerate(self.memories):
            assert memory.taken == [(a, n) for _, a, n, host in self.runs if host == number]

    async def loaded(self, count):
        """Every row to its place; the clocks of the last row of each run."""
        words = get_all(self.dut, "o", count, Phases("o", self.longest[2]), 0.5)
        got = [word for (word,) in await words]
        assert got == [
            packed(WRITE, row=place + n, data=word_at(address + n * BYTES, 513) % (1 << 512))
            for place, address, rows, _ in self.runs
            for n in range(rows)
        ]
        ends = [sum(rows for _, _, rows, _ in self.runs[: k + 1]) for k in range(len(self.runs))]
        return [self.watch.high["o"][end - 1] for end in ends]

    async def stored(self):
        """Every row in memory; the clocks of the token of each run."""
        while sum(len(memory.clocks["done"]) for memory in self.memories) < len(self.runs):
            await clocks(self.dut, 1)
        last = {}
        for place, address, rows, host in self.runs:
            for n in range(rows):
                last[host, address + n * BYTES] = word_at(place + n, 512)
        for (host, address), word in last.items():
            assert self.memories[host].written[address] == word, hex(address)
        assert sum(len(memory.written) for memory in self.memories) == len(last)
        tokens = [iter(memory.clocks["done"]) for memory in self.memories]
        ends = [next(tokens[host]) for _, _, _, host in self.runs]
        assert ends == sorted(ends), "a token before its turn"
        return ends


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(pauses=CASE["pauses"])
async def matches_memory(dut, pauses):
    """Runs of both memories, of which one is slow, with pauses on all sides; tokens with errors."""
    bench = Bench(dut, random_runs(20))
    bad = {address for _, address, _, _ in bench.runs[::3]}
    await bench.begin(pauses, (40, 2), bad)
    await bench.finish()


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def runs_under_way(dut):
    """Memories that do not answer are asked for 16 runs, and no more."""
    bench = Bench(dut, [(n, n * BYTES, 1 + n % 2, n % 2) for n in range(20)])
    await bench.begin()
    for memory in bench.memories:
        memory.answering = False
    await clocks(dut, 80)
    assert sum(len(memory.taken) for memory in bench.memories) == 16
    assert len(bench.watch.high["runs"]) == 16
    for memory in bench.memories:
        memory.answering = True
    await bench.finish()


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(case=[(1, 8), (16, 100), (40, 64)])
async def keeps_pace(dut, case):
    """A row a clock over runs of both memories; of one row, as far as 16 runs cover the latency."""
    rows, latency = case
    bench = Bench(dut, [(k, 2000 * k * BYTES, rows, k // 2 % 2) for k in range(17)])
    await bench.begin(latencies=(latency, latency))
    await bench.finish()
    moved = sorted(sum((memory.clocks["data"] for memory in bench.memories), []))
    assert contiguous(moved if STORES else bench.watch.high["o"]), moved


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(rows=[1, 2, 30], latency=[1, 70])
async def latency_as_estimated(dut, rows, latency):
    bench = Bench(dut, [(3, 0, rows, 1)])
    await bench.begin(latencies=(latency, latency))
    await bench.finish()
    took = bench.watch.high[DONE][0] - bench.watch.high["runs"][0]
    assert took == UNIT.latency_of(rows, latency)
