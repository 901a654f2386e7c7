"""Runs inside the simulator; started by test_ranges.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from driving import clocks, pulse
from streams import put_all, reset

CASE = json.loads(os.environ["CASE"])
ROUNDS = json.loads(Path(CASE["rounds"]).read_text())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def slots_hold_ranges(dut):
    sources = CASE["sources"]
    dut.clear.value = 0
    for source in range(sources):
        getattr(dut, f"i__{source}__valid").value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    for k, case in enumerate(ROUNDS):
        if case["clear"]:
            await pulse(dut, "clear")
        await clocks(dut, case["wait"])
        puts = [
            cocotb.start_soon(put_all(dut, f"i__{source}", [word], random.Random(0)))
            for source, word in case["offers"].items()
        ]
        await clocks(dut, 3 * sources)
        await ReadOnly()
        assert all(put.done() for put in puts), f"round {k}: an offer was not taken"
        for slot, (low, high) in enumerate(case["state"]):
            for name, expected in (("low", low), ("high", high)):
                got = int(getattr(dut, f"{name}__{slot}").value)
                got -= got >> 31 << 32
                assert got == expected, f"round {k}, {name} of slot {slot}: {got}, not {expected}"
        await RisingEdge(dut.clk)
