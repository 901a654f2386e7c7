"""Runs inside the simulator: a free-running unit; see free_running.py."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def results_after_latency(dut):
    inputs, expected, latency = (VECTORS[name] for name in ("inputs", "expected", "latency"))
    count = len(next(iter(inputs.values())))
    for name in inputs:
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    for clock in range(count + max(latency.values())):
        for name, values in inputs.items():
            getattr(dut, name).value = values[min(clock, count - 1)]
        await ReadOnly()
        for name, values in expected.items():
            k = clock - latency[name]
            if 0 <= k < count:
                got = int(getattr(dut, name).value)
                case = name.rpartition("__")[0]  # of units beside each other, its own operands
                operands = {x: hex(inputs[x][k]) for x in inputs if x.startswith(case)}
                assert got == values[k], f"{name} of {operands}: {got:#x}, not {values[k]:#x}"
        await RisingEdge(dut.clk)
