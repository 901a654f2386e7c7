"""Runs inside the simulator: tiles out of memories that are lists; see test_tile_loader.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import start, within
from fixar.parameters.biases import Biases
from fixar.parameters.cases import learner
from fixar.parameters.memory import Memory
from pauses import SOLID, SOLID_TOO
from streams import get_all, put_all

from hw.fixar.parameters.tile_loader import TileLoader

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
CONFIG = learner(**CASE["learner"])
UNIT = TileLoader(CONFIG)


async def begin(dut):
    await start(dut, UNIT)
    memory = Memory(VECTORS["memories"], 8 * CONFIG.side, CONFIG.port_words)
    cocotb.start_soon(memory.serve(dut, "enable", "address", ("online", "target")))


def words(texts):
    return [int(text, 16) for text in texts]


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(gaps=[(0, 0), (0.9, 0), (0, 0.5), (0.9, 0.3), (SOLID_TOO, SOLID), (0, (30, 7))])
async def all_tiles(dut, gaps):
    """In order, whoever waits; and no row more."""
    case = VECTORS["cases"]["mixed"]
    await begin(dut)
    biases = Biases(dut)
    cocotb.start_soon(put_all(dut, "i", words(case["tiles"]), random.Random(1), gaps[0]))
    rows, limit = words(case["rows"]), 100 * len(case["rows"])
    task = get_all(dut, "rows", len(rows), random.Random(2), gaps[1])
    got = await within(task, limit, "rows")
    for k, ((row,), expected) in enumerate(zip(got, rows, strict=True)):
        assert row == expected, f"row {k}: {row:x}, not {expected:x}"
    assert [found[:2] for found in biases.found] == [
        (before, int(word, 16)) for before, word in case["biases"]
    ]
    dut.rows__ready.value = 1
    for _ in range(10):
        await ReadOnly()
        assert not int(dut.rows__valid.value), "a row too many"
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(name=["straight", "transposed"])
async def pace(dut, name):
    """A band a clock, and biases in one too, from the first of them on."""
    case = VECTORS["cases"][name]
    await begin(dut)
    biases = Biases(dut)
    dut.rows__ready.value = 1
    cocotb.start_soon(put_all(dut, "i", words(case["tiles"]), random.Random(1)))
    events = len(case["rows"]) + len(case["biases"])
    for _ in range(events + 100):
        await RisingEdge(dut.clk)
    seen = sorted([*biases.moved, *(clock for *_, clock in biases.found)])
    latency = UNIT.LATENCY + (CONFIG.side // CONFIG.port_words + 1 if name == "transposed" else 0)
    assert seen == [latency + k for k in range(events)], seen
