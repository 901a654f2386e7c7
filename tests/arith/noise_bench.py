"""Runs inside the simulator: numbers of several seeds; see test_noise.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from driving import pulse, within
from pauses import SOLID
from streams import get_all, reset

CASE = json.loads(os.environ["CASE"])


async def begin(dut):
    for name in ("load", "seed", "o__ready"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


async def load(dut, seed):
    dut.seed.value = seed
    await pulse(dut, "load")
    dut.seed.value = 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.5, 0.9, SOLID])
async def numbers_of_seeds(dut, gap):
    """Each seed begins anew, wherever the one before it is."""
    await begin(dut)
    rng = random.Random(1)
    for count, seed, numbers in zip(
        (40, 1, 40, 2, 40), CASE["seeds"], CASE["numbers"], strict=True
    ):
        await load(dut, seed)
        got = await within(get_all(dut, "o", count, rng, gap), 5000, f"numbers of {seed}")
        dut.o__ready.value = 0
        mask = (1 << len(dut.o__payload)) - 1
        assert [word for (word,) in got] == [number & mask for number in numbers[:count]]
        for _ in range(rng.randrange(8)):
            await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_load_is_not_late(dut):
    """Two of them, as near as can be: the second counts."""
    await begin(dut)
    for distance in range(1, 25):
        await load(dut, 5)
        for _ in range(distance - 1):
            await RisingEdge(dut.clk)
        await load(dut, CASE["seeds"][3])
        got = await within(get_all(dut, "o", 2, random.Random(1)), 100, "number")
        dut.o__ready.value = 0
        expected = [number & 0xFFFFF for number in CASE["numbers"][3][:2]]
        assert [word for (word,) in got] == expected, distance


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def latency_and_interval(dut):
    await begin(dut)
    dut.o__ready.value = 1
    for _ in range(30):
        await ReadOnly()
        assert not int(dut.o__valid.value), "a number without a seed"
        await RisingEdge(dut.clk)
    await load(dut, 3)
    clocks = []
    for clock in range(1, 60):
        await ReadOnly()
        if int(dut.o__valid.value):
            clocks.append(clock)
        await RisingEdge(dut.clk)
    assert clocks == list(range(CASE["latency"], 60, CASE["interval"]))
