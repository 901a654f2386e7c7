"""Runs inside the simulator: sums one after another; see test_moments.py."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import reset

CASE = json.loads(os.environ["CASE"])
#: Of each: sums, exponent as ports, mean and deviation as they must be.
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
LATENCY = CASE["latency"]


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def moments_after_latency(dut):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.start.value = dut.sums.value = dut.exponent.value = 0
    await reset(dut)
    for sums, exponent, mean, deviation in VECTORS:
        dut.sums.value, dut.exponent.value, dut.start.value = sums, exponent, 1
        for clock in range(LATENCY + 1):
            await ReadOnly()
            assert int(dut.done.value) == (clock == LATENCY), f"done after {clock} clocks"
            if clock < LATENCY:
                await RisingEdge(dut.clk)
                dut.start.value = 0
        got = int(dut.mean.value), int(dut.deviation.value)
        assert got == (mean, deviation), (hex(sums), exponent, got, (mean, deviation))
        await RisingEdge(dut.clk)
