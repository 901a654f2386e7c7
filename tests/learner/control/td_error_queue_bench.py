"""Runs inside the simulator: TD errors in, beats of items out; see test_td_error_queue.py."""

import json
import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import clocks, pulse, seen, start, until, within
from paces import CROSSED, PACES, Gaps
from streams import get_all, put_all

from hw.learner.control.td_error_queue import TdErrorQueue

CASE = json.loads(os.environ["CASE"])
WIDTH, BATCH = CASE["data_width"], CASE["batch"]
PARTS = WIDTH // 64
#: Items of a batch: one, about a beat, about two, all that fit.
SIZES = sorted({1, PARTS - 1, PARTS, PARTS + 1, 2 * PARTS, BATCH - 1, BATCH} - {0})


def beats_of(items):
    """Zeros fill the last beat."""
    return [
        sum(item << 64 * k for k, item in enumerate(items[first : first + PARTS]))
        for first in range(0, len(items), PARTS)
    ]


class Bench:
    """``dut`` between a learner and what takes its TD errors, at these paces."""

    def __init__(self, dut, source="steady", sink="steady"):
        self.dut, self.rng, self.source, self.sink = dut, random.Random(1), source, sink

    async def begin(self):
        await start(self.dut, TdErrorQueue(WIDTH, BATCH))

    def words(self, count):
        return [self.rng.getrandbits(64) for _ in range(count)]

    async def arrive(self, items, more=2):
        """A batch of ``items``; those that come behind it are not taken."""
        dut = self.dut
        dut.count.value = len(items)
        await pulse(dut, "start")
        dut.count.value = self.rng.randint(0, BATCH)
        words = items + self.words(more)
        gaps = Gaps(self.source, f"{len(items)}")
        put = cocotb.start_soon(put_all(dut, "td", words, gaps, 0.5))
        await ReadOnly()
        assert not int(dut.complete.value) and not int(dut.empty.value)
        await RisingEdge(dut.clk)
        return put

    async def leave(self, items):
        """They leave as dense beats, and then nothing is left."""
        beats = beats_of(items)
        got = get_all(self.dut, "items", len(beats), Gaps(self.sink, f"{len(items)}"), 0.5)
        got = await within(got, 200 * len(items) + 200, f"{len(beats)} beats")
        assert [beat for (beat,) in got] == beats, f"{len(items)} items"
        self.dut.items__ready.value = 0
        assert await seen(self.dut, "empty") and await seen(self.dut, "complete")

    async def none_is_taken(self, put):
        await clocks(self.dut, 5)
        assert not put.done() and not await seen(self.dut, "td__ready")
        put.cancel()
        self.dut.td__valid.value = 0

    async def silent(self):
        """No beat is there, if somebody would take it or not."""
        self.dut.items__ready.value = 1
        for _ in range(10):
            assert not await seen(self.dut, "items__valid"), "a beat more"
        self.dut.items__ready.value = 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def keeps_a_batch(dut, paces):
    """All of it has room, and nothing of it is empty before the last beat has left."""
    bench = Bench(dut, *paces)
    await bench.begin()
    for count in SIZES:
        items = bench.words(count)
        put = await bench.arrive(items)
        await until(dut, "complete", 100 * count + 100)
        await bench.none_is_taken(put)
        await clocks(dut, bench.rng.choice([0, 30]))
        assert not await seen(dut, "empty")
        await bench.leave(items)
        await bench.silent()


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def takes_while_it_gives(dut, paces):
    """Beats may leave as they become whole."""
    bench = Bench(dut, *paces)
    await bench.begin()
    for count in SIZES:
        items = bench.words(count)
        put = await bench.arrive(items)
        await bench.leave(items)
        await bench.none_is_taken(put)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pauses=PACES)
async def drops(dut, pauses):
    """All items of the batch, those that come later too; nothing of it is in the next."""
    bench = Bench(dut, pauses)
    await bench.begin()
    for count in SIZES:
        for late in (False, True):
            put = await bench.arrive(bench.words(count))
            if late:
                await until(dut, "complete", 100 * count + 100)
                await clocks(dut, 5)
                assert not await seen(dut, "empty")
            dut.drop.value = 1
            await until(dut, "empty", 100 * count + 100)
            assert await seen(dut, "complete")
            dut.drop.value = 0
            await bench.none_is_taken(put)
            items = bench.words(PARTS + 1 if count == 1 else 1)
            put = await bench.arrive(items)
            await bench.leave(items)
            await bench.none_is_taken(put)
            await bench.silent()
