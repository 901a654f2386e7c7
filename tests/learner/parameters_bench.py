"""Runs inside the simulator: a ``Parameters`` between its users; see test_parameters.py."""

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
LENGTH, DEPTH, OUTPUTS = CASE["length"], CASE["depth"], CASE["outputs"]
LIMIT = 20 * (CASE["estimate"]["store"] + CASE["estimate"]["update"])
READ_LATENCY = 2


def words(texts):
    return [int(text, 16) for text in texts]


class Busy:
    """Counts the clocks of ``busy`` and sums ``saturations``."""

    def __init__(self, dut):
        self.dut, self.clocks, self.saturations = dut, 0, 0

    async def run(self):
        while True:
            await ReadOnly()
            self.clocks += int(self.dut.busy.value)
            if hasattr(self.dut, "saturations"):
                self.saturations += int(self.dut.saturations.value)
            await RisingEdge(self.dut.clk)

    async def finish(self, what):
        """Wait until not busy; the clocks that it took."""
        for _ in range(LIMIT):
            await ReadOnly()
            busy = int(self.dut.busy.value)
            await RisingEdge(self.dut.clk)
            if not busy:
                for _ in range(3):
                    await RisingEdge(self.dut.clk)
                clocks, self.clocks = self.clocks, 0
                return clocks
        raise AssertionError(f"busy must fall within {LIMIT} clocks of {what}")


async def pulse(dut, name, kind=0):
    getattr(dut, name).value = 1
    dut.kind.value = kind
    await RisingEdge(dut.clk)
    getattr(dut, name).value = 0
    dut.kind.value = 3 - kind  # only looked at with the pulse


async def load(dut, busy, kind, image, rng, gap):
    await pulse(dut, "load", kind)
    await put_all(dut, "i", image, rng, gap)
    clocks = await busy.finish(f"load of kind {kind}")
    if not gap:
        assert clocks == CASE["estimate"]["load"], f"load of kind {kind} took {clocks} clocks"


async def store(dut, busy, kind, count, rng, gap):
    await pulse(dut, "store", kind)
    got = [word for (word,) in await get_all(dut, "o", count, rng, gap)]
    dut.o__ready.value = 1
    clocks = await busy.finish(f"store of kind {kind}")
    await ReadOnly()
    assert not int(dut.o__valid.value), "a word too many is stored"
    await RisingEdge(dut.clk)
    if not gap:
        assert clocks == CASE["estimate"]["store"], f"store of kind {kind} took {clocks} clocks"
    return got


async def check_images(dut, busy, images, rng, gap, when):
    for kind, image in enumerate(images):
        expected = words(image)
        got = await store(dut, busy, kind, len(expected), rng, gap)
        wrong = [k for k in range(len(expected)) if got[k] != expected[k]]
        assert not wrong, (
            f"{when}: word {wrong[0]} of kind {kind} must be {expected[wrong[0]]:#x}, "
            f"not {got[wrong[0]]:#x} ({len(wrong)} of {len(expected)} differ)"
        )


async def write_gradients(dut, gradients, biases):
    """All PEs and the biases at the same time, as backward does."""
    address_width = (DEPTH - 1).bit_length()
    bias_width = (OUTPUTS - 1).bit_length()
    for k in range(max(DEPTH, OUTPUTS)):
        for pe in range(LENGTH):
            value = words(gradients[pe])[k] if k < DEPTH else 0
            word = value << (1 + address_width) | k % DEPTH << 1 | (k < DEPTH)
            getattr(dut, f"backward__gradient_write__{pe}").value = word
        value = words(biases)[k] if k < OUTPUTS else 0
        dut.backward__bias_write.value = (
            value << (1 + bias_width) | k % OUTPUTS << 1 | (k < OUTPUTS)
        )
        await RisingEdge(dut.clk)
    for pe in range(LENGTH):
        getattr(dut, f"backward__gradient_write__{pe}").value = 0
    dut.backward__bias_write.value = 0


async def check_reads(dut, reads, rng, count=40):
    """Forward and backward at addresses of their own, a new one every clock."""
    pending = []
    for clock in range(count + READ_LATENCY):
        if clock < count:
            expected = {}
            for pe in range(LENGTH):
                forward, backward = rng.randrange(DEPTH), rng.randrange(DEPTH)
                getattr(dut, f"forward__address__{pe}").value = forward
                getattr(dut, f"backward__address__{pe}").value = backward
                expected[f"forward__weight__{pe}"] = words(reads["forward"][pe])[forward]
                expected[f"backward__gradient__{pe}"] = words(reads["gradient"][pe])[backward]
                expected[f"backward__weight__{pe}"] = (
                    words(reads["weight"][pe])[backward] if CASE["input_gradient"] else 0
                )
            forward, backward = rng.randrange(OUTPUTS), rng.randrange(OUTPUTS)
            dut.forward__bias_address.value = forward
            dut.backward__bias_address.value = backward
            expected["forward__bias"] = words(reads["bias"])[forward]
            expected["backward__bias_gradient"] = words(reads["bias_gradient"])[backward]
            pending.append(expected)
        await ReadOnly()
        if clock >= READ_LATENCY:
            for port, value in pending.pop(0).items():
                got = int(getattr(dut, port).value)
                assert got == value, f"clock {clock}: {port} is {got:#x}, not {value:#x}"
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=300, timeout_unit="us")
async def session(dut):
    rng = random.Random(CASE["seed"])
    for name in ("load", "store", "update", "kind", "step", "i__valid", "i__payload", "o__ready"):
        getattr(dut, name).value = 0
    for pe in range(LENGTH):
        getattr(dut, f"forward__address__{pe}").value = 0
        getattr(dut, f"backward__address__{pe}").value = 0
        getattr(dut, f"backward__gradient_write__{pe}").value = 0
    dut.forward__bias_address.value = 0
    dut.backward__bias_address.value = 0
    dut.backward__bias_write.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    busy = Busy(dut)
    cocotb.start_soon(busy.run())

    # What was there before must not matter.
    for kind, image in enumerate(VECTORS["before"]):
        await load(dut, busy, kind, words(image), rng, 0)
    for kind, image in enumerate(VECTORS["images"]):
        await load(dut, busy, kind, words(image), rng, 0.4 * (kind % 2))
    for gap in (0, 0.6):
        await check_images(dut, busy, VECTORS["stored"], rng, gap, "after the load")
    for number, update in enumerate(VECTORS["updates"]):
        await write_gradients(dut, update["gradients"], update["biases"])
        await check_reads(dut, update["reads"], rng)
        dut.step.value = int(update["step"], 16)
        for _ in range(8):  # a step stands long before its update
            await RisingEdge(dut.clk)
        busy.clocks = busy.saturations = 0
        await pulse(dut, "update", number % 4)
        clocks = await busy.finish("update")
        assert clocks == CASE["estimate"]["update"], f"an update took {clocks} clocks"
        assert busy.saturations == update["saturations"], f"{busy.saturations} saturations"
        await check_images(dut, busy, update["stored"], rng, 0, f"after update {number}")
