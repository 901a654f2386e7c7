"""Runs inside the simulator: any unit with a stream ``i`` and a stream ``o``; see vectors.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, SimTimeoutError, with_timeout
from streams import get_all, put_all, reset, transfers

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
OPERANDS = VECTORS["operands"]
RESULTS = [tuple(result) for result in VECTORS["results"]]


async def start(dut, ready):
    dut.i__valid.value = 0
    dut.i__payload.value = 0
    dut.o__ready.value = ready
    for name, value in VECTORS["inputs"].items():
        getattr(dut, name).value = value
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def results_match(dut):
    await start(dut, 0)
    also = [getattr(dut, name) for name in VECTORS["also"]]
    for seed, (source_gap, sink_gap) in enumerate(CASE["gaps"]):
        await reset(dut)
        rng = random.Random(seed)
        cocotb.start_soon(put_all(dut, "i", OPERANDS, rng, source_gap))
        limit = 10 * (10 * len(OPERANDS) + 100)
        try:
            got = await with_timeout(
                get_all(dut, "o", len(RESULTS), rng, sink_gap, also=also), limit, "ns"
            )
        except SimTimeoutError:
            raise AssertionError(f"no {len(RESULTS)} results at o within {limit} ns") from None
        for k, (word, expected) in enumerate(zip(got, RESULTS, strict=True)):
            assert word == expected, (
                f"gaps {source_gap}, {sink_gap}: operand {k} ({OPERANDS[k]:#x}) gave {word}, "
                f"not {expected}"
            )
        dut.o__ready.value = 0
        await RisingEdge(dut.clk)
        for name, value in VECTORS["final"].items():
            assert int(getattr(dut, name).value) == value, f"{name} is not {value} in the end"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def cycles_as_declared(dut):
    await start(dut, 1)
    count = min(len(OPERANDS), 40)
    cocotb.start_soon(put_all(dut, "i", OPERANDS[:count], random.Random(0)))
    seen = [
        await transfers(dut, "i", "o")
        for _ in range(CASE["interval"] * count + 2 * CASE["latency"] + 4)
    ]
    accepted, left = ([k for k, moved in enumerate(seen) if moved[port]] for port in (0, 1))
    assert len(accepted) == count
    assert {b - a for a, b in zip(accepted, accepted[1:], strict=False)} <= {CASE["interval"]}
    assert left == [k + CASE["latency"] for k in accepted]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_empties_the_pipeline(dut):
    await start(dut, 0)
    for operand in OPERANDS[: CASE["latency"] + 1]:
        dut.i__payload.value, dut.i__valid.value = operand, 1
        await RisingEdge(dut.clk)
    dut.i__valid.value = 0
    await reset(dut, cycles=1)
    dut.o__ready.value = 1
    for _ in range(2 * CASE["latency"]):
        assert (await transfers(dut, "o")) == [False], "a word survived the reset"
    for name in VECTORS["final"]:
        assert int(getattr(dut, name).value) == 0, f"{name} survived the reset"
