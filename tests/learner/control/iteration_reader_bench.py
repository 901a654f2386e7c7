"""Runs inside the simulator: records, each fetched while the last is in use; and batches."""

import json
import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, clocks, pulse, seen, start, until, within
from paces import CROSSED, PACES, Gaps
from shell.port_memory import ReadMemory, word_at
from streams import get_all

from hw.learner.control.iteration_reader import IterationReader
from hw.learner.records import HYPERPARAMETERS, STEP

CASE = json.loads(os.environ["CASE"])
WIDTH, SIZE = CASE["data_width"], CASE["size"]
RECORD = {layout.size: layout for layout in (HYPERPARAMETERS, STEP)}[SIZE]
BYTES = WIDTH // 8
BEATS = 8 * SIZE // WIDTH
LATENCY = 6


class Bench:
    """``dut`` with a memory whose beats at the addresses ``bad`` failed."""

    def __init__(self, dut, pauses="steady", latency=LATENCY):
        self.dut, self.pauses, self.latency = dut, Gaps(pauses, 1), latency
        self.bad, self.held = set(), 0

    async def begin(self):
        await start(self.dut, IterationReader(WIDTH, RECORD))
        self.memory = ReadMemory(
            self.dut,
            BYTES,
            port="read",
            pauses=self.pauses,
            latency=self.latency,
            waits=True,
            holds=lambda address, _: word_at(address, WIDTH) | (address in self.bad) << WIDTH,
        )
        cocotb.start_soon(self._steady())

    async def _steady(self):
        """``step`` is what was taken last, in every clock."""
        while True:
            await ReadOnly()
            assert int(self.dut.hyperparameters.value) == self.held, (
                "these are not the ones that was taken"
            )
            await RisingEdge(self.dut.clk)

    def beats(self, address):
        return range(address, address + SIZE, BYTES)

    def flags(self):
        return {name: int(getattr(self.dut, name).value) for name in ("available", "failed")}

    async def fetch(self, address):
        """Fetch what lies there."""
        await pulse(self.dut, "fetch")
        await until(self.dut, "busy", 200, value=0)
        assert self.memory.taken[-1] == (address, BEATS)
        here = any(beat in self.bad for beat in self.beats(address))
        await ReadOnly()
        assert self.flags() == dict(available=1, failed=here), f"HYPERPARAMETERS at {address:#x}"
        await RisingEdge(self.dut.clk)

    async def take(self, address, *beside):
        """It becomes ``step``; other inputs in the same clock."""
        for name in beside:
            getattr(self.dut, name).value = 1
        await pulse(self.dut, "take")
        for name in beside:
            getattr(self.dut, name).value = 0
        self.held = sum(
            word_at(beat, WIDTH) << WIDTH * k for k, beat in enumerate(self.beats(address))
        )
        await ReadOnly()
        assert not int(self.dut.available.value), "a record is taken once"
        await RisingEdge(self.dut.clk)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pauses=PACES)
async def steps(dut, pauses):
    """Each directly behind the one before; ``failed`` is of one record, whichever beat it was."""
    rng, bench = random.Random(1), Bench(dut, pauses)
    await bench.begin()
    for first in (0, 64, (1 << 32) - 128, (1 << 40) + 192):
        dut.address.value = first
        await pulse(dut, "start")
        dut.address.value = rng.getrandbits(64)
        count = 3 * BEATS + 2
        for k in range(count):
            here = first + SIZE * k
            # Every beat of a record once, then a record without an error, and so on.
            bench.bad = {here + (k // 2) % BEATS * BYTES} if k % 2 else set()
            await bench.fetch(here)
            await clocks(dut, rng.choice([0, 0, 1, 7]))
            await bench.take(here)
            await clocks(dut, rng.choice([0, 0, 1, 7]))
    await clocks(dut, 10)
    assert len(bench.memory.taken) == 4 * count, "a record that nobody asked for"


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def error_of_every_beat(dut):
    """The first as well as the last, and all of them."""
    bench = Bench(dut)
    await bench.begin()
    await pulse(dut, "start")
    cases = [{k} for k in range(BEATS)] + [set(range(BEATS)), set()]
    for k, bad in enumerate(cases):
        bench.bad = {SIZE * k + beat * BYTES for beat in bad}
        await bench.fetch(SIZE * k)
        await bench.take(SIZE * k)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_failed_step_is_forgotten(dut):
    """With ``fetch``, not with ``take``: the flag stays for whoever looks later."""
    bench = Bench(dut)
    await bench.begin()
    await pulse(dut, "start")
    bench.bad = {0}
    await bench.fetch(0)
    await bench.take(0)
    await clocks(dut, 3)
    assert bench.flags() == dict(available=0, failed=1)
    await bench.fetch(SIZE)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def next_is_fetched_beside_take(dut):
    """The HYPERPARAMETERS that was here becomes ``step``, not a word of the one on its way."""
    bench = Bench(dut, latency=1)
    await bench.begin()
    await pulse(dut, "start")
    await bench.fetch(0)
    for k in range(4):
        await bench.take(SIZE * k, "fetch")
        await until(dut, "busy", 100, value=0)
    assert bench.memory.taken == [(SIZE * k, BEATS) for k in range(5)]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def start_forgets(dut):
    """A record that was fetched and not taken is not there after ``start``; the address is new."""
    bench = Bench(dut)
    await bench.begin()
    await pulse(dut, "start")
    await bench.fetch(0)
    dut.address.value = 1 << 20
    await pulse(dut, "start")
    await ReadOnly()
    assert not bench.flags()["available"]
    await RisingEdge(dut.clk)
    await bench.fetch(1 << 20)
    await bench.take(1 << 20)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(latency=[1, 2, 9])
async def latency_of_a_step(dut, latency):
    """A request in the clock after ``fetch``; available in the clock after the last beat."""
    bench = Bench(dut, latency=latency)
    await bench.begin()
    watch = Watch(dut, "fetch", "available")
    await pulse(dut, "start")
    for k in range(3):
        await bench.fetch(SIZE * k)
        await bench.take(SIZE * k)
        begin = watch.high["fetch"][-1]
        assert bench.memory.clocks["request"][-1] == begin + 1
        assert watch.high["available"][0] == begin + 1 + latency + BEATS
        watch.high["available"].clear()


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def batches(dut, paces):
    """Each ``advance`` bytes behind the one before, as beats; records are fetched in between."""
    bench = Bench(dut, paces[0])
    await bench.begin()
    dut.batch_address.value = first = (1 << 40) - 128
    dut.advance.value = advance = 448
    await pulse(dut, "start")
    dut.batch_address.value = 0
    for k, count in enumerate((1, 7, 2, 1, 28)):
        dut.beats.value = count
        beats = [first + k * advance + n * BYTES for n in range(count)]
        bench.bad = {beats[-1]} if k % 2 else {beats[0]} if k == 4 else set()
        await pulse(dut, "fetch_batch")
        gaps = Gaps(paces[1], k)
        taken = within(get_all(dut, "batch", count, gaps, 0.5), 100 * count + 100, "batch")
        assert [word for (word,) in await taken] == [word_at(beat, WIDTH) for beat in beats]
        await until(dut, "busy", 2, value=0)
        assert bench.memory.taken[-1] == (beats[0], count)
        assert await seen(dut, "batch_failed") == bool(bench.bad)
        assert bench.flags() == dict(available=0, failed=0), "a batch is no record"
        dut.batch__ready.value = 1
        await bench.fetch(SIZE * k)
        assert not await seen(dut, "batch__valid"), "a record is no batch"
        assert await seen(dut, "batch_failed") == bool(bench.bad), "until the next batch"
        dut.batch__ready.value = 0
        await bench.take(SIZE * k)
