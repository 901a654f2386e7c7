"""Runs inside the simulator; started by test_write_engine.py."""

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
from shell.request_cases import corners, pack
from streams import get_all, put_all, reset

from hw.shell.axi import EngineConfig
from hw.shell.write_engine import WriteEngine

CASE = json.loads(os.environ["CASE"])
CONFIG = EngineConfig(**CASE["config"])
BYTES, BURST = CONFIG.beat_bytes, CONFIG.burst_beats
SIZE = 1 << 16


async def start(dut):
    dut.write_request__valid.value = dut.write_data__valid.value = 0
    dut.write_done__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    cocotb.start_soon(busy_is_exact(dut, "write", "write_done"))
    return Rules(dut, ("write_request", "write_done"))


@cocotb.test(skip=CASE["kind"] != "random", timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gaps=CASE.get("gaps", [None]))
async def matches_memory(dut, gaps):
    """Memory holds exactly what was written when the last token comes, under random pauses."""
    source_gaps, memory_gap, sink_gap = gaps
    rng = random.Random(CASE["seed"])
    requests = corners(BYTES, BURST) + [
        (rng.randrange(SIZE // BYTES) * BYTES, rng.choice([1, 1, 2, rng.randint(1, 3 * BURST)]))
        for _ in range(24)
    ]
    rules = await start(dut)
    memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=SIZE)
    image = bytearray(rng.randbytes(SIZE))
    memory.write(0, bytes(image))
    writes = memory.write_if
    for channel in (writes.aw_channel, writes.w_channel, writes.b_channel):
        channel.set_pause_generator(pauses(memory_gap, rng))
    words = []
    for address, beats in requests:
        for beat in range(beats):
            words.append(rng.getrandbits(8 * BYTES))
            here = (address + beat * BYTES) % SIZE
            image[here : here + BYTES] = words[-1].to_bytes(BYTES, "little")
    await reset(dut, 4)
    request_gap, data_gap = source_gaps
    cocotb.start_soon(put_all(dut, "write_request", pack(requests), rng, request_gap))
    cocotb.start_soon(put_all(dut, "write_data", words, rng, data_gap))
    done = await with_timeout(get_all(dut, "write_done", len(requests), rng, sink_gap), 400, "us")
    assert memory.read(0, SIZE) == bytes(image)
    assert done == [(0,)] * len(requests)
    assert rules.bursts["aw"] == [b for a, n in requests for b in cut(a, n, BYTES, BURST)]
    await ReadOnly()
    assert not int(dut.write_done__valid.value)


async def write_all(dut, requests, latency, bad=(), data_gap=0):
    """Tokens, the rules' record and the memory; the memory and the sink never pause."""
    rules = await start(dut)
    memory = LatencyMemory(dut, "write", latency=latency, bad=bad)
    await reset(dut, 4)
    beats = [a + i * BYTES for a, n in requests for i in range(n)]
    words = [here % (1 << CONFIG.data_width) for here in beats]
    cocotb.start_soon(put_all(dut, "write_request", pack(requests), random.Random(0)))
    cocotb.start_soon(put_all(dut, "write_data", words, random.Random(0), data_gap))
    done = await with_timeout(
        get_all(dut, "write_done", len(requests), random.Random(0)), 200, "us"
    )
    assert memory.written == dict(zip(beats, words, strict=True))
    return [token for (token,) in done], rules


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def single_beats_keep_pace(dut):
    """One request of one beat a clock, as long as ``bursts`` covers the memory's latency."""
    requests = [(i * 4096, 1) for i in range(CASE["single"])]
    done, rules = await write_all(dut, requests, CASE["latency"])
    assert done == [0] * len(requests)
    for channel in ("aw", "w", "b"):
        clocks = rules.clocks[channel]
        assert clocks == list(range(clocks[0], clocks[0] + len(requests))), channel


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def long_request_keeps_pace(dut):
    """W moves every clock once the first burst stands ready."""
    beats = CASE["long"]
    _, rules = await write_all(dut, [(0, beats)], CASE["latency"])
    clocks = rules.clocks["w"]
    assert clocks == list(range(clocks[0], clocks[0] + beats))
    check_estimate(rules, beats)


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(beats=[1, 2, 3, BURST - 1, BURST, BURST + 1, 2 * BURST])
async def latency_as_estimated(dut, beats):
    _, rules = await write_all(dut, [(0, beats)], CASE["latency"])
    check_estimate(rules, beats)


def check_estimate(rules, beats):
    (begin,), (end,) = rules.clocks["write_request"], rules.clocks["write_done"]
    assert end - begin == WriteEngine.latency_of(CONFIG, beats, CASE["latency"])


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def slow_data_never_pauses_a_burst(dut):
    """Rules fails on a pause of wvalid inside a burst."""
    await write_all(dut, [(3 * BYTES, 4 * BURST), (0, 2)], 5, data_gap=0.7)


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def errors_name_their_request(dut):
    """A token is 1 if any burst of its request failed, first, middle or last; not the next."""
    requests = [(i * 64 * 4096, 3 * BURST) for i in range(5)]
    block = BURST * BYTES
    bad = [requests[i][0] + k * block for i, k in ((0, 0), (2, 1), (3, 2))]
    done, _ = await write_all(dut, requests, 5, bad)
    assert done == [1, 0, 1, 1, 0]


@cocotb.test(skip=CASE["kind"] != "pace", timeout_time=1, timeout_unit="ms")
async def tokens_wait(dut):
    """Tokens that nobody takes hold up answers and lose nothing."""
    requests = [(i * 4096, 1) for i in range(2 * CONFIG.bursts + 3)]
    await start(dut)
    LatencyMemory(dut, "write", latency=2)
    await reset(dut, 4)
    cocotb.start_soon(put_all(dut, "write_request", pack(requests), random.Random(0)))
    cocotb.start_soon(put_all(dut, "write_data", [0] * len(requests), random.Random(0)))
    for _ in range(3 * CONFIG.bursts + 30):
        await RisingEdge(dut.clk)
    done = await with_timeout(get_all(dut, "write_done", len(requests), random.Random(0)), 20, "us")
    assert done == [(0,)] * len(requests)


@cocotb.test(skip=CASE["kind"] != "longest", timeout_time=1, timeout_unit="ms")
async def longest_bursts(dut):
    """Two whole ones, one of two beats, and one a beat shorter; Rules counts beats up to WLAST."""
    requests = [(0, 2 * BURST + 2), (4 * BURST * BYTES, BURST - 1)]
    done, rules = await write_all(dut, requests, 5)
    assert done == [0, 0]
    assert rules.bursts["aw"] == [b for a, n in requests for b in cut(a, n, BYTES, BURST)]
