"""Runs inside the simulator: groups through ``Drain``; see test_drain.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, clocks, within
from streams import flagged, get_all, ports, put_all, reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
GROUPS = VECTORS["groups"]


async def begin(dut):
    for name in ("sums", "place", "done"):
        getattr(dut, name).value = 0
    for name in ("group", "biases", "masks"):
        payload, valid, _ = ports(dut, name)
        payload.value = valid.value = 0
    dut.o__ready.value = dut.gradients__ready.value = 1
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


class Monitor:
    """Counts groups and rows, and checks ``busy`` and ``free`` against these counts."""

    def __init__(self, dut):
        self.dut, self.taken, self.freed, self.rows = dut, 0, 0, 0
        cocotb.start_soon(self._run())

    async def _run(self):
        dut = self.dut
        while True:
            await ReadOnly()
            due = sum(group["rows"] for group in GROUPS[: self.taken])
            assert int(dut.busy.value) == (due > self.rows), f"{due} rows due, {self.rows} gone"
            self.freed += int(dut.free.value)
            assert self.freed <= self.taken
            for name in ("o", "gradients"):
                _, valid, ready = ports(dut, name)
                self.rows += int(valid.value) and int(ready.value)
            _, valid, ready = ports(dut, "group")
            self.taken += int(valid.value) and int(ready.value)
            await RisingEdge(dut.clk)


async def write_sums(dut, group, rng, gap):
    """All sums of a group; the last is still there when this returns, before its clock's end."""
    writes = list(group["writes"])
    for place, sums in writes:
        while rng.random() < gap:
            dut.done.value, dut.place.value = 0, rng.randrange(64)
            dut.sums.value = rng.getrandbits(64)
            await RisingEdge(dut.clk)
        dut.done.value, dut.place.value, dut.sums.value = 1, place, int(sums, 16)
        if (place, sums) != tuple(writes[-1]):
            await RisingEdge(dut.clk)


async def send_group(dut, group):
    """There is room at once, whenever a half is free."""
    payload, valid, ready = ports(dut, "group")
    payload.value, valid.value = group["payload"], 1
    await ReadOnly()
    assert flagged(ready), "no room for a group"
    await RisingEdge(dut.clk)
    valid.value, dut.done.value = 0, 0


async def feed(dut, monitor, rng, gap):
    for number, group in enumerate(GROUPS):
        for _ in range(5000):
            if number - monitor.freed < 2:
                break
            await RisingEdge(dut.clk)
        assert number - monitor.freed < 2, f"half of group {number} is never free"
        await write_sums(dut, group, rng, gap)
        if rng.random() < 0.5:  # else in the clock of the last sum
            await RisingEdge(dut.clk)
            dut.done.value = 0
            await clocks(dut, rng.randrange(3))
        await send_group(dut, group)


@cocotb.test(timeout_time=1, timeout_unit="ms", skip="clocks" in VECTORS)
async def every_row(dut):
    rng, source, sink = random.Random(CASE["seed"]), CASE["source_gap"], CASE["sink_gap"]
    await begin(dut)
    monitor = Monitor(dut)
    cocotb.start_soon(feed(dut, monitor, rng, source))
    for name in ("biases", "masks"):
        words = [int(row, 16) for row in VECTORS[name]]
        cocotb.start_soon(put_all(dut, name, words, rng, source))
    works = [
        cocotb.start_soon(get_all(dut, name, len(VECTORS[name]), rng, sink))
        for name in ("o", "gradients")
    ]
    for work, name in zip(works, ("o", "gradients"), strict=True):
        rows = await within(work, 20_000, f"last row of {name}")
        for number, ((row,), expected) in enumerate(zip(rows, VECTORS[name], strict=True)):
            assert row == int(expected, 16), f"row {number} of {name}: {row:x}, not {expected}"
    await clocks(dut, 100)
    assert monitor.rows == sum(group["rows"] for group in GROUPS), "rows that nobody sent"
    assert monitor.freed == monitor.taken == len(GROUPS)


@cocotb.test(timeout_time=1, timeout_unit="ms", skip="clocks" not in VECTORS)
async def every_clock(dut):
    """Two groups, one after the other, whose rows are taken at once: when each leaves."""
    rng = random.Random(1)
    await begin(dut)
    for name in ("biases", "masks"):
        words = [int(row, 16) for row in VECTORS[name]]
        cocotb.start_soon(put_all(dut, name, words, rng))
    for group in GROUPS:
        await write_sums(dut, group, rng, 0)
        await RisingEdge(dut.clk)
    watch = Watch(dut, streams=("group", "o", "gradients"))
    for group in GROUPS:
        await send_group(dut, group)
    await clocks(dut, VECTORS["clocks"][-1] + 50)
    assert watch.high["group"] == [0, 1]
    assert watch.high["o"] + watch.high["gradients"] == VECTORS["clocks"]
