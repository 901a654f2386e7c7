"""Runs inside the simulator: given words in, given words out, at a given pace.

Started by the fixture ``run``: the tests hold the twins to plain Python, this the hardware to
the twins.
"""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from streams import get_all, put_all, reset, transfers

CASE = json.loads(os.environ["CASE"])
WORDS = json.loads(Path(CASE["words"]).read_text())
INPUTS = {name: [int(word, 16) for word in words] for name, words in WORDS["inputs"].items()}
EXPECTED = [int(word, 16) for word in WORDS["expected"]]


async def start(dut):
    for name in INPUTS:
        getattr(dut, f"{name}__valid").value = 0
    dut.o__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gaps=CASE["gaps"])
async def words_match(dut, gaps):
    """Gaps on both sides; nothing comes after the last word."""
    rng = random.Random(CASE["seed"])
    source_gap, sink_gap = gaps
    await start(dut)
    for name, words in INPUTS.items():
        cocotb.start_soon(put_all(dut, name, words, rng, source_gap))
    longest = max(len(EXPECTED), *map(len, INPUTS.values()))
    got = await with_timeout(
        get_all(dut, "o", len(EXPECTED), rng, sink_gap), 200 * longest + 1000, "ns"
    )
    assert [word for (word,) in got] == EXPECTED
    dut.o__ready.value = 1
    for _ in range(10):
        await ReadOnly()
        assert not int(dut.o__valid.value), "a word too many"
        await RisingEdge(dut.clk)


@cocotb.test(skip=CASE["clocks"] is None, timeout_time=1, timeout_unit="ms")
async def pace_and_latency(dut):
    """Without gaps every word leaves in the clock that the contract names."""
    await start(dut)
    for name, words in INPUTS.items():
        cocotb.start_soon(put_all(dut, name, words, random.Random(0)))
    dut.o__ready.value = 1
    left = []
    for clock in range(CASE["clocks"][-1] + 1):
        if (await transfers(dut, "o"))[0]:
            left.append(clock)
    assert left == CASE["clocks"]
