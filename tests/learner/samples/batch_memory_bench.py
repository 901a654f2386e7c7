"""Runs inside the simulator: batches one after the other, read back; see test_batch.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from streams import put_all, reset

CASE = json.loads(os.environ["CASE"])
LANES, WIDTH, COUNT = CASE["lanes"], CASE["data_width"], CASE["count"]
GRANULE = (1 << 128) - 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def batches(dut):
    rng = random.Random(1)
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    for name in ("acting", "begin", "batch", "take", "records__valid"):
        getattr(dut, name).value = 0
    for lane in range(LANES):
        getattr(dut, f"address__{lane}").value = 0
    await reset(dut)
    taken = None
    for number, batch in enumerate(CASE["batches"]):
        dut.acting.value = int(batch["acting"])
        await pulse(dut, "begin", batch["count"])
        gap = (0, 0.5)[number % 2]
        # The batch before it is read while this one comes.
        reading = cocotb.start_soon(check(dut, taken)) if taken else None
        await with_timeout(put_all(dut, "records", batch["beats"], rng, gap), 100, "us")
        clocks = 1  # the last beat was taken in the clock before this one
        while clocks < CASE["latency"]:
            assert not int(dut.loaded.value), f"batch {number} is loaded after {clocks} clocks"
            await RisingEdge(dut.clk)
            await ReadOnly()
            clocks += 1
        assert int(dut.loaded.value), f"batch {number} is not loaded in time"
        if reading:
            await with_timeout(reading, 100, "us")
        await RisingEdge(dut.clk)
        bad = [int(dut.bad.value), int(dut.bad_index.value)]
        assert bad[0] == (batch["bad"] is not None), f"bad is {bad}, not {batch['bad']}"
        assert not bad[0] or bad[1] == batch["bad"], f"bad is {bad}, not {batch['bad']}"
        taken = None
        if number % 5 != 3 or batch is CASE["batches"][-1]:  # now and then one is given up
            await pulse(dut, "take", batch["count"])
            taken = batch
    await check(dut, taken)


async def pulse(dut, name, count):
    getattr(dut, name).value, dut.batch.value = 1, count
    await RisingEdge(dut.clk)
    getattr(dut, name).value = 0


async def check(dut, batch):
    await RisingEdge(dut.clk)
    granules = [beat >> at & GRANULE for beat in batch["beats"] for at in range(0, WIDTH, 128)]
    size, words = batch["size"] * 4, batch["count"] * batch["size"] * 4
    for number in range(0, words // LANES, COUNT):
        # Lanes read where they want.
        at = [(number + lane * (7 + size)) % words // COUNT * COUNT for lane in range(LANES)]
        for lane, address in enumerate(at):
            getattr(dut, f"address__{lane}").value = address
        await RisingEdge(dut.clk)
        await ReadOnly()
        for lane, address in enumerate(at):
            expected = granules[address // 4] >> 32 * (address % 4) & (1 << 32 * COUNT) - 1
            assert int(getattr(dut, f"words__{lane}").value) == expected, (address, lane)
        assert int(dut.beat.value) == batch["beats"][at[0] * 32 // WIDTH], at[0]
        if not batch["acting"]:
            assert int(dut.weight.value) == batch["weight"]
            assert int(dut.inverse.value) == batch["inverse"]
        await RisingEdge(dut.clk)
