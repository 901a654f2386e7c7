"""Runs inside the simulator: any unit with streams, phase by phase; see ``stream_phases.py``."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, SimTimeoutError, with_timeout
from cocotb.utils import get_sim_time
from streams import get_all, put_all, reset

CASE = json.loads(os.environ["CASE"])
PHASES = json.loads(Path(CASE["phases"]).read_text())
PERIOD_NS = 10


async def start(dut):
    for name in CASE["idle"]:
        getattr(dut, name).value = 0
    for name in CASE["inputs"]:
        getattr(dut, f"{name}__valid").value = 0
    for name in CASE["outputs"]:
        getattr(dut, f"{name}__ready").value = 0
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, "ns").start())
    await reset(dut)


async def quiet(dut, clocks):
    """Nothing comes in these clocks."""
    for _ in range(clocks):
        await ReadOnly()
        for name in CASE["outputs"]:
            assert not int(getattr(dut, f"{name}__valid").value), f"{name} has an item too many"
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(gaps=CASE["gaps"])
async def items_match(dut, gaps):
    await start(dut)
    source, sink = gaps
    for number, phase in enumerate(PHASES):
        rng = random.Random(number)
        for name, level in phase["levels"].items():
            getattr(dut, name).value = level
        puts = [cocotb.start_soon(put_all(dut, name, words, rng, source))
                for name, words in phase["inputs"].items()]  # fmt: skip
        gets = {name: cocotb.start_soon(get_all(dut, name, len(words), rng, sink))
                for name, words in phase["outputs"].items()}  # fmt: skip
        if phase["cut"]:
            for _ in range(phase["cut"]):
                await RisingEdge(dut.clk)
            for task in (*puts, *gets.values()):
                task.cancel()
            await reset(dut)
            continue
        words = sum(map(len, (*phase["inputs"].values(), *phase["outputs"].values())))
        limit = PERIOD_NS * (100 * words + 2000)
        try:
            for task in (*puts, *gets.values()):
                await with_timeout(task, limit, "ns")
        except SimTimeoutError:
            left = [name for name, task in gets.items() if not task.done()]
            raise AssertionError(f"phase {number}: {left} lack items or inputs") from None
        for name, expected in phase["outputs"].items():
            for place, (word, wanted) in enumerate(zip(gets[name].result(), expected, strict=True)):
                assert word == (wanted,), (
                    f"phase {number}: item {place} of {name} is {word[0]:#x}, not {wanted:#x}"
                )
        for name in CASE["outputs"]:
            getattr(dut, f"{name}__ready").value = 0
        await quiet(dut, 10)
        for name, level in phase["final"].items():
            got = int(getattr(dut, name).value)
            assert got == level, f"phase {number}: {name} is {got}, not {level}"
    await quiet(dut, 100)


@cocotb.test(skip="paces" not in CASE, timeout_time=10, timeout_unit="ms")
async def clocks_as_declared(dut):
    """Without gaps: clocks between words of inputs, [input, word, clocks after the one before]."""
    await start(dut)
    phase, taken = PHASES[0], {name: [] for name in CASE["inputs"]}
    for name, level in phase["levels"].items():
        getattr(dut, name).value = level
    for name, words in phase["inputs"].items():
        cocotb.start_soon(put_all(dut, name, words, random.Random(0)))
    for name in CASE["outputs"]:
        getattr(dut, f"{name}__ready").value = 1
    for _ in range(sum(clocks for *_, clocks in CASE["paces"]) + 20):
        await ReadOnly()
        for name, clocks in taken.items():
            if int(getattr(dut, f"{name}__valid").value and getattr(dut, f"{name}__ready").value):
                clocks.append(round(get_sim_time("ns") / PERIOD_NS))
        await RisingEdge(dut.clk)
    clock = taken[CASE["first"]][0]
    for name, word, clocks in CASE["paces"]:
        assert len(taken[name]) > word, f"{name}: word {word} was not taken"
        passed, clock = taken[name][word] - clock, taken[name][word]
        assert passed == clocks, f"{name}, word {word}: {passed} clocks, not {clocks}"
