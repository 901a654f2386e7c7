"""Runs inside the simulator: batches drawn, TD errors given, all else passed.

The bench is the replay core on one side and memory, learner on the other.
"""

import json
import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, clocks, pulse, seen, start, until, within
from paces import CROSSED, PACES, Gaps
from shell.port_memory import ReadMemory, WriteMemory, word_at
from shell.request_cases import addresses_of, pack
from streams import get_all, ports, put_all

from hw.learner.control.batch_redirect import BatchRedirect

CASE = json.loads(os.environ["CASE"])
WIDTH, BATCH = CASE["data_width"], CASE["batch"]
BYTES, PARTS = WIDTH // 8, WIDTH // 64
PASSING = [("request", "read"), ("data", "read"), ("request", "write"), ("data", "write"),
           ("done", "write")]  # fmt: skip
#: Items of a batch: one, about a beat, about two, all that fit.
SIZES = sorted({1, PARTS - 1, PARTS, PARTS + 1, 2 * PARTS, BATCH - 1, BATCH} - {0})


class Bench:
    """``dut`` between memories; everything that it gives or takes pauses at these paces."""

    def __init__(self, dut, source="steady", sink="steady"):
        self.dut, self.rng, self.source, self.sink = dut, random.Random(1), source, sink

    async def begin(self):
        await start(self.dut, BatchRedirect(WIDTH, BATCH))
        options = dict(pauses=Gaps(self.sink, 3), latency=3)
        # All bits of a payload, that of an error among them, are anything.
        self.reads = ReadMemory(self.dut, BYTES, port="read", waits=True, **options)
        self.writes = WriteMemory(self.dut, BYTES, port="write", waits=True, lag=None, **options)

    def put(self, name, words):
        gaps = Gaps(self.source, f"{name} {len(words)}")
        return cocotb.start_soon(put_all(self.dut, name, words, gaps, 0.5))

    async def get(self, name, count):
        gaps = Gaps(self.sink, f"{name} {count}")
        words = get_all(self.dut, name, count, gaps, 0.5)
        got = [word for (word,) in await within(words, 100 * count + 200, f"{count} {name}")]
        getattr(self.dut, f"{name}__ready").value = 0
        return got

    def words(self, count, width=WIDTH):
        return [self.rng.getrandbits(width) for _ in range(count)]

    async def silent(self, *names, count=10):
        """None of these is valid, if somebody would take it or not."""
        for name in names:
            getattr(self.dut, f"{name}__ready").value = 1
        for _ in range(count):
            await ReadOnly()
            for name in names:
                assert not int(getattr(self.dut, f"{name}__valid").value), f"{name}: a word more"
            await RisingEdge(self.dut.clk)
        for name in names:
            getattr(self.dut, f"{name}__ready").value = 0

    async def same_on_both_sides(self):
        """What passes is on both sides in the same clock."""
        while True:
            await ReadOnly()
            for stream, port in PASSING:
                sides = [f"{port}__{stream}", f"replay_{port}__{stream}"]
                assert len({self._lines(side) for side in sides}) == 1, sides[0]
            await RisingEdge(self.dut.clk)

    def _lines(self, name):
        payload, valid, ready = (int(line.value) for line in ports(self.dut, name))
        return valid, ready, payload if valid else None


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def passes(dut, paces):
    """Reads with their errors, writes with their tokens; no record comes of it."""
    bench = Bench(dut, *paces)
    await bench.begin()
    same = cocotb.start_soon(bench.same_on_both_sides())
    requests = [(k << 20 | 1 << 45, beats) for k, beats in enumerate((1, 5, 2, 30, 1, 1))]
    places = addresses_of(requests, BYTES)
    bench.writes.bad = {requests[k][0] for k in (1, 4)}
    words = bench.words(len(places))
    for port in ("read", "write"):
        bench.put(f"replay_{port}__request", pack(requests))
    bench.put("replay_write__data", words)
    tokens = cocotb.start_soon(bench.get("replay_write__done", len(requests)))
    got = await bench.get("replay_read__data", len(places))
    assert got == [word_at(address, WIDTH + 1) for address in places]
    assert await tokens == [0, 1, 0, 0, 1, 0]
    assert bench.reads.taken == bench.writes.taken == requests
    assert bench.writes.written == dict(zip(places, words, strict=True))
    same.cancel()
    await bench.silent("replay_read__data", "replay_write__done", "records")


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def draws(dut, paces):
    """Every beat of a write becomes a record, none reaches memory; then its token, without error.

    Data may come before the request; writes between the batches pass.
    """
    bench = Bench(dut, *paces)
    await bench.begin()
    watch = Watch(dut, "write__request__valid", "write__data__valid", "write__done__ready")
    last = Watch(dut, "records__valid", "replay_write__done__valid")
    for count in (1, 2, 7, 40):
        dut.drawing.value, words = 1, bench.words(count)
        watch.forget()
        last.forget()
        dut.write__done__payload.value = 1  # of an answer that is not there
        bench.put("replay_write__data", words)
        await clocks(dut, bench.rng.choice([0, 3]))
        bench.put("replay_write__request", pack([(bench.rng.getrandbits(64), count)]))
        assert await bench.get("records", count) == words
        await bench.silent("records")
        assert await bench.get("replay_write__done", 1) == [0]
        assert max(last.high["records__valid"]) < min(last.high["replay_write__done__valid"])
        await bench.silent("records", "replay_write__done")
        assert not any(watch.high.values()), "a batch that is drawn reached memory"
        dut.drawing.value = 0
        address = count << 20
        bench.put("replay_write__request", pack([(address, 1)]))
        bench.put("replay_write__data", words[:1])
        assert await bench.get("replay_write__done", 1) == [0]
        assert bench.writes.written.pop(address) == words[0]
    assert not bench.writes.written


def beats_of(items):
    """Zeros fill the last beat."""
    return [
        sum(item << 64 * k for k, item in enumerate(items[first : first + PARTS]))
        for first in range(0, len(items), PARTS)
    ]


async def arrive(bench, items, more=2):
    """A batch of ``items``; those that come behind it are not taken."""
    dut = bench.dut
    dut.count.value = len(items)
    await pulse(dut, "start")
    dut.count.value = bench.rng.randint(0, BATCH)
    put = bench.put("td", items + bench.words(more, 64))
    await ReadOnly()
    assert not int(dut.complete.value) and not int(dut.empty.value)
    await RisingEdge(dut.clk)
    return put


async def none_is_taken(bench, put):
    await clocks(bench.dut, 5)
    assert not put.done() and not await seen(bench.dut, "td__ready")
    put.cancel()
    bench.dut.td__valid.value = 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def gives(dut, paces):
    """Items of a batch are what the replay core reads, as dense beats without an error."""
    bench = Bench(dut, *paces)
    await bench.begin()
    watch = Watch(dut, "read__request__valid", "read__data__ready")
    for count in SIZES:
        items = bench.words(count, 64)
        put = await arrive(bench, items)
        await until(dut, "complete", 100 * count + 100)
        await none_is_taken(bench, put)
        await clocks(dut, bench.rng.choice([0, 30]))
        assert not await seen(dut, "empty")
        watch.forget()
        dut.giving.value = 1
        beats = beats_of(items)
        bench.put("replay_read__request", pack([(bench.rng.getrandbits(64), len(beats))]))
        assert await bench.get("replay_read__data", len(beats)) == beats, f"{count} items"
        assert await seen(dut, "empty") and await seen(dut, "complete")
        await bench.silent("replay_read__data")
        assert not any(watch.high.values()), "what is given was asked for from memory"
        dut.giving.value = 0
        bench.put("replay_read__request", pack([(count << 20, 1)]))
        assert await bench.get("replay_read__data", 1) == [word_at(count << 20, WIDTH + 1)]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def reads_before_items(dut):
    """A read that begins with the batch gets its beats as they become whole."""
    bench = Bench(dut, "random")
    await bench.begin()
    dut.giving.value = 1
    for count in SIZES:
        items = bench.words(count, 64)
        put = await arrive(bench, items)
        assert await bench.get("replay_read__data", len(beats_of(items))) == beats_of(items)
        await none_is_taken(bench, put)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pauses=PACES)
async def drops(dut, pauses):
    """All items of the batch, those that come later too; nothing of it is in the next."""
    bench = Bench(dut, pauses)
    await bench.begin()
    for count in SIZES:
        for late in (False, True):
            put = await arrive(bench, bench.words(count, 64))
            if late:
                await until(dut, "complete", 100 * count + 100)
                await clocks(dut, 5)
                assert not await seen(dut, "empty")
            dut.drop.value = 1
            await until(dut, "empty", 100 * count + 100)
            assert await seen(dut, "complete")
            dut.drop.value = 0
            await none_is_taken(bench, put)
            items = bench.words(PARTS + 1 if count == 1 else 1, 64)
            put = await arrive(bench, items)
            dut.giving.value = 1
            assert await bench.get("replay_read__data", len(beats_of(items))) == beats_of(items)
            dut.giving.value = 0
            await none_is_taken(bench, put)
            await bench.silent("replay_read__data")


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def passing(dut, paces):
    """A batch of the host's, and a list for it: beside each other, and nothing to memory."""
    bench = Bench(dut, *paces)
    await bench.begin()
    lines = [f"{port}__request__valid" for port in ("read", "write")] + ["write__data__valid"]
    watch = Watch(dut, *lines)
    dut.passing.value = 1
    for count in SIZES:
        items, words = bench.words(count, 64), bench.words(2 * count + 1)
        put = await arrive(bench, items)
        bench.put("batch", words)
        records = cocotb.start_soon(bench.get("records", len(words)))
        assert await bench.get("list", len(beats_of(items))) == beats_of(items), f"{count} items"
        assert await records == words
        assert await seen(dut, "empty") and await seen(dut, "complete")
        await none_is_taken(bench, put)
        await bench.silent("list", "records")
    assert not any(watch.high.values())
    dut.passing.value = 0
    # With nothing to pass, what the host sends waits.
    bench.put("batch", bench.words(1))
    await bench.silent("records")
