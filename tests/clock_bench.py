"""Runs inside the simulator: any unit, clock by clock; see ``clocks.py``."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import reset

VECTORS = json.loads(Path(json.loads(os.environ["CASE"])["vectors"]).read_text())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_clock(dut):
    inputs, expected = VECTORS["inputs"], VECTORS["expected"]
    for name in inputs:
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    for clock in range(len(next(iter(inputs.values())))):
        for name, values in inputs.items():
            if not clock or values[clock] != values[clock - 1]:
                getattr(dut, name).value = values[clock]
        await ReadOnly()
        for name, values in expected.items():
            value, care = values[clock]
            if care:
                got = getattr(dut, name).value
                assert shown(got, care) == value, (
                    f"{name} in clock {clock}: {got}, not {value:#x} in the bits {care:#x}"
                )
        await RisingEdge(dut.clk)


def shown(got, care):
    """The bits of ``care``; None where one of them is undefined."""
    if got.is_resolvable:
        return int(got) & care
    bits = str(got)
    kept = "".join(
        bit if care >> place & 1 else "0"
        for place, bit in zip(reversed(range(len(bits))), bits, strict=True)
    )
    return int(kept, 2) if set(kept) <= {"0", "1"} else None
