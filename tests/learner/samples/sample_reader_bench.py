"""Runs inside the simulator: a batch memory in Python, played over and over; see test_play.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, with_timeout
from streams import get_all, reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
LANES, SAMPLES, AHEAD = (CASE[name] for name in ("lanes", "samples", "ahead"))
COUNT, READS = CASE["count"], CASE["reads"]
#: What a batch of experiences is, and of observations: words of memory, streams, words clipped.
TRAIN, ACT = VECTORS["train"], VECTORS["act"]
STREAMS = TRAIN["streams"]


class Surroundings:
    """The memory, a clock behind its address; room as it comes; counts of what happens."""

    def __init__(self, dut, gap):
        self.dut, self.gap, self.rng, self.memory = dut, gap, random.Random(3), TRAIN["memory"]
        self.begun = self.clipped = 0

    async def run(self):
        dut = self.dut
        while True:
            await ReadOnly()
            places = [int(getattr(dut, f"address__{lane}").value) for lane in range(LANES)]
            begun = int(dut.begun.value)
            assert not begun or int(dut.room.value), "begun without room"
            self.begun += begun
            self.clipped += int(dut.saturations.value)
            await RisingEdge(dut.clk)
            for lane, address in enumerate(places):
                assert address % COUNT == 0, f"address {address} is no multiple of {COUNT}"
                words = self.memory[address : address + COUNT]
                # Behind the last record it may look, at anything.
                words += [(1 << 32) - 1] * (COUNT - len(words))
                value = sum(word << 32 * k for k, word in enumerate(words))
                getattr(dut, f"words__{lane}").value = value
            dut.room.value = int(self.rng.random() >= self.gap)


async def start(dut, gap):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.start.value, dut.room.value, dut.samples.value = 0, 0, SAMPLES
    dut.acting.value = 0
    for name in STREAMS:
        getattr(dut, f"{name}__ready").value = 0
    for lane in range(LANES):
        getattr(dut, f"words__{lane}").value = 0
    await reset(dut)
    around = Surroundings(dut, gap)
    cocotb.start_soon(around.run())
    return around


async def play(dut):
    await RisingEdge(dut.clk)
    dut.start.value = 1
    await RisingEdge(dut.clk)
    dut.start.value = 0


def collect(dut, gap, streams=STREAMS):
    """Tasks that take the streams, each with gaps of its own."""
    return {
        name: cocotb.start_soon(get_all(dut, name, len(words), random.Random(f"{gap}{name}"), gap))
        for name, words in streams.items()
    }


async def silent(dut, names):
    """Streams that may carry nothing, though they could."""
    for name in names:
        getattr(dut, f"{name}__ready").value = 1
    while True:
        await ReadOnly()
        for name in names:
            assert not int(getattr(dut, f"{name}__valid").value), f"a word of {name} while acting"
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.5, 0.8])
async def streams_in_order(dut, gap):
    around, clipped = await start(dut, gap), 0
    for time, case in enumerate((TRAIN, TRAIN, ACT, ACT, TRAIN)):
        dut.acting.value, around.memory = int(case is ACT), case["memory"]
        tasks = collect(dut, gap, case["streams"])
        watch = cocotb.start_soon(silent(dut, STREAMS.keys() - tasks.keys()))
        await play(dut)
        for name, words in case["streams"].items():
            got = [word for (word,) in await with_timeout(tasks[name], 400, "us")]
            for k, (word, (value, mask)) in enumerate(zip(got, words, strict=True)):
                assert word & mask == value & mask, f"{name} {k}, time {time}"
        await ClockCycles(dut.clk, 5)
        watch.cancel()
        clipped += case["clipped"]
        assert around.begun == SAMPLES * (time + 1)
        assert around.clipped == clipped


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_read_in_every_clock(dut):
    """A sample of so many reads begins every ``reads`` clocks."""
    around = await start(dut, 0)
    collect(dut, 0)
    await play(dut)
    for _ in range(3):
        if around.begun == 0:
            await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, READS * (SAMPLES - 1) - 1)
    assert around.begun == SAMPLES - 1
    await ClockCycles(dut.clk, 2)
    assert around.begun == SAMPLES


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_further_than_the_loss_allows(dut):
    around = await start(dut, 0)
    collect(
        dut, 0, {name: words for name, words in STREAMS.items() if not name.startswith("scalars")}
    )
    await play(dut)
    await ClockCycles(dut.clk, 10 * (READS + 10) * AHEAD)
    assert around.begun == min(AHEAD, SAMPLES)


@cocotb.test(timeout_time=1, timeout_unit="ms", skip=AHEAD == 2)
async def reads_that_are_held_up(dut):
    """Where a network does not take its numbers, samples begin and reads leave in the clocks of
    ``queued_reads``, which leaves out that few samples may be ahead of the loss."""
    around, held = await start(dut, 0), VECTORS["held"]
    network, begun, last, clock = held["network"], [], [], 0
    collect(dut, 0, {name: words for name, words in STREAMS.items() if name != network})
    ready, valid, payload = (
        getattr(dut, f"{network}__{name}") for name in ("ready", "valid", "payload")
    )
    await play(dut)
    while len(last) < SAMPLES:
        await ReadOnly()
        clock += int(clock > 0 or around.begun + int(dut.begun.value) > 0)
        begun += [clock] * int(dut.begun.value)
        moves = int(ready.value) and int(valid.value)
        last += [clock] * (moves and int(payload.value) & 1)
        await RisingEdge(dut.clk)
        ready.value = int(clock + 1 not in held["clocks"])
    assert (begun, last) == (held["begun"], held["last"])
