"""Runs inside the simulator: images to and from memories that are lists; see test_image.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import pulse, start, within
from fixar.parameters.cases import learner
from fixar.parameters.memory import Memory
from pauses import SOLID
from streams import get_all, put_all

from hw.fixar.parameters.image import Image
from hw.learner.config import PARAMETER_SETS

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
CONFIG = learner(**CASE["learner"])
UNIT = Image(CONFIG, CASE["data_width"])


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.5, SOLID])
async def commands(dut, gap):
    """LOAD and STORE, some sets or all; without gaps no clock is lost but a few a section."""
    await start(dut, UNIT)
    memory = Memory(VECTORS["memories"], 8 * CONFIG.side)
    names = list(memory.words)
    cocotb.start_soon(memory.serve(dut, "enable", "address", names))
    places = {PARAMETER_SETS.index(name): name for name in names}
    cocotb.start_soon(memory.keep(dut, "address", places, data="word"))
    for command in VECTORS["commands"]:
        beats, rng = [int(beat, 16) for beat in command["beats"]], random.Random(2)
        limit = 20 * command["words"] + 1000
        dut.sets.value = command["sets"]
        await pulse(dut, "store" if command["store"] else "load")
        dut.sets.value = ~command["sets"] & 15  # only looked at with the pulse
        busy = cocotb.start_soon(fall(dut, limit))
        if command["store"]:
            got = await within(get_all(dut, "o", len(beats), rng, gap), limit, "beats")
            assert [beat for (beat,) in got] == beats, f"sets {command['sets']}"
        else:
            await within(put_all(dut, "i", beats, rng, gap), limit, "room for beats")
        clocks = await busy
        if not gap:
            sections = 1 + len(VECTORS["sections"])
            assert command["words"] <= clocks <= command["words"] + sections + 8, clocks
        for name, words in command["expected"].items():
            assert memory.words[name] == [int(word, 16) for word in words], name


async def fall(dut, limit):
    """Clocks until ``busy`` is low; there are no beats thereafter."""
    for clock in range(limit):
        await ReadOnly()
        busy, beat = int(dut.busy.value), int(dut.o__valid.value)
        await RisingEdge(dut.clk)
        if not busy:
            assert not beat, "a beat too many"
            return clock
    raise AssertionError(f"busy is high for {limit} clocks")
