"""Runs inside the simulator: images to and from layers made of lists; see test_transfer.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from pauses import SOLID
from streams import get_all, put_all, reset

CASE = json.loads(os.environ["CASE"])
#: Of each command: sets, store, beats in or out, and (layer, kind, words) of its sections.
COMMANDS = json.loads(Path(CASE["vectors"]).read_text())
LAYERS = CASE["layers"]


class Layers:
    """What ``LayerParameters`` are to the unit: begun by a bit, busy until all words have moved."""

    def __init__(self, dut, gap):
        self.dut, self.gap, self.rng = dut, gap, random.Random(1)
        self.busy, self.due, self.done = 0, [], 0

    async def run(self):
        dut = self.dut
        while True:
            await ReadOnly()
            load, store = int(dut.load_layer.value), int(dut.store_layer.value)
            if load or store:
                assert not self.busy, "a layer begins while another is busy"
                layer, kind, words = self.due.pop(0)
                begun = (load, store, int(dut.parameter_set.value))
                expected = (0, 1 << layer) if self.store else (1 << layer, 0)
                assert begun == (*expected, kind), (begun, layer, kind)
                cocotb.start_soon(self.move(layer, words))
            await RisingEdge(dut.clk)
            dut.layer_busy.value = self.busy

    async def move(self, layer, words):
        self.busy = 1 << layer
        await RisingEdge(self.dut.clk)
        if self.store:
            await put_all(self.dut, f"stored_{layer}", words, self.rng, self.gap)
        else:
            count = len(words)
            got = await get_all(self.dut, f"words_{layer}", count, self.rng, self.gap)
            assert [word for (word,) in got] == words, f"layer {layer}"
            getattr(self.dut, f"words_{layer}__ready").value = 0
        for _ in range(self.rng.randrange(5)):
            await RisingEdge(self.dut.clk)
        self.busy, self.done = 0, self.done + 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.6], layer_gap=[0, 0.5, SOLID])
async def images(dut, gap, layer_gap):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.load.value = dut.store.value = dut.sets.value = dut.layer_busy.value = 0
    dut.i__valid.value = dut.o__ready.value = 0
    for k in range(LAYERS):
        getattr(dut, f"words_{k}__ready").value = 0
        getattr(dut, f"stored_{k}__valid").value = 0
    await reset(dut)
    layers = Layers(dut, layer_gap)
    cocotb.start_soon(layers.run())
    for command in COMMANDS:
        await execute(dut, layers, command, random.Random(2), gap)


async def execute(dut, layers, command, rng, gap):
    beats, store = command["beats"], command["store"]
    layers.due, layers.store, layers.done = list(command["sections"]), store, 0
    dut.sets.value = command["sets"]
    (dut.store if store else dut.load).value = 1
    await ReadOnly()
    await RisingEdge(dut.clk)
    dut.load.value = dut.store.value = 0
    dut.sets.value = ~command["sets"] & 15  # only looked at with the pulse
    if store:
        got = await with_timeout(get_all(dut, "o", len(beats), rng, gap), 500, "us")
        assert [beat for (beat,) in got] == beats, f"sets {command['sets']}"
        dut.o__ready.value = 0
    else:
        await with_timeout(put_all(dut, "i", beats, rng, gap), 500, "us")
    clocks = 0
    while True:
        await ReadOnly()
        busy = int(dut.busy.value)
        assert not int(dut.o__valid.value), "a beat too many"
        await RisingEdge(dut.clk)
        clocks += 1
        if not busy:
            break
        assert clocks < 1000, "busy must fall"
    assert not layers.due and not layers.busy, "a section is missing"
    assert layers.done == len(command["sections"])
