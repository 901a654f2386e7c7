"""Runs inside the simulator: runs of wide words on a narrow memory; see test_width.py."""

import json
import os
import random
from itertools import pairwise

import cocotb
from driving import start, within
from shell.port_memory import Phases, ReadMemory, WriteMemory, word_at
from streams import get_all, put_all

from hw.shell.width_conversion import Downsizer, NarrowRead, NarrowWrite, Upsizer

CASE = json.loads(os.environ["CASE"])
WIDE, NARROW = CASE["wide"], CASE["narrow"]
RATIO, STEP = WIDE // NARROW, NARROW // 8
READ, WRITE = CASE["way"] == "read", CASE["way"] == "write"
#: Number of the first wide word, and how many; the last request is as long as one can be asked.
RUNS = [(0, 1), (9, 3), (1 << 40, 1), (5, 20), (2, 1), (7, 2)]
MOST = max(words for _, words in RUNS)
BAD = 7 * WIDE // 8


def holds(address, width):
    """Random numbers; an error in one beat out of a few."""
    error = random.Random(-address).random() < 0.15
    return word_at(address, width - 1) | error << (width - 1)


def requests():
    return [(word * WIDE // 8) | beats << 64 for word, beats in RUNS]


def places():
    """Byte address of each wide word that is moved."""
    return [(first + k) * WIDE // 8 for first, count in RUNS for k in range(count)]


def check_requests(memory):
    assert memory.taken == [(first * WIDE // 8, count * RATIO) for first, count in RUNS]


async def read(dut, longest, gap):
    await start(dut, NarrowRead(WIDE, NARROW, MOST))
    memory = ReadMemory(dut, STEP, latency=5, holds=holds, pauses=Phases(1, longest), waits=gap > 0)
    rng = random.Random(1)
    cocotb.start_soon(put_all(dut, "port__request", requests(), rng, gap))
    expected = []
    for place in places():
        beats = [holds(place + k * STEP, NARROW + 1) for k in range(RATIO)]
        word = sum((beat & (1 << NARROW) - 1) << (k * NARROW) for k, beat in enumerate(beats))
        expected.append(word | any(beat >> NARROW for beat in beats) << WIDE)
    assert {word >> WIDE for word in expected} == {0, 1}
    work = get_all(dut, "port__data", len(expected), rng, gap)
    got = await within(work, 3000, f"{len(expected)} words")
    assert [word for (word,) in got] == expected
    check_requests(memory)
    return memory


@cocotb.test(skip=not READ, timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(longest=[0, 7], gap=[0.0, 0.5])
async def reads(dut, longest, gap):
    """Every word and its error, with pauses on both sides."""
    await read(dut, longest, gap)


@cocotb.test(skip=not READ, timeout_time=1, timeout_unit="ms")
async def reads_without_bubbles(dut):
    """The beats of all requests, one a clock; a word a clock after its last beat."""
    memory = await read(dut, 0, 0.0)
    clocks = memory.clocks["data"]
    assert all(after == before + 1 for before, after in pairwise(clocks))
    assert memory.clock == clocks[-1] + 1 + Upsizer.LATENCY


async def write(dut, longest, gap):
    await start(dut, NarrowWrite(WIDE, NARROW, MOST))
    memory = WriteMemory(
        dut, STEP, latency=4, bad={BAD}, lag=None, pauses=Phases(1, longest), waits=gap > 0
    )
    rng = random.Random(1)
    words = [random.Random(place).getrandbits(WIDE) for place in places()]
    cocotb.start_soon(put_all(dut, "port__request", requests(), rng, gap))
    cocotb.start_soon(put_all(dut, "port__data", words, rng, gap))
    work = get_all(dut, "port__done", len(RUNS), rng, gap)
    got = await within(work, 3000, f"{len(RUNS)} tokens")
    assert [token for (token,) in got] == [int(first * WIDE // 8 == BAD) for first, _ in RUNS]
    check_requests(memory)
    for place, word in zip(places(), words, strict=True):
        for k in range(RATIO):
            assert memory.written[place + k * STEP] == word >> (k * NARROW) & (1 << NARROW) - 1
    return memory


@cocotb.test(skip=not WRITE, timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(longest=[0, 7], gap=[0.0, 0.5])
async def writes(dut, longest, gap):
    """Every beat where it belongs, a token for each request, with pauses on both sides."""
    await write(dut, longest, gap)


@cocotb.test(skip=not WRITE, timeout_time=1, timeout_unit="ms")
async def writes_without_bubbles(dut):
    """The first beat a clock after its word, then one a clock."""
    clocks = (await write(dut, 0, 0.0)).clocks["data"]
    assert clocks == list(range(Downsizer.LATENCY, Downsizer.LATENCY + len(clocks)))
    assert len(clocks) == len(places()) * RATIO
