"""Runs inside the simulator: updates of memories that are lists; see test_weight_update.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import clocks, start
from fixar.parameters.cases import learner
from fixar.parameters.memory import Memory
from pauses import pauses

from hw.fixar.parameters.memories import WEIGHTS
from hw.fixar.parameters.weight_update import WeightUpdate
from hw.learner.config import PARAMETER_SETS

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
CONFIG = learner(**CASE["learner"])
UNIT = WeightUpdate(CONFIG, CASE["sum_width"])


class Counts:
    """What was clipped, and for how many clocks ``busy`` was high."""

    NAMES = ("clipped_gradients", "clipped_weights", "busy")

    def __init__(self, dut):
        self.dut, self.totals = dut, dict.fromkeys(self.NAMES, 0)
        cocotb.start_soon(self._run())

    async def _run(self):
        while True:
            await ReadOnly()
            for name in self.totals:
                self.totals[name] += int(getattr(self.dut, name).value)
            await RisingEdge(self.dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gap=CASE["gaps"])
async def networks(dut, gap):
    """One after the other, each with its own coefficients, settled for as long as they must be."""
    await start(dut, UNIT)
    memory, sets = Memory(VECTORS["memories"], 8 * CONFIG.side), list(VECTORS["memories"])
    counts = Counts(dut)
    for group in ("weights", "moments"):
        names = [name for name in sets if (name in WEIGHTS) == (group == "weights")]
        places = {PARAMETER_SETS.index(name): name for name in names}
        cocotb.start_soon(memory.serve(dut, None, f"{group}_address", names))
        cocotb.start_soon(memory.keep(dut, f"write_{group}_address", places))
    for phase in VECTORS["phases"]:
        dut.network.value = phase["network"]
        dut.hyperparameters.value = int(phase["hyperparameters"], 16)
        await clocks(dut, UNIT.settle_of(CONFIG))
        counts.totals = dict.fromkeys(counts.NAMES, 0)
        sent = await send(dut, phase["sums"], pauses(gap, random.Random(1)))
        for _ in range(2 * UNIT.latency_of(CONFIG)):
            await ReadOnly()
            if not int(dut.busy.value):
                break
            await RisingEdge(dut.clk)
        for name, words in phase["expected"].items():
            for address, word in enumerate(words):
                got = memory.words[name][address]
                assert got == int(word, 16), (
                    f"{name}, word {address}: {got:0{8 * CONFIG.side}x}, not {word}"
                )
        after = range(1, UNIT.latency_of(CONFIG) + 2)
        assert counts.totals.pop("busy") == len({clock + k for clock in sent for k in after})
        assert counts.totals == phase["counts"]
        await RisingEdge(dut.clk)


async def send(dut, words, pause):
    """Clocks in which words came."""
    clock, sent = 0, []
    for word in words:
        while next(pause):
            dut.i.value = int(word, 16) & ~1  # all but ``valid``, which is bit 0
            await RisingEdge(dut.clk)
            clock += 1
        dut.i.value = int(word, 16)
        sent.append(clock)
        await RisingEdge(dut.clk)
        clock += 1
    dut.i.value = 0
    return sent
