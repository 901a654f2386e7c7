"""Runs inside the simulator: batches of experiences from a slow memory; see test_gather.py."""

import json
import os
import random

import cocotb
import numpy as np
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, pulse, seen, start, within
from paces import CROSSED, PACES, Gaps
from shell.port_memory import ReadMemory, word_at
from streams import get_all, put_all

from hw.replay.commands import MAX_GRANULES
from hw.replay.config import ReplayConfig
from hw.replay.gather import Gather
from hw.replay.tree.operations import response_layout
from sim.model.replay.weight import weight

CASE = json.loads(os.environ["CASE"])
CONFIG, WIDTH, DEPTH = ReplayConfig(**CASE["config"]), CASE["data_width"], CASE["depth"]
BYTES, PARTS = WIDTH // 8, WIDTH // 128
RESPONSE = response_layout(CONFIG)
STORAGE = (1 << 45) + (3 << 12)
#: Granules of an experience: none, less than a beat, one, more.
GRANULES = sorted({0, 1, PARTS - 1, PARTS, PARTS + 1, 3 * PARTS - 1, 3 * PARTS})


def stored(address, _):
    """A beat of storage, and whether it failed: the batch is the same."""
    return word_at(address, WIDTH + 1)


class Bench:
    def __init__(self, dut, source="steady", sink="steady", memory="steady", latency=20):
        self.dut, self.rng, self.latency = dut, random.Random(1), latency
        self.source, self.sink, self.pauses = source, sink, memory

    async def begin(self):
        await start(self.dut, Gather(CONFIG, WIDTH, DEPTH))
        self.memory = ReadMemory(
            self.dut,
            BYTES,
            port="read",
            waits=True,
            latency=self.latency,
            pauses=Gaps(self.pauses, 2),
            holds=stored,
        )
        self.watch = Watch(self.dut, "gathered", "sent", streams=("o",))

    def leaves(self, count):
        """``(index, priority, error)`` of answers: corners, a FIND that found nothing, others."""
        last, limit, random = CONFIG.capacity - 1, CONFIG.priority_limit, self.rng.randint
        some = [(last, limit, 0), (0, 1, 0), (0, 0, 1), (last, 1, 0)]
        some += [(random(0, last), random(1, limit), 0) for _ in range(count)]
        first = self.rng.randrange(4)
        return (some[first:] + some[:first])[:count]

    def operands(self, count, granules):
        total = self.rng.randint(1, CONFIG.priority_limit * CONFIG.capacity)
        return dict(
            count=count,
            granules=granules,
            stride=-(-granules // PARTS),
            storage=STORAGE,
            total=total,
            fill=self.rng.choice([CONFIG.capacity, self.rng.randint(1, CONFIG.capacity)]),
            beta=self.rng.choice([0, 13107, 1 << 15, 0xFFFF]),
        )

    def words(self, leaves, operands):
        """The batch: a header and an experience for each answer, dense, zeros behind the last."""
        granules, stride, dense = operands["granules"], operands["stride"], []
        priorities = np.array([priority for _, priority, _ in leaves])
        numbers = (np.uint64(operands[name]) for name in ("total", "fill"))
        weights = weight(priorities, *numbers, operands["beta"]).view(np.uint32).tolist()
        for (index, priority, _), bits in zip(leaves, weights, strict=True):
            dense.append(index | priority << 32 | bits << 64)
            begin = STORAGE + index * stride * BYTES
            beats = [stored(begin + k * BYTES, None) for k in range(stride)]
            record = [beat >> at & (1 << 128) - 1 for beat in beats for at in range(0, WIDTH, 128)]
            dense += record[:granules]
        dense += [0] * (-len(dense) % PARTS)
        return [
            sum(granule << 128 * j for j, granule in enumerate(dense[k : k + PARTS]))
            for k in range(0, len(dense), PARTS)
        ]

    async def gather(self, count, granules):
        """One batch, its reads, when it has arrived."""
        dut, memory = self.dut, self.memory
        leaves, operands = self.leaves(count), self.operands(count, granules)
        for name, value in operands.items():
            getattr(dut, name).value = value
        here = f"{count} of {granules} granules"
        asked, expected = len(memory.taken), self.words(leaves, operands)
        await pulse(dut, "start")
        self.watch.forget()
        answers = [
            RESPONSE.const(dict(index=i, priority=p, error=e)).as_value().value
            for i, p, e in leaves
        ]
        gaps = Gaps(self.source, f"{count} {granules}")
        put = cocotb.start_soon(put_all(dut, "response", answers, gaps, 0.5))
        got = get_all(dut, "o", len(expected), Gaps(self.sink, here), 0.5)
        got = await within(got, 60 * len(expected) + 40 * count + 300, f"batch of {here}")
        for k, ((word,), wanted) in enumerate(zip(got, expected, strict=True)):
            assert word == wanted, f"{here}: word {k} is {word:#x}, not {wanted:#x}"
        assert put.done(), here
        reads = [
            (STORAGE + i * operands["stride"] * BYTES, operands["stride"]) for i, _, _ in leaves
        ]
        assert memory.taken[asked:] == (reads if granules else []), here
        assert await seen(dut, "gathered") and await seen(dut, "sent")
        assert self.watch.high["sent"][0] == self.watch.high["o"][-1] + 1, f"{here}: sent"
        if granules:
            arrived = self.watch.high["gathered"][0]
            assert arrived == memory.clocks["data"][-1] + 1, f"{here}: gathered at another time"

    async def silent(self):
        self.dut.o__ready.value = 1
        for _ in range(40):
            await ReadOnly()
            assert not int(self.dut.o__valid.value), "a word too many"
            await RisingEdge(self.dut.clk)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=[(a, b, PACES[(k + k // 3) % 3]) for k, (a, b) in enumerate(CROSSED)])
async def batches(dut, paces):
    """One answer and many, of every size; a batch begins with a word of its own.

    Answers, batch and memory at every pace, any two of them crossed.
    """
    bench = Bench(dut, *paces)
    await bench.begin()
    sizes = [(count, granules) for granules in GRANULES for count in (1, 3 * PARTS + 1)]
    if set(paces) != {"steady"}:
        sizes = bench.rng.sample(sizes, 4)
    for size in sizes:
        await bench.gather(*size)
    await bench.silent()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def the_last_of_the_largest(dut):
    """The experience in the last place, of the largest size."""
    bench = Bench(dut)
    await bench.begin()
    last = CONFIG.capacity - 1, 1, 0
    bench.leaves = lambda count: [last] * count
    await bench.gather(1, MAX_GRANULES)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(latency=[1, 200])
async def memory_of_any_latency(dut, latency):
    """More experiences are on their way than headers can wait, and none is lost."""
    bench = Bench(dut, latency=latency)
    await bench.begin()
    for granules in (1, PARTS, 2 * PARTS):
        await bench.gather(3 * DEPTH, granules)
    await bench.silent()


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(granules=sorted({1, PARTS, 2 * PARTS}))
async def keeps_pace(dut, granules):
    """At the speed of memory, or of what takes the batch where that is more."""
    bench = Bench(dut, latency=min(4, DEPTH - 2))
    await bench.begin()
    count = 40
    await bench.gather(count, granules)
    arrivals, beats = bench.memory.clocks["data"], count * -(-granules // PARTS)
    words = -(-count * (granules + 1) // PARTS)
    # Two words may wait in the packer, and nowhere else.
    assert arrivals[-1] - arrivals[0] + 1 <= max(beats, words) + 2
