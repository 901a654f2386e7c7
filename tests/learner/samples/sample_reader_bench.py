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
LANES, SAMPLES, AHEAD, WORDS = (CASE[name] for name in ("lanes", "samples", "ahead", "words"))
STREAMS = VECTORS["streams"]


class Surroundings:
    """The memory, a clock behind its address; room as it comes; counts of what happens."""

    def __init__(self, dut, gap):
        self.dut, self.gap, self.rng = dut, gap, random.Random(3)
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
                memory = VECTORS["memory"]
                # Behind the last record it may look, at anything.
                word = memory[address] if address < len(memory) else (1 << 32) - 1
                getattr(dut, f"word__{lane}").value = word
            dut.room.value = int(self.rng.random() >= self.gap)


async def start(dut, gap):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.start.value, dut.room.value, dut.samples.value = 0, 0, SAMPLES
    for name in STREAMS:
        getattr(dut, f"{name}__ready").value = 0
    for lane in range(LANES):
        getattr(dut, f"word__{lane}").value = 0
    await reset(dut)
    around = Surroundings(dut, gap)
    cocotb.start_soon(around.run())
    return around


async def play(dut):
    dut.start.value = 1
    await RisingEdge(dut.clk)
    dut.start.value = 0


def collect(dut, gap, names=tuple(STREAMS)):
    """Tasks that take the streams, each with gaps of its own."""
    return {
        name: cocotb.start_soon(
            get_all(dut, name, len(STREAMS[name]), random.Random(f"{gap}{name}"), gap)
        )
        for name in names
    }


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.5, 0.8])
async def streams_in_order(dut, gap):
    around = await start(dut, gap)
    for again in range(2):
        tasks = collect(dut, gap)
        await play(dut)
        for name, words in STREAMS.items():
            got = [word for (word,) in await with_timeout(tasks[name], 400, "us")]
            assert got == words, f"{name}, time {again}"
        await ClockCycles(dut.clk, 5)
        assert around.begun == SAMPLES * (again + 1)
        assert around.clipped == VECTORS["clipped"] * (again + 1)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_word_in_every_clock(dut):
    """A sample of so many words begins every ``words + 1`` clocks."""
    around = await start(dut, 0)
    collect(dut, 0)
    await play(dut)
    for _ in range(3):
        if around.begun == 0:
            await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, (WORDS + 1) * (SAMPLES - 1) - 1)
    assert around.begun == SAMPLES - 1
    await ClockCycles(dut.clk, 2)
    assert around.begun == SAMPLES


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_further_than_the_loss_allows(dut):
    around = await start(dut, 0)
    collect(dut, 0, [name for name in STREAMS if name != "scalars"])
    await play(dut)
    await ClockCycles(dut.clk, 10 * WORDS * AHEAD)
    assert around.begun == min(AHEAD, SAMPLES)
