"""Runs inside the simulator: words of dx as a backward pass sends them; see test_errors.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, with_timeout
from learner.random_samples import Begins
from pauses import SOLID
from streams import get_all, reset

CASE = json.loads(os.environ["CASE"])
SAMPLES, EXPECTED = CASE["samples"], CASE["expected"]


async def send(dut, begins, gap, rng):
    """Words of the samples that have begun, with gaps; nobody can stop them."""
    for number, words in enumerate(SAMPLES):
        await begins.has(number)
        for word in words:
            while rng.random() < gap:
                await RisingEdge(dut.clk)
            dut.dx.value = word << 1 | 1
            await RisingEdge(dut.clk)
            dut.dx.value = 0


async def start(dut, gap, seed):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.dx.value = dut.begun.value = dut.o__ready.value = 0
    await reset(dut)
    begins = Begins(dut, len(SAMPLES), gap=gap, seed=seed)
    cocotb.start_soon(send(dut, begins, gap, random.Random(seed)))
    return begins


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.6], sink_gap=[0, 0.6, SOLID])
async def elements_in_order(dut, gap, sink_gap):
    await start(dut, gap, 2)
    get = get_all(dut, "o", len(EXPECTED), random.Random(3), sink_gap)
    assert [word for (word,) in await with_timeout(get, 200, "us")] == EXPECTED
    for _ in range(20):
        await ReadOnly()
        assert not int(dut.o__valid.value), "an element after the last"
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def room_for_two_samples(dut):
    """No third one begins before the first is gone; an element then goes in every clock."""
    begins = await start(dut, 0, 1)
    await ClockCycles(dut.clk, 10 * len(SAMPLES[0]) + 10)
    assert begins.begun == 2
    dut.o__ready.value = 1
    # A clock each, also for numbers that are no element.
    for _ in range(CASE["sample_clocks"]):
        assert begins.begun == 2
        await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, 4)
    assert begins.begun > 2
