"""Runs inside the simulator; started by test_line.py."""

import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer, with_timeout
from streams import get_all, put_all, reset

CASE = json.loads(os.environ["CASE"])
DIVISOR = CASE["divisor"]
PERIOD = 10  # ns a clock
CORNERS = [0x00, 0xFF, 0x55, 0xAA, 0x01, 0x80, 0x00]


async def start(dut):
    dut.rx.value = 1
    dut.i__valid.value = dut.o__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, PERIOD, "ns").start())
    await reset(dut)
    for _ in range(4):
        await RisingEdge(dut.clk)


async def send(dut, byte, *, skew=0.0, stop=1):
    """A byte on rx whose bits are ``skew`` longer than they should be."""
    bit = round(1000 * PERIOD * DIVISOR * (1 + skew))
    for value in (0, *(byte >> k & 1 for k in range(8)), stop):
        dut.rx.value = value
        await Timer(bit, "ps")
    dut.rx.value = 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def received_as_sent(dut):
    """Back to back and with pauses of any length, at both ends of the tolerance."""
    rng = random.Random(CASE["seed"])
    words = CORNERS + [rng.randrange(256) for _ in range(40)]
    await start(dut)

    async def line():
        for word in words:
            await send(dut, word, skew=CASE["skew"])
            await Timer(rng.choice([0, 0, 1, rng.randrange(1, 30_000 * DIVISOR)]) or 1, "ps")

    cocotb.start_soon(line())
    limit = 20 * PERIOD * DIVISOR * len(words) * 3
    got = await with_timeout(get_all(dut, "o", len(words), rng, 0.3), limit, "ns")
    assert [word for (word,) in got] == words


@cocotb.test(skip=bool(CASE["skew"]), timeout_time=2, timeout_unit="ms")
async def what_is_no_byte_is_dropped(dut):
    """A spike of less than half a bit, a byte without stop bit, a line held low."""
    await start(dut)
    dut.o__ready.value = 1
    for length in range(1, DIVISOR // 2):
        dut.rx.value = 0
        for _ in range(length):
            await RisingEdge(dut.clk)
        dut.rx.value = 1
        for _ in range(12 * DIVISOR):  # longer than a byte
            await RisingEdge(dut.clk)
            assert not int(dut.o__valid.value)
    await send(dut, 0x5A, stop=0)
    dut.rx.value = 0
    for _ in range(40 * DIVISOR):
        await RisingEdge(dut.clk)
        assert not int(dut.o__valid.value), "a line held low sends nothing"
    dut.rx.value = 1
    for _ in range(20 * DIVISOR):
        await RisingEdge(dut.clk)
    cocotb.start_soon(send(dut, 0xC3))
    got = await with_timeout(get_all(dut, "o", 1, random.Random(0)), 20 * PERIOD * DIVISOR, "ns")
    assert got == [(0xC3,)]


@cocotb.test(skip=bool(CASE["skew"]), timeout_time=2, timeout_unit="ms")
async def what_is_not_taken_is_replaced(dut):
    """A line cannot wait: the last byte is on offer."""
    await start(dut)
    for byte in (1, 2, 3):
        await send(dut, byte)
    await RisingEdge(dut.clk)
    got = await with_timeout(get_all(dut, "o", 1, random.Random(0)), 20 * PERIOD * DIVISOR, "ns")
    assert got == [(3,)]


@cocotb.test(skip=bool(CASE["skew"]), timeout_time=2, timeout_unit="ms")
async def transmitted_bit_by_bit(dut):
    """Every bit lasts ``divisor`` clocks, bytes follow each other without a gap, the line rests."""
    rng = random.Random(CASE["seed"])
    words = CORNERS + [rng.randrange(256) for _ in range(10)]
    await start(dut)
    cocotb.start_soon(put_all(dut, "i", words, rng))
    levels = []
    for _ in range((10 * len(words) + 20) * DIVISOR):
        await ReadOnly()
        levels.append(int(dut.tx.value))
        await RisingEdge(dut.clk)
    begin = levels.index(0)
    assert begin <= 2
    expected = [
        bit
        for word in words
        for bit in (0, *(word >> k & 1 for k in range(8)), 1)
        for _ in range(DIVISOR)
    ]
    assert levels[begin : begin + len(expected)] == expected
    assert set(levels[begin + len(expected) :]) == {1}
