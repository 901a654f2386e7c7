"""Runs inside the simulator: inputs of a layer, and both who read them; see
test_activation_buffer.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, with_timeout
from learner.random_samples import Begins
from pauses import SOLID
from streams import get_all, put_all, reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
SLOTS, WORDS, INTERLEAVE = (CASE[name] for name in ("slots", "words", "interleave"))
#: Source -> samples -> what comes in a clock; of a chain without its lowest bit, valid.
SOURCES = VECTORS["sources"]
FORWARD, BACKWARD = VECTORS["forward"], VECTORS["backward"]
SAMPLES = len(FORWARD) // WORDS
#: So long that all that can move has moved.
LONG = 4 * SLOTS * max(WORDS, *(len(samples[0]) for samples in SOURCES.values())) + 20


async def send(dut, name, sample, rng, gap):
    """What comes of a sample that has begun."""
    if name == "feed":
        await put_all(dut, name, sample, rng, gap)
        return
    for word in sample:
        while rng.random() < gap:
            dut.chain.value = rng.getrandbits(8) << 1
            await RisingEdge(dut.clk)
        dut.chain.value = word << 1 | 1
        await RisingEdge(dut.clk)
        dut.chain.value = 0


async def send_all(dut, name, begins, gap):
    rng = random.Random(name)
    for number, sample in enumerate(SOURCES[name]):
        await begins.has(number)
        await send(dut, name, sample, rng, gap)


async def groups_are_whole(dut):
    """After the first word of a group there is the next one, whenever it is asked for."""
    position = 0
    while True:
        await ReadOnly()
        valid, ready = int(dut.forward__valid.value), int(dut.forward__ready.value)
        assert valid or position == 0, f"no word {position} of a group of {INTERLEAVE}"
        position = (position + (valid and ready)) % INTERLEAVE
        await RisingEdge(dut.clk)


async def start(dut):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.feed_begun.value = dut.chain_begun.value = dut.feed__valid.value = dut.chain.value = 0
    dut.feed__payload.value = dut.acting.value = 0
    dut.chain_mask.value = (1 << len(dut.chain_mask)) - 1
    dut.forward__ready.value = dut.backward__ready.value = 0
    await reset(dut)
    cocotb.start_soon(groups_are_whole(dut))


def begin(dut, gap=0.0):
    """Source -> its samples, that begin as soon as they may."""
    return {
        name: Begins(dut, SAMPLES, gap=gap, begun=f"{name}_begun", room=f"{name}_room", seed=name)
        for name in SOURCES
    }


def send_each(dut, gap=0.0):
    """All samples of all sources, from now on; returns ``begin``'s dict."""
    begins = begin(dut, gap)
    for name, source in begins.items():
        cocotb.start_soon(send_all(dut, name, source, gap))
    return begins


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize((("gap", "forward_gap", "backward_gap"), CASE["gaps"]))
async def words_in_order(dut, gap, forward_gap, backward_gap):
    await start(dut)
    send_each(dut, gap)
    forward = get_all(dut, "forward", len(FORWARD), random.Random(1), forward_gap)
    forward = cocotb.start_soon(forward)
    backward = get_all(dut, "backward", len(BACKWARD), random.Random(2), backward_gap or SOLID)
    assert [word for (word,) in await with_timeout(backward, 400, "us")] == BACKWARD
    assert [word for (word,) in await forward] == FORWARD
    await ClockCycles(dut.clk, 20)
    assert not int(dut.forward__valid.value) and not int(dut.backward__valid.value)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def samples_stay_until_backward_has_read_them(dut):
    """A slot is free again as its last word is fetched for backward, not before."""
    await start(dut)
    begins = send_each(dut)
    # Nobody reads: forward fetches a word, and backward what forward has.
    await ClockCycles(dut.clk, LONG)
    ahead = SLOTS + (WORDS == 1)
    assert all(source.begun == ahead for source in begins.values())
    forward = cocotb.start_soon(get_all(dut, "forward", len(FORWARD), random.Random(1)))
    await ClockCycles(dut.clk, LONG)
    assert all(source.begun == ahead for source in begins.values())
    got = await with_timeout(get_all(dut, "backward", len(BACKWARD), random.Random(1)), 200, "us")
    assert [word for (word,) in got] == BACKWARD
    assert [word for (word,) in await forward] == FORWARD
    assert int(dut.feed_room.value) and int(dut.chain_room.value)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def acting_is_forward_alone(dut):
    """More samples than slots go through, backward sees none of them, and then all of a batch."""
    await start(dut)
    for acting in (1, 0):
        dut.acting.value = acting
        send_each(dut, 0.3)
        get = get_all(dut, "forward", len(FORWARD), random.Random(1), SOLID)
        forward = cocotb.start_soon(get)
        if acting:
            dut.backward__ready.value = 1
            for _ in range(100 * len(FORWARD) + 1000):
                await ReadOnly()
                assert not int(dut.backward__valid.value), "backward reads while acting"
                await RisingEdge(dut.clk)
                if forward.done():
                    break
        else:
            get = get_all(dut, "backward", len(BACKWARD), random.Random(2))
            assert [word for (word,) in await with_timeout(get, 400, "us")] == BACKWARD
        assert [word for (word,) in await with_timeout(forward, 10, "us")] == FORWARD
        await ClockCycles(dut.clk, 20)
        assert all(int(getattr(dut, f"{name}_room").value) for name in SOURCES)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def forward_begins_when_it_may(dut):
    """A chain by itself: with the first whole group of words. Else when all is there."""
    await start(dut)
    begins = begin(dut)
    if list(SOURCES) == ["chain"]:
        sample = SOURCES["chain"][0]
        enough = min(INTERLEAVE, len(sample))
        parts = [("chain", sample[: enough - 1]), ("chain", sample[enough - 1 : enough])]
    else:
        last = "chain" if CASE["chain_last"] else "feed"
        parts = [(name, SOURCES[name][0]) for name in SOURCES if name != last]
        parts += [(last, SOURCES[last][0][:-1]), (last, SOURCES[last][0][-1:])]
    for source in begins.values():
        await source.has(0)
    for name, sample in parts[:-1]:
        await with_timeout(send(dut, name, sample, random.Random(1), 0), 10, "us")
    for _ in range(20):
        await RisingEdge(dut.clk)
        assert not int(dut.forward__valid.value)
    name, sample = parts[-1]
    await send(dut, name, sample, random.Random(1), 0)
    for clock in range(1, CASE["latency"] + 1):
        await ReadOnly()
        assert int(dut.forward__valid.value) == (clock == CASE["latency"]), clock
        await RisingEdge(dut.clk)
    assert int(dut.forward__payload.value) == FORWARD[0]
