"""Runs inside the simulator: the barrel machine, by the courses of ``machine_courses``."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, SimTimeoutError, with_timeout
from cocotb.utils import get_sim_time
from streams import ports, reset

CASE = json.loads(os.environ["CASE"])
COURSES = json.loads(Path(CASE["courses"]).read_text())
PERIOD_NS = 10
#: Clocks that a course may take for each of its words, and for itself.
LIMIT = 40


async def put(dut, name, words, rng, gap, taken):
    """Sends words; sleeps while the machine is not ready. ``taken`` gets the clock of each."""
    payload, valid, ready = ports(dut, name)
    for word in words:
        valid.value = 0
        while rng.random() < gap:
            await RisingEdge(dut.clk)
        payload.value, valid.value = word, 1
        await ReadOnly()
        while not int(ready.value):
            await RisingEdge(ready)
            await ReadOnly()
        await RisingEdge(dut.clk)
        taken.append(round(get_sim_time("ns") / PERIOD_NS))
    valid.value = 0


async def get(dut, rng, gap, items, expected):
    """Takes items; one that waits must not change."""
    payload, valid, ready = ports(dut, "o")
    while len(items) < len(expected):
        ready.value = int(rng.random() >= gap)
        await ReadOnly()
        if not int(valid.value):
            await RisingEdge(valid)
            continue
        word, goes = int(payload.value), int(ready.value)
        await RisingEdge(dut.clk)
        if goes:
            number = len(items)
            items.append(word)
            assert word == expected[number], f"item {number}: {word:#x}, not {expected[number]:#x}"
        else:
            await ReadOnly()
            assert int(valid.value) and int(payload.value) == word, "an item changed as it waited"
            await RisingEdge(dut.clk)
    ready.value = 1


async def start(dut):
    for name in ("command", "i", "random"):
        getattr(dut, f"{name}__valid").value = 0
    dut.o__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, "ns").start())
    await reset(dut)


@cocotb.test(timeout_time=2, timeout_unit="sec")
@cocotb.parametrize(gaps=CASE["gaps"])
async def items_match(dut, gaps):
    """Every course after a reset; one with ``cut`` ends by the next reset, wherever it is. A random
    word more than needed is offered, and nothing more comes in the end."""
    rng, (source, sink) = random.Random(1), gaps
    await start(dut)
    for number, course in enumerate(COURSES):
        taken, items, tasks = {}, [], []
        for name in ("command", "i", "random"):
            words = course[name] + [0] * (name == "random")
            taken[name] = []
            put_all = put(dut, name, words, rng, source, taken[name])
            tasks.append(cocotb.start_soon(put_all))
        sink_task = cocotb.start_soon(get(dut, rng, sink, items, course["items"]))
        if course["cut"]:
            for _ in range(course["cut"]):
                await RisingEdge(dut.clk)
        else:
            try:
                await with_timeout(sink_task, LIMIT * course["clocks"] * PERIOD_NS, "ns")
                await with_timeout(tasks[0], LIMIT * course["clocks"] * PERIOD_NS, "ns")
            except SimTimeoutError:
                counts = {name: len(each) for name, each in taken.items()}
                raise AssertionError(
                    f"course {number}: {len(items)} of {len(course['items'])} items; taken {counts}"
                ) from None
            dut.o__ready.value = 1
            for _ in range(course["rest"]):
                await ReadOnly()
                assert not int(dut.o__valid.value), "an item too many"
                await RisingEdge(dut.clk)
            for name, each in taken.items():
                assert len(each) == len(course[name]), f"{name}: {len(each)} words were taken"
        for task in (*tasks, sink_task):
            task.cancel()
        for name in ("command", "i", "random"):
            getattr(dut, f"{name}__valid").value = 0
        dut.o__ready.value = 0
        await reset(dut)


@cocotb.test(skip="paces" not in CASE, timeout_time=100, timeout_unit="ms")
async def clocks_as_declared(dut):
    """Without gaps: clocks between the commands of the first course, of which each waits."""
    await start(dut)
    (course, *_), taken, rng = COURSES, [], random.Random(1)
    for name in ("i", "random"):
        cocotb.start_soon(put(dut, name, course[name], rng, 0, []))
    cocotb.start_soon(get(dut, rng, 0, [], course["items"]))
    await put(dut, "command", course["command"], rng, 0, taken)
    assert [b - a for a, b in zip(taken, taken[1:], strict=False)] == CASE["paces"]
