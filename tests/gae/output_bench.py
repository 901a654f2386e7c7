"""Runs inside the simulator: runs of beats one after another; see test_output.py."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, SimTimeoutError, with_timeout
from paces import PACES, Gaps
from streams import get_all, put_all, reset, transfers

CASE = json.loads(os.environ["CASE"])
#: Of each: whether it pulls, the moments, the results that it takes, the beats that it gives.
RUNS = json.loads(Path(CASE["runs"]).read_text())
#: Results that come before they are due, and never are.
MORE = [word for run in RUNS for word in run["results"]][:1]
STREAMS = ("results", "beats", "o")


async def watch(dut, moves):
    """Appends to ``moves[name]`` the clocks in which a word moved."""
    clock = 0
    while True:
        for name, moved in zip(STREAMS, await transfers(dut, *STREAMS), strict=True):
            if moved:
                moves[name].append(clock)
        clock += 1


async def run_one(dut, run, gaps):
    """Its beats; they are as expected."""
    count = len(run["beats"])
    dut.pulling.value, dut.moments.value = run["pulling"], run["moments"]
    put = cocotb.start_soon(put_all(dut, "beats", [count], gaps["beats"], 0.5))
    limit = 10 * (100 * count + 200)
    try:
        got = await with_timeout(get_all(dut, "o", count, gaps["o"], 0.5), limit, "ns")
    except SimTimeoutError:
        raise AssertionError(f"no {count} beats at o within {limit} ns") from None
    for k, ((word,), expected) in enumerate(zip(got, run["beats"], strict=True)):
        assert word == expected, f"beat {k} of {count}: {word:#x}, not {expected:#x}"
    assert put.done(), "the count of beats stays after the last one"


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(source=PACES, sink=PACES)
async def runs(dut, source, sink):
    """Beats, and in which clock each moves; what no run asks for is not taken."""
    for name in ("results__valid", "results__payload", "beats__valid", "beats__payload"):
        getattr(dut, name).value = 0
    dut.o__ready.value = dut.pulling.value = dut.moments.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    gaps = {"results": Gaps(source, 1), "beats": Gaps(source, 2), "o": Gaps(sink, 3)}
    every = [word for run in RUNS for word in run["results"]] + MORE
    cocotb.start_soon(put_all(dut, "results", every, gaps["results"], 0.5))
    moves = {name: [] for name in STREAMS}
    cocotb.start_soon(watch(dut, moves))
    taken = left = 0
    for number, run in enumerate(RUNS):
        await run_one(dut, run, gaps)
        taken, left = taken + len(run["results"]), left + len(run["beats"])
        assert (len(moves["results"]), len(moves["o"])) == (taken, left), f"run {number}"
        last, count_taken = moves["o"][left - 1], moves["beats"][number]
        before = moves["o"][left - 2] if left > 1 else 0
        assert before <= count_taken < last, "a run is taken with its last beat"
        if source == sink == "steady":
            expect_clocks(run, moves, last)
    dut.o__ready.value = 1
    for _ in range(10):
        await ReadOnly()
        assert not int(dut.o__valid.value), "a beat too many"
        assert not int(dut.results__ready.value), "a slot too many"
        await RisingEdge(dut.clk)


def expect_clocks(run, moves, last):
    """A beat a clock; the first one clock after all is there, which is right after the last run."""
    count, slots = len(run["beats"]), len(run["results"])
    begin = moves["o"][-count - 1] + 1 if len(moves["o"]) > count else 0
    expected = [begin + CASE["latency"] + CASE["interval"] * k for k in range(count)]
    assert moves["o"][-count:] == expected
    assert moves["beats"][-1] == last - CASE["latency"]
    for k in range(slots):
        after = begin + (k + 1) * count // slots - 1
        assert moves["results"][len(moves["results"]) - slots + k] == after
