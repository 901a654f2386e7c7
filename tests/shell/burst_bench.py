"""Runs inside the simulator; started by test_burst.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from shell.axi_rules import cut
from shell.request_cases import corners, pack
from streams import get_all, put_all, reset, transfers

from hw.shell.axi import EngineConfig
from hw.shell.burst import BurstSplitter

CASE = json.loads(os.environ["CASE"])
CONFIG = EngineConfig(**CASE["config"])
BYTES, BURST = CONFIG.beat_bytes, CONFIG.burst_beats
LAYOUT = BurstSplitter(CONFIG).burst


def bursts_of(requests):
    """The words of ``o``."""
    words = []
    for address, beats in requests:
        bursts = cut(address, beats, BYTES, BURST)
        for k, (here, more) in enumerate(bursts):
            values = {"address": here, "beats": more + 1, "last": k == len(bursts) - 1}
            words.append(LAYOUT.const(values).as_value().value)
    return words


async def start(dut):
    dut.i__valid.value = dut.o__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


async def check_busy(dut, requests):
    """``busy`` from the clock after a request of one beat or more to its last burst."""
    inside, requests = [], iter(requests)
    while True:
        await ReadOnly()
        assert int(dut.busy.value) == bool(inside), f"{inside} bursts of requests are inside"
        if int(dut.o__valid.value) and int(dut.o__ready.value):
            inside[0] -= 1
            inside = inside if inside[0] else inside[1:]
        if int(dut.i__valid.value) and int(dut.i__ready.value):
            if bursts := cut(*next(requests), BYTES, BURST):
                inside.append(len(bursts))
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def cuts(dut):
    """Corners, requests without beats between them, then random ones; nothing comes after."""
    rng = random.Random(CASE["seed"])
    requests = [(0, 0), *corners(BYTES, BURST), (BYTES, 0), (0, 0)]
    for _ in range(100):
        beats = rng.choice([0, 1, 1, 2, BURST, rng.randint(1, 5 * BURST)])
        requests.append((rng.randrange(1 << 40) * BYTES, beats))
    await start(dut)
    cocotb.start_soon(check_busy(dut, requests))
    cocotb.start_soon(put_all(dut, "i", pack(requests), rng, CASE["source_gap"]))
    expected = bursts_of(requests)
    got = await with_timeout(get_all(dut, "o", len(expected), rng, CASE["sink_gap"]), 50, "us")
    assert [word for (word,) in got] == expected
    dut.o__ready.value = 1
    for _ in range(10):
        assert not (await transfers(dut, "o"))[0], "a burst too many"


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def pace_and_latency(dut):
    """A burst a clock without a bubble between requests, the first after LATENCY."""
    requests = [(k * BYTES, beats) for k, beats in enumerate([1, 1, 1, 3 * BURST, 1, BURST, 2, 1])]
    await start(dut)
    cocotb.start_soon(put_all(dut, "i", pack(requests), random.Random(0)))
    dut.o__ready.value = 1
    count = len(bursts_of(requests))
    moved = [(await transfers(dut, "o"))[0] for _ in range(count + 10)]
    left = [clock for clock, move in enumerate(moved) if move]
    first = BurstSplitter.LATENCY
    assert left == list(range(first, first + count * BurstSplitter.INTERVAL))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_bit_of_beats(dut):
    """A request of 2^k + 1 beats: its first two bursts are whole and not the last."""
    await start(dut)
    for bit in range((2 * BURST).bit_length(), 24):
        await reset(dut)
        await put_all(dut, "i", pack([(0, (1 << bit) + 1)]), random.Random(0))
        got = await with_timeout(get_all(dut, "o", 2, random.Random(0)), 1, "us")
        assert [word for (word,) in got] == bursts_of([(0, 2 * BURST + 1)])[:2], f"bit {bit}"
