"""Runs inside the simulator; started by test_row_update.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, clocks, start, within
from pauses import SOLID, SOLID_TOO
from streams import get_all, put_all

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.memory.row_update import RowUpdate

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
COEFFICIENTS = int(VECTORS["coefficients"])
#: name -> rows
ROWS = {name: [int(row, 16) for row in rows] for name, rows in VECTORS["rows"].items()}
UNIT = RowUpdate(Fa3cConfig(**CASE["config"]))
INPUTS, OUTPUTS = ("gradient", "squares", "theta"), ("new_squares", "new_theta")
COUNT = len(ROWS["theta"])
#: Pauses of gradient, squares, theta, new_squares and new_theta.
GAPS = [
    (0, 0, 0, 0, 0),
    (0.5, 0.5, 0.5, 0.5, 0.5),
    (SOLID, 0, SOLID_TOO, 0, 0),
    (0, 0.9, 0, SOLID, SOLID_TOO),
    (0, 0, 0, 0, SOLID),
]


async def begin(dut):
    await start(dut, UNIT)
    dut.coefficients.value = COEFFICIENTS


def put(dut, name, gap=0, seed=0):
    rng = random.Random(f"{seed} {name}")
    return cocotb.start_soon(put_all(dut, name, ROWS[name], rng, gap))


def get(dut, name, count, gap=0, seed=0):
    rng = random.Random(f"{seed} {name}")
    return cocotb.start_soon(get_all(dut, name, count, rng, gap))


class Infinite:
    """``rows``: for either output the number of rows that have a word which is not finite."""

    def __init__(self, dut):
        self.dut, self.rows = dut, {"new_theta": 0, "new_squares": 0}
        cocotb.start_soon(self._run())

    async def _run(self):
        while True:
            await ReadOnly()
            bits = int(self.dut.overflow.value)
            for place, name in enumerate(self.rows):
                self.rows[name] += bits >> place & 1
            await RisingEdge(self.dut.clk)


async def check(task, name):
    """``task`` brings the rows of ``name``."""
    rows = await within(task, 200 * COUNT + 2000, f"rows of {name}")
    for k, ((got,), expected) in enumerate(zip(rows, ROWS[name], strict=True)):
        assert got == expected, f"{name}, row {k}: {got:0128x}, not {expected:0128x}"


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(gaps=GAPS)
async def matches_twin(dut, gaps):
    """Every row, in order, whoever waits; and no row more."""
    await begin(dut)
    infinite = Infinite(dut)
    every = dict(zip((*INPUTS, *OUTPUTS), gaps, strict=True))
    for name in INPUTS:
        put(dut, name, every[name], seed=1)
    tasks = {name: get(dut, name, COUNT, every[name], seed=1) for name in OUTPUTS}
    for name, task in tasks.items():
        await check(task, name)
    watch = Watch(dut, "new_squares__valid", "new_theta__valid")
    await clocks(dut, UNIT.LATENCY + 20)
    assert not any(watch.high.values()), "a row too many"
    assert infinite.rows == VECTORS["infinite"]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_pace(dut):
    """A row every ``interval`` clocks; results when they are declared."""
    await begin(dut)
    watch = Watch(dut, streams=(*INPUTS, *OUTPUTS))
    for name in INPUTS:
        put(dut, name)
    tasks = {name: get(dut, name, COUNT) for name in OUTPUTS}
    for name, task in tasks.items():
        await check(task, name)
    taken = [CASE["interval"] * (k + 1) - 1 for k in range(COUNT)]
    for name in INPUTS:
        assert watch.high[name] == taken, name
    assert watch.high["new_squares"][0] == taken[0] + UNIT.SQUARES_LATENCY
    assert watch.high["new_theta"][0] == taken[0] + CASE["latency"]


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(stalled=OUTPUTS)
async def waits_for_room(dut, stalled):
    """Nobody takes the one: rows begin while there are places, the others come, none is lost."""
    await begin(dut)
    watch = Watch(dut, streams=(*INPUTS, *OUTPUTS))
    for name in INPUTS:
        put(dut, name)
    (other,) = set(OUTPUTS) - {stalled}
    task = get(dut, other, COUNT)
    await clocks(dut, CASE["interval"] * COUNT + 200)
    begun = len(watch.high["theta"])
    assert begun < COUNT and len(watch.high[other]) == begun
    # The places are those of the rows that are inside at full pace, and one.
    inside = {"new_squares": UNIT.SQUARES_LATENCY, "new_theta": UNIT.LATENCY}[stalled] + CASE[
        "interval"
    ]
    assert begun == (inside - 1) // CASE["interval"] + 1
    await check(get(dut, stalled, COUNT), stalled)
    await check(task, other)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(missing=INPUTS)
async def waits_for_all(dut, missing):
    """Two of three rows are there: none is taken."""
    await begin(dut)
    dut.new_squares__ready.value = dut.new_theta__ready.value = 1
    for name in INPUTS:
        getattr(dut, f"{name}__valid").value = int(name != missing)
    watch = Watch(dut, *(f"{name}__ready" for name in INPUTS))
    await clocks(dut, 40)
    assert not any(watch.high.values())
    getattr(dut, f"{missing}__valid").value = 1
    await clocks(dut, CASE["interval"])
    await RisingEdge(dut.clk)
    assert all(watch.high.values())
