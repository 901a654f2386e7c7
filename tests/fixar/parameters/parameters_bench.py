"""Runs inside the simulator: image in, tiles, updates, tiles, image out; see test_parameters.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import RisingEdge
from driving import clocks, pulse, start, until, within
from fixar.parameters.biases import Biases
from fixar.parameters.cases import learner
from streams import get_all, put_all

from hw.fixar.parameters.parameters import Parameters
from hw.fixar.parameters.weight_update import WeightUpdate

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
CONFIG = learner(**CASE["learner"])
UNIT = Parameters(CONFIG, CASE["sum_width"], CASE["data_width"])


def words(texts):
    return [int(text, 16) for text in texts]


async def tiles(dut, case, gap, expected):
    """Rows and biases of the tiles of ``case``, which may be asked for at any time."""
    biases, sent = Biases(dut), words(case["tiles"])
    cocotb.start_soon(put_all(dut, "tiles", sent, random.Random(3), gap))
    rows, limit = words(expected["rows"]), 30 * len(expected["rows"]) + 1000
    got = await within(get_all(dut, "rows", len(rows), random.Random(4), gap), limit, "rows")
    for k, ((row,), should) in enumerate(zip(got, rows, strict=True)):
        assert row == should, f"row {k}: {row:x}, not {should:x}"
    assert [found[:2] for found in biases.found] == [
        (before, int(word, 16)) for before, word in expected["biases"]
    ]


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(gap=CASE["gaps"])
async def everything(dut, gap):
    """One after the other; only tiles are asked for while an update or a LOAD is under way."""
    await start(dut, UNIT)
    image, stored = words(VECTORS["loaded"]), words(VECTORS["stored"])
    dut.sets.value, limit = 15, 100 * len(image) + 1000
    await pulse(dut, "load")
    loading = cocotb.start_soon(put_all(dut, "image_i", image, random.Random(1), gap))
    await tiles(dut, VECTORS["tiles"], gap, VECTORS["tiles"])
    await within(loading, limit, "room for beats")
    dut.hyperparameters.value = int(VECTORS["hyperparameters"], 16)
    for phase in VECTORS["phases"]:
        dut.network.value = phase["network"]
        await clocks(dut, WeightUpdate.settle_of(CONFIG))
        for word in words(phase["sums"]):
            dut.sums.value = word
            await RisingEdge(dut.clk)
        dut.sums.value = 0
        await tiles(dut, phase["tiles"], gap, phase["tiles"])
        await until(dut, "busy", value=0)
    await pulse(dut, "store")
    got = await within(get_all(dut, "image_o", len(stored), random.Random(2), gap), limit, "beats")
    for k, ((beat,), expected) in enumerate(zip(got, stored, strict=True)):
        assert beat == expected, f"beat {k}: {beat:x}, not {expected:x}"
    await until(dut, "busy", value=0)
