"""Runs inside the simulator: a ``ForwardTop``; see test_forward.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
WORDS = [int(word, 16) for word in VECTORS["words"]]
EXPECTED = [(index, int(value, 16)) for index, value in VECTORS["expected"]]
SAMPLE, GROUP, OUTPUTS = CASE["words"], CASE["interleave"], CASE["outputs"]
SAMPLES = len(WORDS) // SAMPLE


async def begin(dut):
    dut.i__valid.value = 0
    dut.i__payload.value = 0
    dut.room.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


async def play(dut, rng, source_gap=0.0, room_gap=0.0):
    """All samples in, all elements out, and a while longer.

    Returns the elements, the clocks in which samples began, those of elements, and saturations.
    """
    sent, held, starts, elements, clocks, saturations = 0, False, [], [], [], 0
    limit = round(3 * (SAMPLES + 1) * (CASE["interval"] + 20) / (1 - source_gap) / (1 - room_gap))
    limit += CASE["last_latency"]
    end = clock = 0
    while not end or clock < end:
        assert clock < limit, f"{len(elements)} of {len(EXPECTED)} elements in {limit} clocks"
        # A group of words comes without gaps once its first is there; valid then stays.
        if sent < len(WORDS) and not held:
            held = sent % GROUP != 0 or rng.random() >= source_gap
            dut.i__payload.value = WORDS[sent] if held else rng.getrandbits(8)
        dut.i__valid.value = int(held)
        # Inside a sample there need be no room.
        dut.room.value = int(sent % SAMPLE == 0 and rng.random() >= room_gap)
        await ReadOnly()
        taken = held and int(dut.i__ready.value)
        begins = bool(taken and sent % SAMPLE == 0)
        assert not begins or int(dut.room.value), "a sample began without room"
        assert int(dut.started.value) == begins, "started is not the first word's transfer"
        under_way = len(starts) - len(elements) // OUTPUTS
        assert int(dut.idle.value) == (under_way == 0), f"idle with {under_way} samples"
        saturations += int(dut.saturations.value)
        if int(dut.o_valid.value):
            elements.append((int(dut.o_index.value), int(dut.o_value.value)))
            clocks.append(clock)
        if begins:
            starts.append(clock)
        if taken:
            sent, held = sent + 1, False
        if not end and sent == len(WORDS) and len(elements) == len(EXPECTED):
            end = clock + 2 * CASE["interval"] + 10
        await RisingEdge(dut.clk)
        clock += 1
    return elements, starts, clocks, saturations


def compare(elements, gaps):
    for k, (got, expected) in enumerate(zip(elements, EXPECTED, strict=False)):
        assert got == expected, (
            f"gaps {gaps}: sample {k // OUTPUTS}, element {got[0]} is {got[1]:#x}, "
            f"not element {expected[0]}, {expected[1]:#x}"
        )
    assert len(elements) == len(EXPECTED), "an element too many"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def elements_match(dut):
    await begin(dut)
    for seed, gaps in enumerate([(0.0, 0.0), (0.5, 0.0), (0.0, 0.9), (0.9, 0.5)]):
        elements, _, _, saturations = await play(dut, random.Random(seed), *gaps)
        compare(elements, gaps)
        assert saturations == VECTORS["saturations"], f"gaps {gaps}: {saturations} saturations"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def cycles_as_declared(dut):
    await begin(dut)
    _, starts, clocks, _ = await play(dut, random.Random(0))
    apart = {b - a for a, b in zip(starts, starts[1:], strict=False)}
    assert apart == {CASE["interval"]}, f"samples begin {apart} clocks apart"
    assert clocks[::OUTPUTS] == [start + CASE["latency"] for start in starts]
    assert clocks[OUTPUTS - 1 :: OUTPUTS] == [start + CASE["last_latency"] for start in starts]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_idle_chain_takes_a_sample_as_it_comes(dut):
    """Whenever that is; but for the turn of a group, which goes on."""
    await begin(dut)
    for _ in range(CASE["interval"]):  # the macro-cycle that reset begins
        await RisingEdge(dut.clk)
    for pause in range(5):
        _, starts, _, _ = await play(dut, random.Random(0))
        assert starts[0] < GROUP, f"begun {starts[0]} clocks after it came, pause {pause}"
        for _ in range(pause):
            await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_in_flight(dut):
    await begin(dut)
    dut.room.value = 1
    dut.i__valid.value = 1
    dut.i__payload.value = WORDS[0]
    for _ in range(CASE["latency"] + CASE["interval"] // 2):
        await RisingEdge(dut.clk)
    dut.i__valid.value = 0
    await reset(dut, cycles=1)
    elements, _, _, _ = await play(dut, random.Random(0), 0.3, 0.3)
    compare(elements, "0.3 after reset")
