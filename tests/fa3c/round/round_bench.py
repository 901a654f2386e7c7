"""Runs inside the simulator: rounds one after another; see test_round.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import clocks, pulse, start, within
from shell.port_memory import Phases, ReadMemory
from streams import get_all, put_all

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.layouts import unit_task, update
from hw.fa3c.records import Error
from hw.fa3c.round.round import Round

CASE = json.loads(os.environ["CASE"])
CONFIG = Fa3cConfig.from_dict(CASE["config"])
ROUNDS = json.loads(Path(CASE["rounds"]).read_text())
UNITS = range(len(CONFIG.units))
UPDATE = update(CONFIG)
OPERANDS, RESULTS = (1 << 40) + 64, 3 << 33
LIMIT, NUMBER = 4000, int(Error.NUMBER)


def fields(layout, bits):
    """A struct's fields as numbers."""
    found = {}
    for name, _ in layout:
        field = layout[name]
        found[name] = bits >> field.offset & ((1 << field.width) - 1)
    return found


class Drive:
    """Plays the units and RMSProp, which take at most ``pace`` clocks for each piece of work.
    ``events`` records what happened, in order."""

    def __init__(self, dut):
        self.dut, self.events, self.bad = dut, [], set()
        self.finished = 0
        self.pace, self.updates_last, self.rng = 1, False, random.Random(1)

    async def begin(self):
        await start(self.dut, Round(CONFIG))
        self.memory = ReadMemory(
            self.dut, 64, latency=9, holds=self._row, port="read", pauses=Phases(1, 3), waits=True
        )
        for number in UNITS:
            cocotb.start_soon(self._unit(number))
        cocotb.start_soon(self._updates())
        cocotb.start_soon(self._finished())

    def _row(self, address, width):
        """Numbers that are almost too large, and, of a bad row, one that is."""
        assert address >= OPERANDS and address % 64 == 0
        offset = address - OPERANDS
        row = [0x7F7FFFFF, 0x3F800000, 0xFF7FFFFF, 0] * 4
        if offset in self.bad:
            row[offset // 64 % 16] = (0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF)[offset % 3]
        return sum(word << (32 * n) for n, word in enumerate(row))

    async def _wait(self):
        for _ in range(self.rng.randint(0, self.pace)):
            await RisingEdge(self.dut.clk)

    async def _take(self, name):
        """One word, and no more."""
        ((word,),) = await get_all(self.dut, name, 1, self.rng, 0.1)
        getattr(self.dut, f"{name}__ready").value = 0
        return word

    async def _unit(self, number):
        while True:
            word = await self._take(f"tasks__{number}")
            self.events.append(("task", number, fields(unit_task(CONFIG), word)))
            await self._wait()
            self.finished |= 1 << number
            self.events.append(("finished", number))

    async def _finished(self):
        while True:
            self.dut.finished.value, self.finished = self.finished, 0
            await RisingEdge(self.dut.clk)

    async def _updates(self):
        while True:
            word = await self._take("updates")
            self.events.append(("update", fields(UPDATE, word)))
            await self._wait()
            while self.updates_last and self.count("task") < self.unhindered:
                await RisingEdge(self.dut.clk)
            self.events.append(("updated",))
            await pulse(self.dut, "updated")

    def count(self, kind):
        return sum(event[0] == kind for event in self.events)

    async def fault(self, when):
        """Memory fails: as the list comes, at the first error row, or at the first task."""
        while when == "rows" and not self.memory.taken:
            await RisingEdge(self.dut.clk)
        while when == "work" and not self.events:
            await RisingEdge(self.dut.clk)
        self.dut.failed.value = 1

    async def round(self, each):
        """One, to its end; its outputs there."""
        dut = self.dut
        self.events.clear()
        self.memory.taken.clear()
        self.bad = set(each["bad_rows"])
        self.unhindered = sum(unhindered(queue) for queue in each["units"])
        dut.count.value, dut.failed.value = len(each["words"]), 0
        await pulse(dut, "start")
        fault = cocotb.start_soon(self.fault(each["fault"])) if each["fault"] else None
        put = cocotb.start_soon(put_all(dut, "i", each["words"], self.rng, 0.2))
        while True:
            await ReadOnly()
            if int(dut.done.value):
                break
            await RisingEdge(dut.clk)
        assert put.done()
        if fault:
            fault.cancel()
        names = ("error", "detail", "synced", "started", "trained")
        got = {name: int(getattr(dut, name).value) for name in names}
        self.at_end = len(self.events)
        await RisingEdge(dut.clk)
        return got

    def check(self, each, got):
        """Outputs, and all that happened on the way."""
        assert (got["started"], got["synced"]) == (each["works"], each["synced"])
        tasks, kinds = each["tasks"], [task["kind"] for task in each["tasks"]]
        assert got["trained"] == (each["works"] and 1 in kinds)
        if each["fault"] is None:
            assert (got["error"], got["detail"]) == (each["error"], each["detail"])
            asked = [t for t in tasks if t["kind"] == 1 and each["error"] in (0, NUMBER)]
            rows = CONFIG.map_rows[-1]
            assert self.memory.taken == [
                (OPERANDS + t["operands"], t["count"] * rows) for t in asked
            ]
        updated, finished = [], 0
        asked, given = 0, [0] * len(UNITS)
        for kind, *event in self.events:
            if kind == "update":
                assert asked == len(updated), "an update before the one before it is done"
                position, layer = each["updates"][asked]
                expect_update(event[0], tasks[position], layer)
                asked += 1
            elif kind == "updated":
                updated.append(each["updates"][asked - 1])
            elif kind == "task":
                number, word = event
                position, wanted = each["units"][number][given[number]]
                given[number] += 1
                assert wanted is None or [wanted, None] in updated, "a task before its SYNC"
                expect_task(word, tasks[position])
            else:
                finished += 1
        assert (given, asked) == ([len(queue) for queue in each["units"]], len(each["updates"]))
        assert (finished, len(updated)) == (sum(given), asked)
        assert self.at_end == len(self.events), "the end before all was done"


def expect_task(got, task):
    infer = task["kind"] == 0
    assert got == {
        "train": int(not infer),
        "count": task["count"],
        "step": task["step"],
        "agents": int.from_bytes(bytes(task["agents"]), "little"),
        "snapshot_row": task["snapshot"] * CONFIG.theta_rows,
        "operands": OPERANDS + task["operands"],
        "results": RESULTS + task["results"],
    }


def expect_update(got, task, layer):
    names = ("unit", "rate", "decay", "gain", "epsilon")
    assert got["sync"] == (layer is None)
    if layer is None:
        assert got["snapshot"] == task["snapshot"]
    else:
        assert got["layer"] == layer
        assert [got[name] for name in names] == [task[name] for name in names]


def unhindered(queue):
    """Tasks of a unit before the first that waits for a SYNC."""
    return next((n for n, (_, wanted) in enumerate(queue) if wanted is not None), len(queue))


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def rounds(dut):
    """With units that are quick or slow; updates that end when nothing else can begin."""
    drive = Drive(dut)
    await drive.begin()
    dut.operands.value, dut.results.value = OPERANDS, RESULTS
    dut.operands_bytes.value, dut.results_bytes.value = CASE["sizes"]
    for number, each in enumerate(ROUNDS):
        drive.pace = (0, 3, 40)[number % 3]
        drive.updates_last = number % 2 == 1
        got = await within(drive.round(each), LIMIT, f"end of round {number}")
        await clocks(dut, 3)
        try:
            drive.check(each, got)
        except AssertionError as error:
            raise AssertionError(f"round {number}: {error}") from error
