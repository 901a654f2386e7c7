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
ROWS, COLUMNS, BLOCKS, WORDS = (CASE[name] for name in ("rows", "columns", "blocks", "words"))
WIDTH, SKEW, READ_LATENCY = CASE["width"], CASE["skew"], 2
#: Those that Verilog has.
ADDRESSES = {
    name: depth
    for name, depth in (
        ("forward__address", BLOCKS),
        ("forward__bias_address", WORDS),
        ("backward__address", BLOCKS),
        ("backward__gradient_address", BLOCKS),
        ("backward__bias_address", WORDS),
    )
    if depth > 1
}


async def write_gradients(dut, blocks, biases):
    """Blocks and biases side by side, as backward does."""
    for k in range(max(BLOCKS, WORDS)):
        for port, values in (("gradient_write", blocks), ("bias_write", biases)):
            depth, value = len(values), int(values[k % len(values)], 16)
            word = value << (1 + (depth - 1).bit_length()) | k % depth << 1 | (k < depth)
            getattr(dut, f"backward__{port}").value = word
        await RisingEdge(dut.clk)
    dut.backward__gradient_write.value = dut.backward__bias_write.value = 0


def skewed(memory, history, along, skew):
    """The word that a port shows: number ``along`` of which row or column comes how late.
    ``history`` are addresses, the last one of READ_LATENCY clocks ago."""
    word = 0
    for number in range(ROWS * COLUMNS):
        late = skew * (number // COLUMNS if along == "rows" else number % COLUMNS)
        value = memory[history[-1 - late]] >> WIDTH * number & (1 << WIDTH) - 1
        word |= value << WIDTH * number
    return word


async def check_reads(dut, reads, rng, count=CASE["clocks"]):
    """Forward and backward at addresses of their own, a new one every clock."""
    memory = {name: words(texts) for name, texts in reads.items()}
    history = {name: [] for name in ADDRESSES}
    longest = READ_LATENCY + SKEW * max(ROWS, COLUMNS)
    for clock in range(count + longest):
        for name, depth in ADDRESSES.items():
            history[name].append(rng.randrange(depth))
            getattr(dut, name).value = history[name][-1]
        await ReadOnly()
        if clock >= longest:
            at = {name: past[:-READ_LATENCY] for name, past in history.items()}
            zeros = [0] * (clock + 1)
            forward, bias = (
                at.get(f"forward__{name}", zeros) for name in ("address", "bias_address")
            )
            backward, back_bias = (
                at.get(f"backward__{name}", zeros) for name in ("address", "bias_address")
            )
            sums = history.get("backward__gradient_address", zeros)[-1 - CASE["gradient_latency"]]
            block, word = ROWS * COLUMNS * WIDTH, COLUMNS * WIDTH
            expected = {
                "forward__weight": skewed(memory["target"], forward, "rows", SKEW) << block
                | skewed(memory["online"], forward, "rows", SKEW),
                "forward__bias": memory["bias_target"][bias[-1]] << word
                | memory["bias_online"][bias[-1]],
                "backward__weight": skewed(memory["online"], backward, "columns", SKEW)
                if CASE["input_gradient"]
                else 0,
                "backward__gradient": memory["gradient"][sums],
                "backward__bias_gradient": memory["bias_gradient"][back_bias[-1]],
            }
            for port, value in expected.items():
                got = int(getattr(dut, port).value)
                assert got == value, f"clock {clock}: {port} is {got:#x}, not {value:#x}"
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=300, timeout_unit="us")
async def session(dut):
    rng = random.Random(CASE["seed"])
    for name in (
        *("load", "store", "update", "parameter_set", "coefficients"),
        *(("measure",) if CASE["measures"] else ()),
        *("i__valid", "i__payload", "o__ready"),
        *("backward__gradient_write", "backward__bias_write"),
        *ADDRESSES,
    ):
        getattr(dut, name).value = 0
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
        await write_gradients(dut, update["reads"]["gradient"], update["reads"]["bias_gradient"])
        await check_reads(dut, update["reads"], rng)
        dut.coefficients.value = int(update["step"], 16)
        for _ in range(8):  # a step stands long before its update
            await RisingEdge(dut.clk)
        scans.saturations = 0
        if update["squares"] is not None:
            await scans.measure()
            got = int(dut.squares.value)
            assert got == update["squares"], f"{got:#x}, not {update['squares']:#x}, measured"
            before = VECTORS["updates"][number - 1] if number else VECTORS
            await scans.check_images(before["stored"], rng, 0, f"after measuring {number}")
            await scans.measure()
        await scans.update(number % 4)
        assert scans.saturations == update["saturations"], f"{scans.saturations} saturations"
        await scans.check_images(update["stored"], rng, 0, f"after update {number}")
