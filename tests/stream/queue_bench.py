"""Runs inside the simulator; started by test_queue.py, test_skid.py and test_ready_register.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer, with_timeout
from pauses import SOLID, SOLID_TOO
from streams import get_all, put_all, reset, transfers

CASE = json.loads(os.environ["CASE"])
DEPTH, WIDTH = CASE["depth"], CASE["width"]
LATENCY, INTERVAL = CASE["latency"], CASE["interval"]
HAS_LEVEL = CASE["unit"] == "queue"


async def start(dut):
    dut.i__valid.value = dut.o__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


async def check_level(dut):
    """``level`` is exactly what went in less what went out."""
    held = 0
    while True:
        await ReadOnly()
        assert int(dut.level.value) == held, f"level {int(dut.level.value)}, {held} words held"
        assert held or not int(dut.o__valid.value), "a word from nowhere"
        assert held < DEPTH or not int(dut.i__ready.value), "ready when full"
        put, got = (
            int(getattr(dut, f"{p}__valid").value) & int(getattr(dut, f"{p}__ready").value)
            for p in "io"
        )
        held += put - got
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def order_is_kept(dut):
    """Phases that fill, drain and balance, so that it is full and empty often."""
    rng = random.Random(CASE["seed"])
    await start(dut)
    if HAS_LEVEL:
        cocotb.start_soon(check_level(dut))
    gaps = [(0, 0), (0, 0.8), (0.8, 0), (0.5, 0.5), (0, 0.1), (0.1, 0), (SOLID_TOO, SOLID)]
    for source_gap, sink_gap in gaps:
        words = [rng.getrandbits(WIDTH) for _ in range(3 * DEPTH + 50)]
        source = cocotb.start_soon(put_all(dut, "i", words, rng, source_gap))
        got = await with_timeout(
            get_all(dut, "o", len(words), rng, sink_gap), 200 * len(words) + 1000, "ns"
        )
        await source
        dut.o__ready.value = 0
        assert [word for (word,) in got] == words


async def send(dut, count):
    words = [word % (1 << WIDTH) for word in range(count)]
    cocotb.start_soon(put_all(dut, "i", words, random.Random(0)))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def pace_and_latency(dut):
    """INTERVAL clocks a word, the first after LATENCY."""
    await start(dut)
    await send(dut, 4 * DEPTH + 40)
    dut.o__ready.value = 1
    moved = [await transfers(dut, "i", "o") for _ in range(LATENCY + 3 * DEPTH + 30)]
    left = [clock for clock, (_, out) in enumerate(moved) if out]
    assert left == list(range(LATENCY, len(moved), INTERVAL))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def fills_and_keeps_pace(dut):
    """A stalled sink lets in exactly DEPTH words; from there on it moves INTERVAL clocks a word."""
    await start(dut)
    await send(dut, 4 * DEPTH + 40)
    entered = sum([(await transfers(dut, "i"))[0] for _ in range(2 * DEPTH + 10)])
    assert entered == DEPTH
    dut.o__ready.value = 1
    moved = [await transfers(dut, "i", "o") for _ in range(DEPTH + 20)]
    assert [clock for clock, (_, out) in enumerate(moved) if out] == list(
        range(0, len(moved), INTERVAL)
    )


@cocotb.test(skip=CASE["unit"].endswith("queue"), timeout_time=1, timeout_unit="ms")
async def paths_are_cut(dut):
    """Inside a clock, i.ready ignores all, o ignores o.ready, and i where the unit has a latency;
    empty, half full and full."""
    rng = random.Random(1)
    await start(dut)
    seen = set()
    for _ in range(100):
        outputs = set()
        given = rng.getrandbits(1), rng.getrandbits(WIDTH)
        for _ in range(6):
            if LATENCY:
                given = rng.getrandbits(1), rng.getrandbits(WIDTH)
            dut.i__valid.value, dut.i__payload.value = given
            dut.o__ready.value = rng.getrandbits(1)
            await Timer(1, "ns")
            valid = int(dut.o__valid.value)
            word = int(dut.o__payload.value) if valid else None
            outputs.add((int(dut.i__ready.value), valid, word))
        assert len(outputs) == 1, f"outputs follow inputs inside a clock: {outputs}"
        seen |= {(ready, valid) for ready, valid, _ in outputs}
        await RisingEdge(dut.clk)
    assert seen == {(1, 0), (1, 1), (0, 1)}
