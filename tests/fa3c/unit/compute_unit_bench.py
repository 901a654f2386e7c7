"""Runs inside the simulator; started by test_compute_unit.py."""

import json
import os
import random
from itertools import pairwise

import cocotb
import numpy as np
from driving import seen, start, until, within
from fa3c.networks import observations, theta
from fa3c.reference import Reference, rows_of
from shell.port_memory import Phases, ReadMemory, WriteMemory
from streams import get_all, put_all

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.layouts import unit_task
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.rows import ROW, ROW_BYTES
from hw.fa3c.unit.compute_unit import ComputeUnit
from hw.fa3c.unit.pass_clocks import pass_clocks
from sim.model.fa3c.memory.transposed import transpose_theta

CASE = json.loads(os.environ["CASE"])
CONFIG = Fa3cConfig.from_dict(CASE["config"])
NUMBER = CASE["number"]
ROLE = CONFIG.units[NUMBER]
TASK = unit_task(CONFIG)
OPERANDS, RESULTS = 0x12_3456_7000, 0x65_4321_0000


class Bench:
    """A unit with memories: rows by byte address. A row that nobody has written reads as X."""

    def __init__(self, dut, seed, longest):
        rng = np.random.default_rng(seed)
        self.dut, self.rng, self.longest = dut, rng, longest
        self.theta = theta(CONFIG, rng)
        self.reference = Reference(CONFIG, self.theta)
        self.local, self.host = {}, {}
        self.snapshot_row = CONFIG.snapshot_rows  # of snapshot 1
        snapshot = np.zeros((CONFIG.snapshot_rows, ROW), np.float32)
        snapshot[: CONFIG.theta_rows] = self.theta
        transpose_theta(CONFIG, snapshot)
        self._put(self.local, self.snapshot_row, snapshot)
        kinds = {"parameters": self.local, "features": self.local, "screens": self.host}
        for number, (port, held) in enumerate(kinds.items()):
            ReadMemory(
                dut,
                ROW_BYTES,
                latency=20,
                pauses=Phases(seed + number, longest),
                waits=True,
                port=port,
                holds=lambda address, _, held=held: held[address],
            )
        self.rollout, self.outputs = (
            WriteMemory(
                dut,
                ROW_BYTES,
                latency=9,
                pauses=Phases(seed + 10 + number, longest),
                port=port,
                lag=None,
            )
            for number, port in enumerate(("rollout", "outputs"))
        )
        self.gap, self.rows = 0.3 if longest else 0, 0

    def _put(self, memory, row, array):
        for number, word in enumerate(rows_of(array)):
            memory[(row + number) * ROW_BYTES] = word

    def _map_row(self, agent, step, layer):
        return CONFIG.rollout_row(agent, step) + sum(CONFIG.map_rows[:layer])

    def _limit(self, wanted, count):
        """Of a task's clocks: twice those of its passes, and the longest pause before each row."""
        rows = ROW * CONFIG.theta_rows + count * (CONFIG.step_rows + CONFIG.map_rows[-1])
        return 2 * sum(wanted) + (self.longest + 2) * rows + 500

    async def _run(self, what, **task):
        """Its passes take their clocks; AssertionError, with the pass, if the task does not end."""
        fields = dict(snapshot_row=self.snapshot_row, operands=OPERANDS, results=RESULTS) | task
        word = TASK.const(fields).as_value().value
        passes = training_passes(CONFIG) if task["train"] else forward_passes(CONFIG)
        wanted, starts = pass_clocks(CONFIG, passes, task["count"]), []
        watch = cocotb.start_soon(begun(self.dut, starts))
        cocotb.start_soon(put_all(self.dut, "task", [word], random.Random(0)))
        try:
            await until(self.dut, "done", self._limit(wanted, task["count"]))
        except AssertionError as error:
            names = [f"{p.kind.name} of layer {p.layer}" for p in passes]
            last = names[len(starts) - 1] if starts else "none"
            raise AssertionError(
                f"{what}: {error}; the last pass begun is {last}, rows of the gradient: {self.rows}"
            ) from None
        watch.cancel()
        if not self.gap:
            found = [after - before for before, after in pairwise(starts)]
            assert found == wanted[:-1], f"clocks of passes, {what}: {found}, not {wanted}"

    async def infer(self, agents, step):
        """Rows that are written, and no others, are those of the twin."""
        screens = observations(CONFIG, self.rng, len(agents))
        self._put(self.host, OPERANDS // ROW_BYTES, screens)
        maps = self.reference.infer(screens)
        self.rollout.written.clear()
        self.outputs.written.clear()
        await self._run("inference", train=0, count=len(agents), step=step, agents=agents)
        wanted, kept = {}, {}
        self._put(wanted, RESULTS // ROW_BYTES, maps[-1])
        for place, agent in enumerate(agents):
            for layer, rows in enumerate(maps[:-1]):
                if step < CONFIG.steps:
                    self._put(kept, self._map_row(agent, step, layer), rows[place])
        same(self.rollout.written, kept, f"rollout of step {step}")
        same(self.outputs.written, wanted, f"outputs of {len(agents)} agents")
        self.local |= kept

    async def train(self, agent, count):
        """The gradient of what infer left there, or of random maps."""
        maps = [[] for _ in CONFIG.layers]
        for step in range(count):
            screens = observations(CONFIG, self.rng, 1)
            for layer, rows in enumerate(self.reference.infer(screens)[:-1]):
                maps[layer].append(rows[0])
                self._put(self.local, self._map_row(agent, step, layer), rows[0])
        errors = self.rng.normal(size=(count, CONFIG.output_bytes // 4)).astype(np.float32)
        self._put(self.host, OPERANDS // ROW_BYTES, errors)
        wanted = self.reference.train([np.stack(rows) for rows in maps], errors)
        task = cocotb.start_soon(self._gradient(wanted))
        await self._run("training", train=1, count=count, agents=[agent] + [0] * 7)
        await within(task, 10, "last row of the gradient")

    async def _gradient(self, wanted):
        """Every row is the twin's, as it comes; ``rows``: how many have come."""
        rng = random.Random(1)
        for self.rows, row in enumerate(wanted):
            ((got,),) = await get_all(self.dut, "gradients", 1, rng, self.gap)
            assert got == row, f"row {self.rows} of the gradient: {got:#x} is not {row:#x}"


async def begun(dut, starts):
    """Clocks in which passes begin."""
    clock = 0
    while True:
        if await seen(dut, "begun"):
            starts.append(clock)
        clock += 1


def same(written, wanted, what):
    assert written.keys() == wanted.keys(), f"{what}: other rows"
    for address, row in wanted.items():
        found = written[address]
        assert found == row, f"{what}, address {address:#x}: {found:#x} is not {row:#x}"


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(longest=[0, 20])
async def matches_twin(dut, longest):
    """Inferences and training of every size that the unit's role has, on memory that answers at
    once or by fits; a short run has each task on the one or the other."""
    await start(dut, ComputeUnit(CONFIG, NUMBER))
    bench = Bench(dut, 1 + longest, longest)
    short = CASE["short"]
    tasks = []
    if not (short and longest):
        tasks += [("infer", [2], 0), ("train", 1, CONFIG.steps)]
    if not short or longest:
        every = list(range(CONFIG.batch))[::-1]
        tasks += [("infer", every, 1), ("train", 2, 1), ("infer", [1], CONFIG.steps)]
    for work, *numbers in tasks:
        if ROLE in (work, "any"):
            await getattr(bench, work)(*numbers)
