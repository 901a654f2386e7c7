"""Runs inside the simulator; started by test_line_buffer.py."""

import json
import os
import random

import cocotb
import numpy as np
from cocotb.triggers import ReadOnly, RisingEdge
from driving import start, until

from hw.fa3c.config import LINE_ROWS, Fa3cConfig
from hw.fa3c.unit.line_buffer import LineBuffer

CONFIG = Fa3cConfig.from_dict(json.loads(os.environ["CASE"])["config"])
LANES = CONFIG.lanes


def row_bytes(rng):
    return bytes(rng.randrange(256) for _ in range(64))


async def fill(dut, rows, gap, rng):
    """Rows of one line, with pauses."""
    for position, row in enumerate(rows):
        while rng.random() < gap:
            dut.i__valid.value = 0
            await RisingEdge(dut.clk)
        last = position == len(rows) - 1
        dut.i__payload.value = int.from_bytes(row, "little") | last << 512
        dut.i__valid.value = 1
        await RisingEdge(dut.clk)
    dut.i__valid.value = 0


def chunk(line, address, wide, one):
    """The words that an address stands for, as bits."""
    if one:
        return np.full(LANES, 1.0, "<f4").view("<u4")
    raw = b"".join(line)
    if wide:
        numbers = np.frombuffer(raw, np.uint8)[address * LANES : (address + 1) * LANES]
        return (numbers * 2.0**CONFIG.input_exponent).astype("<f4").view("<u4")
    return np.frombuffer(raw, "<u4")[address * LANES : (address + 1) * LANES]


async def sweep(dut, line, rng, count):
    """Every address of a line in any order, one a clock; the last releases the line."""
    wide = rng.random() < 0.5
    chunks = len(line) * (64 if wide else 16) // LANES
    addresses = [0, chunks - 1, *(rng.randrange(chunks) for _ in range(count))]
    wanted = []
    for step in range(len(addresses) + LineBuffer.LATENCY):
        if step < len(addresses):
            one = rng.random() < 0.1
            dut.address.value, dut.wide.value, dut.one.value = addresses[step], wide, one
            dut.release.value = step == len(addresses) - 1
            wanted.append(chunk(line, addresses[step], wide, one))
        else:
            dut.release.value = 0
        await ReadOnly()
        if step >= LineBuffer.LATENCY:
            words = int(dut.words.value).to_bytes(4 * LANES, "little")
            place = step - LineBuffer.LATENCY
            np.testing.assert_array_equal(np.frombuffer(words, "<u4"), wanted[place])
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def matches_lines(dut):
    """Lines of every length; the next one comes while one is swept."""
    rng = random.Random(LANES)
    await start(dut, LineBuffer(CONFIG))
    lengths = [1, LINE_ROWS, LINE_ROWS, 2, *(rng.randint(1, LINE_ROWS) for _ in range(6))]
    lines = [[row_bytes(rng) for _ in range(length)] for length in lengths]
    filling = cocotb.start_soon(fill(dut, lines[0], 0.0, rng))
    for number, line in enumerate(lines):
        await filling
        await until(dut, "full", 5)
        if number + 1 < len(lines):
            filling = cocotb.start_soon(fill(dut, lines[number + 1], rng.choice([0, 0.3]), rng))
        await sweep(dut, line, rng, 30)
    await ReadOnly()
    assert not int(dut.full.value)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_byte(dut):
    """All 256 bytes become exact numbers."""
    rng = random.Random(0)
    await start(dut, LineBuffer(CONFIG))
    line = [bytes(range(64 * k, 64 * k + 64)) for k in range(4)]
    await fill(dut, line, 0, rng)
    await until(dut, "full", 5)
    dut.wide.value = 1
    for address in range(256 // LANES):
        dut.address.value = address
        for _ in range(LineBuffer.LATENCY):
            await RisingEdge(dut.clk)
        await ReadOnly()
        words = np.frombuffer(int(dut.words.value).to_bytes(4 * LANES, "little"), "<f4")
        first = address * LANES
        expected = [k * 2.0**CONFIG.input_exponent for k in range(first, first + LANES)]
        assert words.tolist() == expected
        await RisingEdge(dut.clk)
