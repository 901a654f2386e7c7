"""Runs inside the simulator: any unit without handshakes, clock by clock; see ``clocks.py``."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import reset

VECTORS = json.loads(Path(json.loads(os.environ["CASE"])["vectors"]).read_text())


@cocotb.test()
async def every_clock(dut):
    inputs, expected = VECTORS["inputs"], VECTORS["expected"]
    for name in inputs:
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    for clock in range(len(next(iter(inputs.values())))):
        for name, values in inputs.items():
            if clock == 0 or values[clock] != values[clock - 1]:
                getattr(dut, name).value = values[clock]
        await ReadOnly()
        for name, values in expected.items():
            if values[clock] is not None:
                got = getattr(dut, name).value
                assert got.is_resolvable and int(got) == values[clock], (
                    f"{name} in clock {clock}: {got}, not {values[clock]:#x}"
                )
        await RisingEdge(dut.clk)
