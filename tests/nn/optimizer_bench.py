"""Runs inside the simulator: an optimizer, a parameter every clock; see test_optimizer.py."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
#: port -> clocks after the gradient
INPUTS, OUTPUTS = CASE["inputs"], CASE["outputs"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def stream(dut):
    for port in INPUTS:
        getattr(dut, port).value = 0
    dut.coefficients.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    for number, batch in enumerate(VECTORS):
        dut.coefficients.value = int(batch["step"], 16)
        count = len(batch["gradient"])
        for clock in range(count + max(OUTPUTS.values())):
            for port, after in INPUTS.items():
                k = clock - after
                inside = 0 <= k < count
                # Before and after its time, what is there must not matter.
                getattr(dut, port).value = batch[port][k] if inside else batch[port][clock % count]
            await ReadOnly()
            for port, after in OUTPUTS.items():
                k = clock - after
                if 0 <= k < count:
                    got, expected = int(getattr(dut, port).value), batch[port][k]
                    assert got == expected, (
                        f"batch {number}, parameter {k}: {port} is {got:#x}, not {expected:#x}"
                    )
            await RisingEdge(dut.clk)
