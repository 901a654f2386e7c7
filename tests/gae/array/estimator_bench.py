"""Runs inside the simulator: a script of ``estimator_cases``, step by step."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from streams import get_all, put_all, reset

from hw.gae.array.pe import coefficient_ports
from hw.gae.config import GaeConfig

CASE = json.loads(os.environ["CASE"])
SCRIPT = json.loads(Path(CASE["script"]).read_text())
SETTINGS = coefficient_ports(GaeConfig())


async def pulse(dut, name, **values):
    for port, value in values.items():
        getattr(dut, port).value = value
    getattr(dut, name).value = 1
    await RisingEdge(dut.clk)
    getattr(dut, name).value = 0


async def estimate(dut, step):
    for name in SETTINGS:
        signal = getattr(dut, name)
        signal.value = step["settings"].get(name, 0) & (1 << len(signal)) - 1
    counts = step["counts"]
    await pulse(dut, "start")
    clocks = 1
    while True:
        await ReadOnly()
        if int(dut.done.value):
            break
        assert clocks < counts["cycles"], f"done is not high {clocks} clocks after start"
        await RisingEdge(dut.clk)
        clocks += 1
    assert clocks == counts["cycles"], f"{clocks} clocks, not {counts['cycles']}"
    for name, value in counts.items():
        got = int(getattr(dut, name).value)
        assert got == value, f"{name}: {got}, not {value}"
    await RisingEdge(dut.clk)


async def pull(dut, step, rng):
    await pulse(dut, "pull", pull_count=step["count"])
    words = await get_all(dut, "o", step["count"], rng, step["gap"])
    for slot, ((got,), want) in enumerate(zip(words, step["words"], strict=True)):
        assert got == want, f"slot {slot}: {got:#x}, not {want:#x}"
    dut.o__ready.value = 1
    for _ in range(3):
        await ReadOnly()
        assert not int(dut.o__valid.value), "more results than were pulled"
        await RisingEdge(dut.clk)
    dut.o__ready.value = 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def follows_the_script(dut):
    rng = random.Random(1)
    for name in ("clear", "rewind", "rewind_to", "start", "pull", "pull_count"):
        getattr(dut, name).value = 0
    dut.push__payload.value = dut.push__valid.value = dut.o__ready.value = 0
    for name in SETTINGS:
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    for step in SCRIPT:
        if step["step"] == "push":
            sent = put_all(dut, "push", step["words"], rng, rng.choice([0, 0.4]))
            await with_timeout(sent, 100 + 100 * len(step["words"]), "ns")
        elif step["step"] == "estimate":
            await estimate(dut, step)
        elif step["step"] == "pull":
            received = pull(dut, step, rng)
            await with_timeout(received, 1000 + 100 * step["count"], "ns")
        else:
            values = {"rewind_to": step["to"]} if step["step"] == "rewind" else {}
            await pulse(dut, step["step"], **values)
        await ReadOnly()
        got = int(dut.fill.value)
        assert got == step["fill"], f"fill after {step['step']}: {got}, not {step['fill']}"
        await RisingEdge(dut.clk)
