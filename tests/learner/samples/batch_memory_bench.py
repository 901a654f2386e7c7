"""Runs inside the simulator: batches one after the other, read back; see test_batch.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from streams import put_all, reset

CASE = json.loads(os.environ["CASE"])
LANES, SIZE, WIDTH = CASE["lanes"], CASE["size"], CASE["data_width"]
GRANULE = (1 << 128) - 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def batches(dut):
    rng = random.Random(1)
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.begin.value = dut.batch.value = dut.address.value = dut.records__valid.value = 0
    await reset(dut)
    for number, batch in enumerate(CASE["batches"]):
        dut.begin.value, dut.batch.value = 1, batch["count"]
        await RisingEdge(dut.clk)
        dut.begin.value = 0
        gap = (0, 0.5)[number % 2]
        put = put_all(dut, "records", batch["beats"], rng, gap)
        await with_timeout(put, 100, "us")
        for _ in range(4 * LANES * SIZE + 60):
            await ReadOnly()
            loaded = int(dut.loaded.value)
            await RisingEdge(dut.clk)
            if loaded:
                break
        assert loaded, f"batch {number} is not loaded in time"
        await check(dut, batch)


async def check(dut, batch):
    bad = [int(dut.bad.value), int(dut.bad_index.value)]
    assert bad[0] == (batch["bad"] is not None), f"bad is {bad}, not {batch['bad']}"
    assert not bad[0] or bad[1] == batch["bad"], f"bad is {bad}, not {batch['bad']}"
    assert int(dut.weight.value) == batch["weight"]
    assert int(dut.inverse.value) == batch["inverse"]
    granules = [beat >> at & GRANULE for beat in batch["beats"] for at in range(0, WIDTH, 128)]
    for address in range(batch["count"] // LANES * SIZE):
        dut.address.value = address
        await RisingEdge(dut.clk)
        await ReadOnly()
        sample, part = divmod(address, SIZE)
        for lane in range(LANES):
            expected = granules[(sample * LANES + lane) * SIZE + part]
            assert int(getattr(dut, f"granule__{lane}").value) == expected, (address, lane)
        await RisingEdge(dut.clk)
