"""Runs inside the simulator: a memory that nobody writes; see test_simulators.py."""

import json
import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

CASE = json.loads(os.environ["CASE"])


@cocotb.test(timeout_time=1, timeout_unit="us")
async def unwritten(dut):
    assert cocotb.SIM_NAME.lower().startswith(CASE["expected"])
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.write_enable.value, dut.read_enable.value = 0, 1
    await RisingEdge(dut.clk)
    words = []
    for address in range(CASE["depth"]):
        dut.read_address.value = address
        await RisingEdge(dut.clk)
        await ReadOnly()
        words.append(dut.read_data.value)
        await RisingEdge(dut.clk)
    known = [word.is_resolvable for word in words]
    assert known == [CASE["expected"] == "verilator"] * len(words), words
    assert not any(known) or all(map(int, words)), words


@cocotb.test(timeout_time=1, timeout_unit="us", skip=not CASE["fails"])
async def fails(dut):
    raise AssertionError("as it should")


@cocotb.test(timeout_time=1, timeout_unit="us", skip=not CASE["hangs"])
async def hangs(dut):
    await RisingEdge(dut.clk)
