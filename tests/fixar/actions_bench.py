"""Runs inside the simulator: one ACT after the other; see test_actions.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from driving import pulse, within
from pauses import SOLID
from streams import get_all, reset

CASE = json.loads(os.environ["CASE"])


async def begin(dut):
    for name in ("start", "count", "half", "noise", "seed", "o__ready"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


async def memory(dut, cells):
    """The word of an address two clocks later; nothing where there is none."""
    address = 0
    while True:
        await ReadOnly()
        address, following = int(dut.read.value), address
        await RisingEdge(dut.clk)
        core, t, tile = (following >> at & (1 << width) - 1 for _, at, width in CASE["read"])
        dut.word.value = cells[core][t][tile] if t < len(cells[core]) else 0


async def act(dut, case):
    """Begun; the task that is its memory."""
    for name in ("count", "half", "noise", "seed"):
        getattr(dut, name).value = case[name]
    task = cocotb.start_soon(memory(dut, case["cells"]))
    await pulse(dut, "start")
    dut.seed.value = 0
    return task


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.7, SOLID])
async def observations_in_order(dut, gap):
    await begin(dut)
    for number, case in enumerate(CASE["acts"]):
        task = await act(dut, case)
        get = get_all(dut, "o", len(case["beats"]), random.Random(3), gap)
        got = [word for (word,) in await within(get, 3000, f"last beat of {number}")]
        assert got == case["beats"], f"act {number}"
        dut.o__ready.value = 1
        for _ in range(number):
            await ReadOnly()
            assert not int(dut.o__valid.value) and not int(dut.busy.value), f"act {number}"
            await RisingEdge(dut.clk)
        task.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def clocks(dut):
    await begin(dut)
    dut.o__ready.value = 1
    for number, case in enumerate(CASE["acts"]):
        task = await act(dut, case)
        last = CASE["interval"] * case["count"] + CASE["latency"]
        beats = 0
        for clock in range(1, last + 20):
            await ReadOnly()
            assert int(dut.busy.value) == (clock <= last), f"act {number}, clock {clock} of {last}"
            beats += int(dut.o__valid.value)
            assert (beats == len(case["beats"])) == (clock >= last), f"act {number}, {clock}"
            await RisingEdge(dut.clk)
        task.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_that_nobody_takes_stops_the_noise(dut):
    """However long it waits, the next number comes to the next action."""
    await begin(dut)
    case = max(CASE["acts"], key=lambda case: len(case["beats"]))
    await act(dut, case)
    for _ in range(CASE["interval"] * case["count"] + CASE["latency"] + 50):
        await RisingEdge(dut.clk)
    assert int(dut.busy.value)
    get = get_all(dut, "o", len(case["beats"]), random.Random(3))
    got = [word for (word,) in await within(get, 3000, "last beat")]
    assert got == case["beats"]
