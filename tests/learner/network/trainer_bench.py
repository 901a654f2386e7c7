"""Runs inside the simulator; started by test_trainer_steps.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import get_all, put_all, reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
PULSES = "control__begin", "control__train", "control__update", "load", "store", "act", "acting"
LIMIT = CASE["limit"]


async def pulse(dut, name):
    getattr(dut, name).value = 1
    await RisingEdge(dut.clk)
    getattr(dut, name).value = 0


async def level(dut, name, value):
    """Clocks until a level is there."""
    for clocks in range(LIMIT):
        await ReadOnly()
        if int(getattr(dut, name).value) == value:
            await RisingEdge(dut.clk)
            return clocks
        await RisingEdge(dut.clk)
    raise AssertionError(f"{name} is not {value} after {LIMIT} clocks")


async def move(dut, name, words=None, rng=None, gap=0.0):
    """A LOAD of ``words``, or a STORE, which returns its words."""
    if words is None:
        task = cocotb.start_soon(get_all(dut, "image_o", CASE["beats"], rng, gap))
    else:
        task = cocotb.start_soon(put_all(dut, "image_i", [int(x, 16) for x in words], rng, gap))
    await pulse(dut, name)
    got = await task
    await level(dut, "control__busy", 0)
    return None if got is None else [word for (word,) in got]


async def give(dut, batch, rng, gap):
    dut.batch.value = batch["batch"]
    await pulse(dut, "control__begin")
    await put_all(dut, "records", [int(x, 16) for x in batch["records"]], rng, gap)
    await level(dut, "control__loaded", 1)
    assert not int(dut.control__bad.value)


async def train(dut, batch, rng, gap, late, where):
    await give(dut, batch, rng, gap)
    dut.control__hyperparameters.value = int(batch["step"], 16)
    errors = cocotb.start_soon(get_all(dut, "td", batch["batch"], rng, gap))
    await pulse(dut, "control__train")
    clocks = 1
    while not errors.done():
        await RisingEdge(dut.clk)
        clocks += 1
        assert clocks < LIMIT, f"{where}: TD errors"
    for _ in range(rng.randrange(late + 1)):
        await RisingEdge(dut.clk)
        clocks += 1
    diverged = int(dut.control__diverged.value)
    assert diverged == batch["diverged"], where
    if not diverged:
        await pulse(dut, "control__update")
        clocks += 1
    clocks += await level(dut, "control__busy", 0)
    await level(dut, "control__trained", 1)
    for name, expected in batch["final"].items():
        found = int(getattr(dut, f"control__{name}").value)
        assert found == expected, f"{where}, {name}: {found:#x}, not {expected:#x}"
    got = [word for (word,) in await errors]
    for k, (word, expected) in enumerate(zip(got, batch["td"], strict=True)):
        assert word == int(expected, 16), f"{where}, TD error {k}: {word:#x}, not {expected}"
    if not (gap or late or diverged):
        assert clocks == batch["clocks"], f"{where}: {clocks} clocks, not {batch['clocks']}"


async def act(dut, batch, rng, gap):
    dut.acting.value = 1
    await give(dut, batch, rng, gap)
    task = cocotb.start_soon(get_all(dut, "actions", len(batch["actions"]), rng, gap))
    await pulse(dut, "act")
    got = [word for (word,) in await task]
    assert got == [int(x, 16) for x in batch["actions"]], "actions"
    dut.acting.value = 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def steps(dut):
    rng = random.Random(3)
    for name in PULSES:
        getattr(dut, name).value = 0
    for name in ("records", "image_i"):
        getattr(dut, f"{name}__valid").value = getattr(dut, f"{name}__payload").value = 0
    for name in ("td", "image_o", "actions"):
        getattr(dut, f"{name}__ready").value = 0
    dut.batch.value = dut.control__hyperparameters.value = 0
    dut.sets.value = (1 << len(dut.sets)) - 1
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    await move(dut, "load", VECTORS["image"], rng)
    for number, batch in enumerate(VECTORS["batches"]):
        where, gap = f"batch {number}", batch["gap"]
        await act(dut, VECTORS["observed"][number], rng, gap)
        await train(dut, batch, rng, gap, batch["late"], where)
        if batch["stored"]:
            found = await move(dut, "store", None, rng, gap)
            wanted = [int(x, 16) for x in batch["stored"]]
            assert found == wanted, f"{where}: {sum(map(int.__ne__, found, wanted))} beats of image"
