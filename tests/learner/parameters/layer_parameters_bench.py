"""In the simulator: a ``LayerParameters`` between its users; see test_layer_parameters.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from learner.parameters.walks import Scans, words
from streams import reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
LENGTH, DEPTH, OUTPUTS = CASE["length"], CASE["depth"], CASE["outputs"]
READ_LATENCY = 2


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
    for name in (
        "load",
        "store",
        "update",
        "parameter_set",
        "coefficients",
        "i__valid",
        "i__payload",
        "o__ready",
    ):
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
    scans = Scans(dut, CASE["estimate"])

    # What was there before must not matter.
    for kind, image in enumerate(VECTORS["before"]):
        await scans.load(kind, words(image), rng)
    for kind, image in enumerate(VECTORS["images"]):
        await scans.load(kind, words(image), rng, 0.4 * (kind % 2))
    for gap in (0, 0.6):
        await scans.check_images(VECTORS["stored"], rng, gap, "after the load")
    for number, update in enumerate(VECTORS["updates"]):
        await write_gradients(dut, update["gradients"], update["biases"])
        await check_reads(dut, update["reads"], rng)
        dut.coefficients.value = int(update["step"], 16)
        for _ in range(8):  # a step stands long before its update
            await RisingEdge(dut.clk)
        scans.saturations = 0
        await scans.update(number % 4)
        assert scans.saturations == update["saturations"], f"{scans.saturations} saturations"
        await scans.check_images(update["stored"], rng, 0, f"after update {number}")
