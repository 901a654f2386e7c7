"""Runs inside the simulator: outputs of samples as a last layer sends them; see test_outputs.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from driving import clocks, pulse, within
from learner.random_samples import Begins
from pauses import SOLID
from streams import get_all, reset

CASE = json.loads(os.environ["CASE"])
#: Of each: ``count`` observations, ``samples`` of elements, ``beats`` that leave.
BATCHES = CASE["batches"]
SLOTS = 4


async def begin(dut):
    for name in ("i", "begun", "start", "count", "o__ready"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


async def send(dut, begins, samples, gap, rng):
    """Elements of the samples that have begun, with gaps; nobody can stop them."""
    for number, elements in enumerate(samples):
        await begins.has(number)
        for element in elements:
            while rng.random() < gap:
                await RisingEdge(dut.clk)
            dut.i.value = element
            await RisingEdge(dut.clk)
            dut.i.value = element & ~1  # what is not valid is none


async def batch(dut, number, gap, seed):
    """Its samples begin wherever there is room; the ``Begins`` of it."""
    case, rng = BATCHES[number], random.Random(seed)
    dut.count.value = case["count"]
    await pulse(dut, "start")
    dut.count.value = rng.randint(0, case["count"])
    begins = Begins(dut, len(case["samples"]), gap=gap, seed=seed)
    cocotb.start_soon(send(dut, begins, case["samples"], gap, rng))
    return begins


async def nothing_more(dut, count=30):
    for _ in range(count):
        await ReadOnly()
        assert not int(dut.o__valid.value), "a beat after the last"
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.6], sink_gap=[0, 0.6, SOLID])
async def observations_in_order(dut, gap, sink_gap):
    await begin(dut)
    for number, case in enumerate(BATCHES):
        await batch(dut, number, gap, number)
        get = get_all(dut, "o", len(case["beats"]), random.Random(3), sink_gap)
        got = [word for (word,) in await within(get, 9000, f"last beat of batch {number}")]
        assert got == case["beats"], f"batch {number}"
        dut.o__ready.value = 1
        await nothing_more(dut)
        assert int(dut.room.value)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def room_for_four_samples(dut):
    """Beats that nobody takes fill the unit; the first that go let the next samples in."""
    await begin(dut)
    number = max(range(len(BATCHES)), key=lambda k: BATCHES[k]["count"])
    case = BATCHES[number]
    begins = await batch(dut, number, 0, 1)
    await clocks(dut, 20 * CASE["sample_clocks"] + 40)
    assert SLOTS <= begins.begun <= SLOTS + 1 + CASE["ahead"] < len(case["samples"])
    assert not int(dut.room.value)
    get = get_all(dut, "o", len(case["beats"]), random.Random(3))
    got = [word for (word,) in await within(get, 9000, "last beat")]
    assert got == case["beats"] and begins.begun == len(case["samples"])
    assert int(dut.room.value)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def latency(dut):
    await begin(dut)
    (number,) = [k for k, case in enumerate(BATCHES) if case["count"] == CASE["lanes"]]
    dut.o__ready.value = 1
    await batch(dut, number, 0, 1)
    came = left = None
    for clock in range(600):
        await ReadOnly()
        if int(dut.i.value) & 1:
            came = clock
        if int(dut.o__valid.value):
            left = clock
        await RisingEdge(dut.clk)
    assert left - came == CASE["latency"]
