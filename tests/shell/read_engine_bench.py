"""Runs inside the simulator; started by test_read_engine.py."""

import functools
import itertools
import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiRam
from pauses import pauses
from shell.axi_memory import LatencyMemory
from shell.axi_rules import Rules, busy_is_exact, cut
from shell.request_cases import addresses_of, corners, pack
from streams import get_all, put_all, reset

from hw.shell.axi import EngineConfig
from hw.shell.read_engine import ReadEngine

CASE = json.loads(os.environ["CASE"])
CONFIG = EngineConfig(**CASE["config"])
BYTES, BURST = CONFIG.beat_bytes, CONFIG.burst_beats
SIZE = 1 << 16
beats_of = functools.partial(addresses_of, beat_bytes=BYTES)


async def start(dut):
    dut.read_request__valid.value = dut.read_data__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    cocotb.start_soon(busy_is_exact(dut, "read", "read_data"))
    return Rules(dut)


@cocotb.test(skip=CASE["kind"] != "random", timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gaps=CASE.get("gaps", [None]))
async def matches_memory(dut, gaps):
    """Every beat in order, under random pauses on all sides."""
    source_gap, memory_gap, sink_gap = gaps
    rng = random.Random(CASE["seed"])
    requests = corners(BYTES, BURST) + [
        (rng.randrange(SIZE // BYTES) * BYTES, rng.choice([1, 1, 2, rng.randint(1, 3 * BURST)]))
        for _ in range(24)
    ]
    rules = await start(dut)
    memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=SIZE)
    image = rng.randbytes(SIZE)
    memory.write(0, image)
    for channel in (memory.read_if.ar_channel, memory.read_if.r_channel):
        channel.set_pause_generator(pauses(memory_gap, rng))
    await reset(dut, 4)
    cocotb.start_soon(put_all(dut, "read_request", pack(requests), rng, source_gap))
    expected = [
        int.from_bytes(image[a % SIZE : a % SIZE + BYTES], "little") for a in beats_of(requests)
    ]
    got = await with_timeout(get_all(dut, "read_data", len(expected), rng, sink_gap), 300, "us")
    assert [word for (word,) in got] == expected
    assert rules.bursts["ar"] == [b for a, n in requests for b in cut(a, n, BYTES, BURST)]


async def collect(dut, requests, latency, bad=()):
    """Beats and the clocks in which they left; requests and sink never pause."""
    rules = await start(dut)
    LatencyMemory(dut, "read", latency=latency, bad=bad)
    await reset(dut, 4)
    cocotb.start_soon(put_all(dut, "read_request", pack(requests), random.Random(0)))
    dut.read_data__ready.value = 1
    begin, got, clocks = None, [], []
    for clock in itertools.count():
        await ReadOnly()
        if begin is None and int(dut.read_request__valid.value):
            begin = clock
        if int(dut.read_data__valid.value):
            got.append(int(dut.read_data__payload.value))
            clocks.append(clock - begin)
        await RisingEdge(dut.clk)
        if len(got) == len(beats_of(requests)):
            break
        assert clock < 100 + latency + 2 * len(beats_of(requests)), "beats do not arrive"
    failed = 1 << CONFIG.data_width  # above the beat
    assert got == [a % failed + failed * (a in bad) for a in beats_of(requests)]
    return rules, clocks


def estimate(beats):
    return ReadEngine.latency_of(CONFIG, beats, 64)


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def single_beats_keep_pace(dut):
    """One request of one beat a clock at a memory latency of 64."""
    rng = random.Random(1)
    requests = [(rng.randrange(1 << 20) * BYTES, 1) for _ in range(CASE["single"])]
    _, clocks = await collect(dut, requests, 64)
    assert clocks == [estimate(1) + i for i in range(len(requests))]


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def long_request_keeps_pace(dut):
    """One beat a clock from the first on; the bound that kernels count on."""
    _, clocks = await collect(dut, [(5 * BYTES, CASE["long"])], 64)
    assert clocks == [estimate(i + 1) for i in range(CASE["long"])]
    assert estimate(CASE["long"]) <= CASE["long"] + 64 + 16


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def sink_stalled(dut):
    """No more beats are asked for than have room, and none is lost."""
    requests = [(0, CONFIG.depth - 1), (0, 1), (0, 1), (0, 3 * BURST)]
    rules = await start(dut)
    LatencyMemory(dut, "read", latency=3)
    await reset(dut, 4)
    cocotb.start_soon(put_all(dut, "read_request", pack(requests), random.Random(0)))
    for _ in range(2 * CONFIG.depth + 50):
        await RisingEdge(dut.clk)
    assert sum(length + 1 for _, length in rules.bursts["ar"]) == CONFIG.depth
    count = len(beats_of(requests))
    got = await with_timeout(get_all(dut, "read_data", count, random.Random(0)), 50, "us")
    assert [w for (w,) in got] == [a % (1 << CONFIG.data_width) for a in beats_of(requests)]


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def errors_stay_with_their_beats(dut):
    """The beats that failed say so, no other does, and every beat comes."""
    requests = [(0, 4), (1024, BURST), (4096, 1)]
    await collect(dut, requests, 5, bad=[0, 2 * BYTES, 1024 + (BURST - 1) * BYTES])


@cocotb.test(skip=CASE["kind"] != "longest", timeout_time=1, timeout_unit="ms")
async def longest_bursts(dut):
    """Two whole ones, one of two beats, and one a beat shorter."""
    requests = [(0, 2 * BURST + 2), (BURST * BYTES, BURST - 1)]
    rules, _ = await collect(dut, requests, 5)
    assert rules.bursts["ar"] == [b for a, n in requests for b in cut(a, n, BYTES, BURST)]
