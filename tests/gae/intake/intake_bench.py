"""Runs inside the simulator: commands one after another; see test_intake.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from pauses import SOLID
from streams import get_all, put_all, reset

CASE = json.loads(os.environ["CASE"])
#: Of each: opcode, count, command, open, beats; expected error, detail and, without an error,
#: slots or moments, open_next, clipped; after, clocks from the last beat to done.
COMMANDS = json.loads(Path(CASE["vectors"]).read_text())
PATIENCE = 2000


async def run(dut, command, gap, sink_gap, seed):
    """One command; returns the clocks of its beats, and from the last one to ``done``."""
    rng, beats = random.Random(seed), command["beats"]
    for name in ("opcode", "count", "command", "open"):
        getattr(dut, name).value = command[name]
    dut.start.value = 1
    await RisingEdge(dut.clk)
    dut.start.value = 0
    # A slot leaves, an error or not.
    slots = command["count"] if command["moments"] is None else 0
    put = cocotb.start_soon(put_all(dut, "i", beats, rng, gap))
    got = cocotb.start_soon(get_all(dut, "o", slots, random.Random(seed + 1), sink_gap))
    clock, taken = 0, []
    while True:
        await ReadOnly()
        if int(dut.i__valid.value) and int(dut.i__ready.value):
            taken.append(clock)
        if int(dut.done.value):
            break
        await RisingEdge(dut.clk)
        clock += 1
        limit = PATIENCE + 50 * len(beats)
        assert clock < limit, f"no done within {limit} clocks; {len(taken)} beats were taken"
    assert len(taken) == len(beats), "done before the last beat"
    assert not int(dut.i__ready.value), "a beat more would be taken"
    assert not int(dut.o__valid.value), "a slot after the last"
    after = clock - taken[-1]
    await RisingEdge(dut.clk)
    await ReadOnly()
    assert not int(dut.done.value), "done once"
    assert put.done() and got.done(), "done before the last slot"
    check(dut, command, [word for (word,) in got.result()])
    await RisingEdge(dut.clk)
    return taken[-1] - taken[0] + 1, after


def check(dut, command, slots):
    error = int(dut.error.value), int(dut.detail.value)
    assert error == (command["error"], command["detail"])
    if command["error"]:
        return
    if command["moments"] is not None:
        assert int(dut.moments.value) == command["moments"], hex(int(dut.moments.value))
        return
    for number, (word, expected) in enumerate(zip(slots, command["slots"], strict=True)):
        assert word == expected, f"slot {number}: {word:#x}, not {expected:#x}"
    assert int(dut.open_next.value) == command["open_next"]
    assert int(dut.clipped.value) == command["clipped"]


async def start(dut):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    for name in ("start", "opcode", "count", "command", "open", "i__valid", "o__ready"):
        getattr(dut, name).value = 0
    await reset(dut)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.6], sink_gap=[0, 0.7, SOLID])
async def commands(dut, gap, sink_gap):
    await start(dut)
    for number, command in enumerate(COMMANDS):
        busy, after = await with_timeout(run(dut, command, gap, sink_gap, number), 1, "ms")
        if not gap and not sink_gap:
            assert busy == len(command["beats"]), f"{busy} clocks for {len(command['beats'])} beats"
        if not sink_gap or command["moments"] is not None:
            assert after == command["after"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_waits_for_its_command(dut):
    """None is taken before ``start``; the next command's, shown at once, only after its own."""
    await start(dut)
    dut.i__valid.value = 1
    for _ in range(5):
        await ReadOnly()
        assert not int(dut.i__ready.value)
        await RisingEdge(dut.clk)
    dut.i__valid.value = 0
    await with_timeout(run(dut, COMMANDS[0], 0, 0, 1), 1, "ms")
