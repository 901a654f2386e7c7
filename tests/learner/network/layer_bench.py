"""Runs inside the simulator: a ``Layer`` alone, batch after batch; see test_layer.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from learner.parameters.walks import Scans, words
from learner.random_samples import Begins
from streams import flagged, put_all, reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
SOURCE, OUTPUTS = CASE["source"], CASE["outputs"]
GAPS = [0.0, 0.4, 0.4]
#: Clocks behind the last gradient in which words of dx may still come.
DX_LATER = 60


class Watch:
    """What leaves the layer, while there is room for samples in a share of the clocks."""

    def __init__(self, dut):
        self.dut, self.rng, self.gap = dut, random.Random(2), 0.0
        self.begin()
        cocotb.start_soon(self._run())

    def begin(self):
        self.left = dict(o=[], dx=[])
        self.begun = dict(started=0, dx_begun=0)

    async def _run(self):
        dut = self.dut
        while True:
            rooms = {name: int(self.rng.random() >= self.gap) for name in ("room", "dx_room")}
            for name, room in rooms.items():
                getattr(dut, name).value = room
            await ReadOnly()
            for name, room in zip(self.begun, rooms.values(), strict=True):
                begun = int(getattr(dut, name).value)
                assert room or not begun, f"{name} without room"
                self.begun[name] += begun
            for name, left in self.left.items():
                signal = getattr(dut, name)
                if flagged(signal):
                    left.append(int(signal.value))
            await RisingEdge(dut.clk)


async def send_inputs(dut, samples, rng, gap):
    begins = Begins(
        dut, len(samples), gap=gap, begun=f"{SOURCE}_begun", room=f"{SOURCE}_room", seed=3
    )
    for number, sample in enumerate(samples):
        await begins.has(number)
        if SOURCE == "feed":
            await put_all(dut, "feed", words(sample), rng, gap)
            continue
        for word in words(sample):
            while rng.random() < gap:
                await RisingEdge(dut.clk)
            dut.chain.value = word
            await RisingEdge(dut.clk)
            dut.chain.value = 0


async def send_deltas(dut, samples, watch, rng, gap):
    """The errors of a sample once all its outputs are known."""
    for number, sample in enumerate(samples):
        while len(watch.left["o"]) < (number + 1) * OUTPUTS:
            await RisingEdge(dut.clk)
        await put_all(dut, "delta", words(sample), rng, gap)


def compare(name, got, expected, number):
    """``expected``: words, and which of their bits say something."""
    assert len(got) == len(expected), f"batch {number}: {len(got)} words of {name}"
    for k, (word, (bits, care)) in enumerate(zip(got, expected, strict=True)):
        assert word & int(care, 16) == int(bits, 16), (
            f"batch {number}, {name} {k}: {word:#x}, not {bits} in the bits {care}"
        )


async def train(dut, batch, number, watch, rng):
    """Until all gradients are complete."""
    gap = watch.gap = GAPS[number % len(GAPS)]
    samples = len(batch["inputs"])
    watch.begin()
    dut.start.value, dut.samples.value = 1, samples
    await RisingEdge(dut.clk)
    dut.start.value = 0
    tasks = [
        cocotb.start_soon(send_inputs(dut, batch["inputs"], rng, gap)),
        cocotb.start_soon(send_deltas(dut, batch["delta"], watch, rng, gap)),
    ]
    limit = (samples + 1) * CASE["clocks"]
    for _ in range(limit):
        await ReadOnly()
        if int(dut.done.value):
            break
        await RisingEdge(dut.clk)
    else:
        raise AssertionError(
            f"batch {number}: done must rise within {limit} clocks; begun: {watch.begun}, "
            f"left: { ({name: len(left) for name, left in watch.left.items()}) }"
        )
    assert all(task.done() for task in tasks), "done before all was sent"
    await ClockCycles(dut.clk, DX_LATER)
    await ReadOnly()
    assert watch.begun == dict(started=samples, dx_begun=samples)
    for name in ("o", "dx"):
        compare(name, watch.left[name], batch[name], number)
    await RisingEdge(dut.clk)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def session(dut):
    rng = random.Random(1)
    pulses = "start", "update", "load", "store", "feed_begun", "chain_begun"
    streams = "feed", "delta", "image_i"
    for name in (
        *pulses,
        "parameter_set",
        "coefficients",
        "samples",
        "chain",
        "acting",
        "image_o__ready",
    ):
        getattr(dut, name).value = 0
    for name in ("chain_mask", "counted"):
        getattr(dut, name).value = (1 << len(getattr(dut, name))) - 1
    dut.target.value = 0
    for name in streams:
        getattr(dut, f"{name}__valid").value = getattr(dut, f"{name}__payload").value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    watch, scans = Watch(dut), Scans(dut, CASE["estimate"], "image_i", "image_o")
    for kind, image in enumerate(VECTORS["images"]):
        await scans.load(kind, words(image), rng)
    for number, batch in enumerate(VECTORS["batches"]):
        scans.saturations = 0
        dut.coefficients.value = int(batch["step"], 16)
        await train(dut, batch, number, watch, rng)
        await scans.update()
        counts = [scans.saturations >> 16 * k & 0xFFFF for k in range(3)]
        assert counts == batch["saturations"], f"batch {number}: saturations {counts}"
        await scans.check_images(batch["stored"], rng, 0, f"batch {number}")
