"""Runs inside the simulator; started by test_loss.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, SimTimeoutError, with_timeout
from streams import get_all, put_all, reset

CASE = json.loads(os.environ["CASE"])
BATCHES = json.loads(Path(CASE["vectors"]).read_text())
#: Of the ports' names, the network whose outputs come.
NETWORK = CASE["network"]
OUTPUTS, SCALARS, DELTA = (f"of_{NETWORK}__{port}" for port in ("i", "scalars", "delta"))
ON_THEIR_WAY = CASE["on_their_way"]


async def send_outputs(dut, samples, rng, gap, delay, seen):
    """Start a super-sample whenever there is room; its outputs arrive ``delay`` clocks later.

    Never more on their way than the unit leaves room for.
    """
    due, clock, left = [], 0, list(samples)
    while left or due:
        i = getattr(dut, OUTPUTS)
        i.value = 0
        if due and due[0][0] <= clock and rng.random() >= gap:
            words = due[0][1]
            i.value = words.pop(0)
            if not words:
                due.pop(0)
                seen["last output"].append(seen["clock"]())
        await ReadOnly()
        room = int(getattr(dut, f"of_{NETWORK}__room").value)
        if room and left and len(due) < ON_THEIR_WAY and rng.random() >= gap:
            due.append((clock + delay, list(left.pop(0))))
        seen["full"] |= not room
        await RisingEdge(dut.clk)
        clock += 1
    getattr(dut, OUTPUTS).value = 0


async def watch(dut, seen):
    """Clocks, clipped gradients, and when a stream first moved."""
    while True:
        await ReadOnly()
        seen["saturations"] += int(dut.saturations.value)
        for name, port in (("td", "td"), ("delta", DELTA)):
            if int(getattr(dut, f"{port}__valid").value):
                seen[name].append(seen["clock"]())
        await RisingEdge(dut.clk)
        seen["now"] += 1


async def run(dut, batch, seed, gaps, delay):
    rng = random.Random(seed)
    seen = {"now": 0, "saturations": 0, "td": [], "delta": [], "last output": [], "full": False}
    seen["clock"] = lambda: seen["now"]
    dut.start.value, dut.samples.value = 1, batch["samples"]
    await RisingEdge(dut.clk)
    dut.start.value = 0
    dut.inverse.value, dut.clip.value = batch["inverse"], batch["clip"]
    watcher = cocotb.start_soon(watch(dut, seen))
    cocotb.start_soon(put_all(dut, SCALARS, batch["scalars"], rng))
    cocotb.start_soon(send_outputs(dut, batch["outputs"], rng, gaps[0], delay, seen))
    delta = cocotb.start_soon(get_all(dut, DELTA, len(batch["delta"]), rng, gaps[1]))
    td = cocotb.start_soon(get_all(dut, "td", len(batch["td"]), rng, gaps[2]))
    each = max(60, CASE["interval"])
    limit = 10 * (500 + each * (len(batch["td"]) + len(batch["delta"])))
    for name, task in (("delta", delta), ("td", td)):
        try:
            got = await with_timeout(task, limit, "ns")
        except SimTimeoutError:
            raise AssertionError(f"{name}: fewer than {len(batch[name])} in {limit} ns") from None
        for k, ((word,), expected) in enumerate(zip(got, batch[name], strict=True)):
            assert word == expected, f"{name} {k}: {word:#x}, not {expected:#x}; {gaps}"
    for _ in range(CASE["sums"]):
        await ReadOnly()
        if int(dut.done.value):
            break
        await RisingEdge(dut.clk)
    else:
        raise AssertionError(f"the sums are not done after {CASE['sums']} clocks")
    for name, expected in batch["final"].items():
        got = int(getattr(dut, name).value)
        assert got == expected, f"{name}: {got:#x}, not {expected:#x}; {gaps}"
    await RisingEdge(dut.clk)
    watcher.cancel()
    assert seen["saturations"] == batch["saturations"]
    return seen


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def batches_match(dut):
    for name in (
        OUTPUTS,
        "start",
        "samples",
        "inverse",
        "clip",
        f"{SCALARS}__payload",
        f"{SCALARS}__valid",
    ):
        getattr(dut, name).value = 0
    getattr(dut, f"{DELTA}__ready").value = dut.td__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    for seed, (batch, gaps, delay) in enumerate(
        zip(BATCHES, CASE["gaps"], CASE["delays"], strict=True)
    ):
        seen = await run(dut, batch, seed, gaps, delay)
        if not any(gaps):
            begin = seen["last output"][0]
            assert seen["td"][0] - begin == CASE["td_latency"]
            assert seen["delta"][0] - begin == CASE["latency"]
            assert seen["full"] == CASE["full"], "the room of a unit that is slower than its source"
            # Super-samples one after the other, once the pipeline is full.
            count, outputs = len(batch["outputs"]), len(batch["delta"]) // len(batch["outputs"])
            clocks = seen["delta"][-1] - seen["delta"][outputs - 1]
            assert clocks == (count - 1) * CASE["interval"], f"{clocks} clocks"
